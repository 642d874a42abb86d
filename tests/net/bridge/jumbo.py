"""Jumbo frames across the bridge go through whole, or the start is refused by name."""

from checks import PROGRAMS, Books, ends_well, main, need, net


def through(lab, daemon, mtu):
    books = Books(lab, daemon)
    net.ping(lab, "a", net.ADDRESS["b"], "-M", "do", "-s", str(mtu - 28), count=10)
    net.ping(lab, "b", net.ADDRESS6["a"], "-M", "do", "-s", str(mtu - 48), count=10)
    result = net.Iperf(lab).run(seconds=2)
    need(result["mbps"] > 10, f"only {result['mbps']:.1f} Mbit/s")
    frame = net.port(daemon.stats(), "right")
    need(frame["tx_bytes"] / frame["tx_packets"] > mtu / 3, "the frames that left were no jumbo frames")
    return f"{result['mbps']:.0f} Mbit/s with {mtu} bytes; {books.close()}; {ends_well(daemon)}"


def frames_of(mtu, may_refuse):
    with net.Lab("jumbo", mtu=mtu) as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right")
        try:
            daemon.start()
        except net.Fault:
            need(may_refuse and daemon.child.returncode == 2, f"did not start: {daemon.last_words()}")
            need(str(mtu) in daemon.said() and "mtu" in daemon.said().lower(),
                 f"the refusal does not name the MTU {mtu}: {daemon.last_words()}")
            return f"refused by name: {daemon.last_words(1)}"
        used = [line for line in daemon.said().splitlines() if "not kernel bypass" in line]
        return f"{used[0] if used else ''}: {through(lab, daemon, mtu)}"


def body(checks):
    with net.Lab("jumbo"):
        pass  # is all here that the checks need?
    checks.check("frames of 3,000 bytes", lambda: frames_of(3000, may_refuse=False))
    checks.check("frames of 9,000 bytes", lambda: frames_of(9000, may_refuse=True))


main(body)
