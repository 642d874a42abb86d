"""A flood of small datagrams: what is lost is counted, and the control tool answers all the same."""

import time

from checks import PROGRAMS, Books, ends_well, lcores, main, need, net


def answers(lab, daemon):
    iperf = net.Iperf(lab)
    flood = lab.start("a", *iperf.command("-u", "-b", "0", "-l", "16", "-P", "4", seconds=5))
    net.until(lambda: net.port(daemon.stats(), "left")["rx_packets"] > 10000, 5, "the flood")
    took, before = [], net.port(daemon.stats(), "left")["rx_packets"]
    start = time.monotonic()
    for _ in range(40):
        begin = time.monotonic()
        daemon.stats()
        took.append((time.monotonic() - begin) * 1e3)
    rate = (net.port(daemon.stats(), "left")["rx_packets"] - before) / (time.monotonic() - start)
    lab.stop(flood)
    took.sort()
    text = f"at {rate:.0f} packets/s mqsteerctl took {took[20]:.1f} ms median, {took[38]:.1f} ms p95, {took[-1]:.1f} ms at most"
    need(took[38] < 100, text)
    return text


def body(checks):
    for mode in ("none", "rps"):
        with net.Lab("overload") as lab:
            daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--mode", mode, "--lcores", lcores(2)).start()
            books = Books(lab, daemon)
            checks.check(f"{mode}, the control tool answers in 100 ms", lambda: answers(lab, daemon))
            checks.check(f"{mode}, accounts of the hosts and ours", books.close)
            checks.check(f"{mode}, traffic goes on", lambda: f"{max(net.ping(lab, 'a', net.ADDRESS['b'])):.2f} ms")
            checks.check(f"{mode}, stop", lambda: ends_well(daemon))


main(body)
