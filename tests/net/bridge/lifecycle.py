"""Starts, ends, crashes and second starts of mqsteerd on one instance."""

import signal

from checks import PROGRAMS, ends_well, leftovers, main, need, net


def works(lab):
    return f"{max(net.ping(lab, 'a', net.ADDRESS['b'])):.2f} ms"


def ends_on(lab, number):
    daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    net.ping(lab, "a", net.ADDRESS["b"])
    net.at_rest(daemon)
    status = daemon.stop(number)
    need(status == 0, f"exit {status}: {daemon.last_words()}")
    need(not leftovers(daemon), f"left: {leftovers(daemon)}")
    return f"exit 0, nothing left; it said: {daemon.last_words(1)}"


def second_start(lab):
    first = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    second = net.Daemon(lab, PROGRAMS, "--bridge", "left,right")
    second.log = lab.folder / "second.log"
    second.launch()
    net.until(lambda: second.child.poll() is not None, 10, "the second start's end")
    need(second.child.returncode == 2, f"the second start ended with {second.child.returncode}: {second.last_words()}")
    need(first.instance in second.said(), f"its message does not name the instance: {second.last_words()}")
    said = second.last_words(1)
    return f"exit 2: {said}; the first goes on, {works(lab)}; {ends_well(first)}"


def after_kill(lab):
    first = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    net.ping(lab, "a", net.ADDRESS["b"])
    first.child.kill()
    first.child.wait(5)
    answer = first.ctl("stats", "show", check=False)
    need(answer.returncode == 2 and len(answer.stderr.strip().splitlines()) == 1,
         f"mqsteerctl without a daemon: exit {answer.returncode}: {answer.stderr}")
    second = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    return f"mqsteerctl said: {answer.stderr.strip()}; started again, {works(lab)}; {ends_well(second)}"


def kill_with_traffic(lab):
    first = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    iperf = net.Iperf(lab)
    client = lab.start("a", *iperf.command(seconds=30))
    net.until(lambda: net.port(first.stats(), "left")["rx_packets"] > 1000, 10, "traffic")
    first.child.kill()
    first.child.wait(5)
    second = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    net.until(lambda: net.port(second.stats(), "left")["rx_packets"] > 1000, 15, "the same TCP connection going on")
    lab.stop(client)
    return f"the TCP connection went on over the second start; {ends_well(second)}"


def watcher_sees_the_end(lab):
    """`top` of a daemon that goes away: one clear line, exit 2."""
    daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    log = lab.folder / "top.log"
    out = lab.folder / "top.txt"
    with out.open("wb") as file:
        top = lab.start("box", daemon.control, "-i", daemon.instance, "top", "interval_ms=100", stdout=file, log=log)
    net.until(out.read_text, 5, "a table of top")
    daemon.stop()
    net.until(lambda: top.poll() is not None, 5, "the end of top")
    lines = log.read_text().strip().splitlines()
    need(top.returncode == 2 and len(lines) == 1, f"top: exit {top.returncode}: {lines}")
    return f"exit 2: {lines[0]}"


def link_down_and_up(lab):
    daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right").start()
    net.ping(lab, "a", net.ADDRESS["b"])
    lab.run("b", "ip", "link", "set", "eth0", "down")
    lab.run("a", "ping", "-n", "-c", "3", "-i", "0.05", "-W", "1", net.ADDRESS["b"], check=False)
    lab.run("b", "ip", "link", "set", "eth0", "up")
    net.until(lambda: lab.run("a", "ping", "-n", "-c", "1", "-W", "1", net.ADDRESS["b"], check=False).returncode == 0,
              10, "traffic after the link came back")
    lost = net.at_rest(daemon)["totals"]["drops"]
    daemon.stop()
    return f"traffic goes on; dropped meanwhile: { {k: v for k, v in lost.items() if v} }"


def body(checks):
    for name, action in (
            ("SIGTERM", lambda lab: ends_on(lab, signal.SIGTERM)), ("SIGINT", lambda lab: ends_on(lab, signal.SIGINT)),
            ("second start of an instance", second_start), ("start after kill -9", after_kill),
            ("kill -9 with traffic", kill_with_traffic), ("daemon gone while watching", watcher_sees_the_end),
            ("link down and up", link_down_and_up)):
        with net.Lab("life") as lab:
            checks.check(name, lambda lab=lab, action=action: action(lab))


main(body)
