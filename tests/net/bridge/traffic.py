"""What two hosts do across the bridge, in one mode: traffic.py FOLDER_OF_THE_BUILD MODE LCORES."""

import sys

from checks import PROGRAMS, Books, ends_well, lcores, main, need, net

SIZES = ((56, "small"), (1472, "full-sized"))


def pings(lab):
    times = []
    for to in (net.ADDRESS["b"], net.ADDRESS6["b"]):
        for size, _ in SIZES:
            size -= 20 if size > 100 and ":" in to else 0
            times += net.ping(lab, "a", to, "-M", "do", "-s", str(size), count=10)
    return f"{len(times)} of {len(times)}, {min(times):.2f} to {max(times):.2f} ms"


def tcp(iperf, *options, to=net.ADDRESS["b"]):
    result = iperf.run("-P", "4", *options, seconds=2, to=to)
    need(result["mbps"] > 10, f"only {result['mbps']:.1f} Mbit/s")
    return f"{result['mbps']:.0f} Mbit/s, {result['retransmits']} segments again"


def fragments_stay_fragments(lab, daemon, iperf):
    """Datagrams of 8,000 bytes in six fragments: not merged on the way, whole at the far end."""
    net.ping(lab, "a", net.ADDRESS["b"], "-s", "4000", count=5)
    net.ping(lab, "a", net.ADDRESS6["b"], "-s", "4000", count=5)
    before = net.port(net.at_rest(daemon), "right")["tx_packets"]
    result = iperf.run("-u", "-l", "8000", "-b", "50M", seconds=1)
    sent = net.port(net.at_rest(daemon), "right")["tx_packets"] - before
    need(result["packets"] > 100, f"only {result['packets']} datagrams were sent")
    need(result["lost"] * 100 <= result["packets"], f"{result['lost']} of {result['packets']} datagrams lost")
    need(sent >= 6 * (result["packets"] - result["lost"]), f"{sent} frames left for {result['packets']} datagrams of six fragments")
    return f"{result['packets']} datagrams of 8,000 bytes as {sent} frames, {result['lost']} lost"


def arriving(lab, host, what, count, action):
    """The first `count` frames matching `what` that host's interface receives from action on."""
    file, said = lab.folder / "frames.pcap", lab.folder / "tcpdump.txt"
    said.write_text("")
    watcher = lab.start(host, "tcpdump", "-U", "-n", "-i", "eth0", "-Q", "in", "-w", str(file), what, log=said)
    net.until(lambda: "listening" in said.read_text(), 5, "tcpdump")
    try:
        action()
        net.until(lambda: len(net.frames_of(file)) >= count, 5, f"{count} frames of {what} at host {host}")
    finally:
        lab.stop(watcher)
    return net.frames_of(file)


def tagged_frames():
    """Unicast frames with one, two and three tags, every priority, DEI set, and all sizes up to full."""
    head = bytes.fromhex("02000000000b02000000000a")
    tags = [f"8100{(priority << 13) | dei | 100:04x}" for priority in range(8) for dei in (0, 0x1000)]
    tags += ["88a8e0c881005064", "910000648100a065", "88a8e0c88100506481000001", "8100000081000fff"]
    return [head + bytes.fromhex(tag) + bytes.fromhex("88b5") + number.to_bytes(2, "big") + bytes(size)
            for number, tag in enumerate(tags) for size in (40, 700, 1498 - len(tag) // 2)]


def tags_unchanged(lab):
    sent = tagged_frames()
    got = arriving(lab, "b", "ether src 02:00:00:00:00:0a", len(sent), lambda: net.send_frames(lab, "a", sent))
    need(sorted(got) == sorted(sent), f"{len(set(sent) - set(got))} of {len(sent)} frames arrived changed or not at all")
    return f"{len(sent)} frames with one to three tags, all priorities, DEI set, arrive to the byte"


def tag(lab, host, name, parent, number, priority, protocol, address):
    made = lab.run(host, "ip", "link", "add", "link", parent, "name", name, "type", "vlan", "protocol", protocol,
                   "id", str(number), "egress-qos-map", f"0:{priority}", check=False)
    if "Unknown device type" in made.stderr:
        raise net.Unavailable("this kernel has no VLAN devices (8021q)")
    need(made.returncode == 0, made.stderr)
    if address:
        lab.run(host, "ip", "addr", "add", address, "dev", name)
    lab.run(host, "ip", "link", "set", name, "up")
    lab.offloads_off(host, name)


def vlan_devices(lab):
    """The kernels' own VLAN and QinQ devices; tags and priorities as sent."""
    for host, last in (("a", 1), ("b", 2)):
        tag(lab, host, "v100", "eth0", 100, 5, "802.1Q", f"10.77.100.{last}/24")
        tag(lab, host, "s200", "eth0", 200, 3, "802.1ad", "")
        tag(lab, host, "c30", "s200", 30, 6, "802.1Q", f"10.77.200.{last}/24")
    for to, starts in (("10.77.100.2", "8100a064"), ("10.77.200.2", "88a860c88100c01e")):
        frames = arriving(lab, "b", "greater 90", 5, lambda to=to: net.ping(lab, "a", to))
        need(any(frame[12:].hex().startswith(starts) for frame in frames), f"no frame with the tags {starts}")
    return "VLAN 100 priority 5, and 30 priority 6 in 200 priority 3, arrive as sent"


def every_worker_worked(daemon, count):
    shares = {each["worker"]: each["packets"] for each in daemon.stats()["workers"]}
    need(len(shares) == count and all(shares.values()), f"shares of the workers: {shares}")
    return f"shares of the workers: {shares}"


def body(checks):
    mode, count = sys.argv[2], int(sys.argv[3])
    cpus = lcores(count)
    with net.Lab("traffic") as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--mode", mode, "--lcores", cpus).start()
        need("not kernel bypass" in daemon.said(), "the start does not say that this is no kernel bypass")
        books, iperf = Books(lab, daemon), net.Iperf(lab)
        checks.check("ping over IPv4 and IPv6", lambda: pings(lab))
        checks.check("TCP from a to b", lambda: tcp(iperf))
        checks.check("TCP from b to a", lambda: tcp(iperf, "-R"))
        checks.check("TCP over IPv6", lambda: tcp(iperf, to=net.ADDRESS6["b"]))
        checks.check("fragments", lambda: fragments_stay_fragments(lab, daemon, iperf))
        checks.check("tagged frames unchanged", lambda: tags_unchanged(lab))
        checks.check("VLAN devices of the kernel", lambda: vlan_devices(lab))
        checks.check("every worker has work", lambda: every_worker_worked(daemon, count))
        checks.check("accounts of the hosts and ours", books.close)
        checks.check("stop", lambda: ends_well(daemon))
    return f"mode {mode} on {count} lcores"


main(body)
