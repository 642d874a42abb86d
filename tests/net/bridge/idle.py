"""An idle box does not burn a core, and the first packet after that does not wait for it."""

import os
import statistics
import time

from checks import PROGRAMS, ends_well, main, need, net


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sleepers_cpu(sleepers, seconds=3):
    """What as many processes use that only sleep 100 us, again and again: the machine's price of a
    timer, next to nothing on hardware and much on a virtual CPU."""
    begin = os.times()
    children = []
    for _ in range(sleepers):
        pid = os.fork()
        if pid == 0:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(0.0001)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    used = os.times()
    return 100 * (used.children_user + used.children_system - begin.children_user - begin.children_system) / seconds


def burns_little(daemon):
    """The price of a timer on a virtual CPU moves between the two measurements of a pair, so the best of
    three pairs counts; an lcore that polls without a pause takes 100 % in each."""
    pairs = []
    for _ in range(3):
        begin, start = cpu_seconds(daemon.child.pid), time.monotonic()
        time.sleep(3)  # a measurement over time, not a wait for something
        share = 100 * (cpu_seconds(daemon.child.pid) - begin) / (time.monotonic() - start)
        pairs.append((share, sleepers_cpu(len(os.sched_getaffinity(0)), seconds=2)))
    share, bare = min(pairs, key=lambda pair: pair[0] - max(10, 2 * pair[1]))
    need(share < max(10, 2 * bare), f"{share:.1f} % of a core while idle; as many bare sleeps take {bare:.1f} %")
    return f"{share:.1f} % of a core on all lcores together, where as many bare sleeps of 100 us take {bare:.1f} %"


def direct_link(lab):
    """A veth pair between the hosts without the box, to know what the kernels alone take."""
    net.run("ip", "-n", lab.namespace("a"), "link", "add", "eth1", "type", "veth",
            "peer", "name", "eth1", "netns", lab.namespace("b"))
    for host, last in (("a", 1), ("b", 2)):
        lab.run(host, "ip", "addr", "add", f"10.79.0.{last}/24", "dev", "eth1")
        lab.run(host, "ip", "link", "set", "eth1", "up")


def first_packet(lab):
    direct_link(lab)
    for to in (net.ADDRESS["b"], "10.79.0.2"):
        net.ping(lab, "a", to)  # neighbours known
    time.sleep(10)  # idle is what is measured
    first = net.ping(lab, "a", net.ADDRESS["b"], count=1)[0]
    direct = net.ping(lab, "a", "10.79.0.2", count=1)[0]
    later = net.ping(lab, "a", net.ADDRESS["b"], count=15, interval=0.2)
    alone = net.ping(lab, "a", "10.79.0.2", count=15, interval=0.2)
    share = statistics.median(later) - statistics.median(alone)
    need(first < 5, f"the first ping after 10 s took {first:.2f} ms")
    return (f"first ping after 10 s: {first:.2f} ms ({direct:.2f} ms without the box); then, every 200 ms, median "
            f"{statistics.median(later):.2f} ms, of which the box (there and back) {share:.2f} ms")


def body(checks):
    # rps: the first packet may pass two sleeping lcores, and both are idle all the same.
    with net.Lab("idle") as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--mode", "rps").start()
        net.ping(lab, "a", net.ADDRESS["b"])
        net.at_rest(daemon)
        checks.check("CPU while idle", lambda: burns_little(daemon))
        checks.check("first packet after idle", lambda: first_packet(lab))
        checks.check("stop", lambda: ends_well(daemon))


main(body)
