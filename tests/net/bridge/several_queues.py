"""A port with two RX queues and a real kernel stack behind it: net_tap, whose kernel side spreads flows."""

from checks import PROGRAMS, ends_well, lcores, main, need, net

CONFIG = """
lcores: [{lcores}]
ports:
  - {{name: left, device: "net_tap0,iface=tapleft", rx_queues: 2}}
  - {{name: right, device: "net_tap1,iface=tapright", rx_queues: 2}}
bridge:
  - {{name: br0, mode: wire, ports: [left, right]}}
steering: {{mode: {mode}}}
"""


def join_to_hosts(lab):
    """Each tap to its host by a kernel bridge: net_tap loses its link where its tap leaves the namespace."""
    for name in net.PORT.values():
        made = lab.run("box", "ip", "link", "add", f"lan{name}", "type", "bridge", "mcast_snooping", "0", check=False)
        if made.returncode != 0:
            raise net.Unavailable(f"a kernel bridge: {made.stderr.strip()}")
        for member in (name, f"tap{name}"):
            lab.offloads_off("box", member)
            lab.run("box", "ip", "link", "set", member, "master", f"lan{name}", "up")
        lab.run("box", "ip", "link", "set", f"lan{name}", "up")


def both_queues(daemon):
    seen = {}
    for name in ("left", "right"):
        seen[name] = [queue["rx_packets"] for queue in net.port(daemon.stats(), name)["queues"]]
        need(len(seen[name]) == 2 and all(seen[name]), f"packets by RX queue: {seen}")
    return f"packets by RX queue: {seen}"


def one_mode(checks, mode):
    with net.Lab("queues") as lab:
        file = lab.folder / "queues.yaml"
        file.write_text(CONFIG.format(lcores=lcores(2), mode=mode))
        daemon = net.Daemon(lab, PROGRAMS, "--config", str(file)).start()
        join_to_hosts(lab)
        net.ping(lab, "a", net.ADDRESS["b"], count=5)
        result = net.Iperf(lab).run("-P", "8", seconds=2)
        need(result["mbps"] > 5, f"only {result['mbps']:.1f} Mbit/s")
        checks.check(f"{mode}, both queues receive", lambda: both_queues(daemon))
        net.at_rest(daemon)
        return f"{result['mbps']:.0f} Mbit/s; {ends_well(daemon)}"


def body(checks):
    for mode in ("none", "rps", "soft-rss"):
        checks.check(f"{mode} over two queues a port", lambda mode=mode: one_mode(checks, mode))


main(body)
