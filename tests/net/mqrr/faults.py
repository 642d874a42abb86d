"""What can go wrong between mqrr's ends, and what it says: faults.py FOLDER_OF_THE_BUILD."""

import re
import signal

from rr_checks import PROGRAMS, Mqrr, Pair, main, need, net

ENDLESS = ("--connections", 50, "--duration", 60, "--warmup", 0)


def ended(mqrr, client, status, *words, timeout=30):
    """The client has ended so, in one line of these words; its figures."""
    figures, got, last = mqrr.answer(client, timeout)
    lines = [line for line in mqrr.said("client").splitlines() if "error" in line]
    need(got == status and len(lines) == 1 and all(word in last for word in words), f"exit {got}: {mqrr.said('client')}")
    need((figures is None) == (status != 3), f"figures {figures}")
    return figures or {}, last


def refused(mqrr, *options, words, **where):
    return ended(mqrr, mqrr.ask(*options, **where), 2, *words)[1]


def under_way(mqrr, *options):
    sent = lambda: mqrr.lab.interface("a", "eth0")["tx_packets"]
    before = sent()
    client = mqrr.ask(*options)
    mqrr.opened(client)
    net.until(lambda: sent() > before + 5000, 10, "a few thousand requests")
    return client


def killed(lab, mqrr):
    server = mqrr.serve()
    client = under_way(mqrr, *ENDLESS)
    server.kill()
    figures, last = ended(mqrr, client, 3, "50 of 50 connections were lost")
    need(figures["lost"] == 50 and figures["transactions"] > 1000 and figures["seconds"] < 30, f"{figures}")
    return f"{last}; {figures['transactions']} transactions before that"


def stopped(lab, mqrr):
    server = mqrr.serve()
    client = under_way(mqrr, *ENDLESS, "--stall", 1)
    server.send_signal(signal.SIGSTOP)
    try:
        figures, last = ended(mqrr, client, 3, "no response on any connection for 1.0 s")
    finally:
        server.send_signal(signal.SIGCONT)
        lab.stop(server)
    need(figures["silent"] == 50 and figures["transactions"] > 1000, f"{figures}")
    return last


def link_down(lab, mqrr):
    server = mqrr.serve()
    client = under_way(mqrr, *ENDLESS, "--stall", 1)
    lab.run("b", "ip", "link", "set", "eth0", "down")
    try:
        last = ended(mqrr, client, 3, "the server or the way to it has stalled")[1]
    finally:
        lab.run("b", "ip", "link", "set", "eth0", "up")
        lab.stop(server)
    return last


def interrupted(lab, mqrr):
    server = mqrr.serve()
    client = under_way(mqrr, *ENDLESS)
    client.send_signal(signal.SIGINT)
    figures, last = ended(mqrr, client, 3, "interrupted")
    need(figures["transactions"] > 1000 and lab.stop(server) == 0, f"{figures}, server {server.returncode}")
    return last


def nobody_there(mqrr):
    return refused(mqrr, "--connections", 4, "--connect", 1, to="10.77.0.99", port=7,
                   words=("0 of 4 connections", "10.77.0.99:7", "--connect"))


def few_ports(lab, mqrr):
    server = mqrr.serve()
    lab.run("a", "sysctl", "-qw", "net.ipv4.ip_local_port_range=60000 60009")
    try:
        return refused(mqrr, "--connections", 50, words=("Cannot assign", "ip_local_port_range"))
    finally:
        lab.run("a", "sysctl", "-qw", "net.ipv4.ip_local_port_range=32768 60999")
        lab.stop(server)


def limited(mqrr, limits):
    """mqrr under other limits of descriptors, soft:hard."""
    other = Mqrr(mqrr.lab, PROGRAMS)
    mqrr.number += 100  # the ports up to there are the other's
    other.number, other.program = mqrr.number - 50, ("prlimit", f"--nofile={limits}", mqrr.program[-1])
    return other


def few_descriptors(mqrr):
    return refused(limited(mqrr, "100:100"), "--connections", 50, port=7, words=("115 are needed", "100 allowed", "ulimit -Hn"))


def soft_limit_is_raised(lab, mqrr):
    other = limited(mqrr, "64:600")
    server = other.serve()
    figures = other.measure("--connections", 400, "--duration", 0.3, "--warmup", 0, timeout=20)
    need(figures["lost"] == 0 and lab.stop(server) == 0, f"{figures}, server {server.returncode}")
    return f"400 connections where 64 descriptors are the soft limit: {figures['tps']:.0f} transactions/s"


def server_without_descriptors(lab, mqrr):
    other = limited(mqrr, "40:40")
    server = other.serve()
    # Those that are turned away may hear of it before or after the others have begun.
    client = mqrr.ask("--connections", 50, "--duration", 1, port=other.number)
    figures, status, last = mqrr.answer(client, 30)
    words = {2: "no room for more: its descriptors (ulimit -Hn)", 3: "connections were lost (waiting for a response: Connection reset"}
    need(status in words and words[status] in last, f"exit {status}: {last}")
    need("waiting for a response" not in last or status == 3, f"before any request: {last}")
    need(status == 2 or 0 < figures["lost"] < 50 and figures["transactions"] > 100, f"{figures}")
    status, said = lab.stop(server), other.said("server").strip().splitlines()[-1]
    need(status == 3 and " refused for want of descriptors" in said and " 0 refused" not in said, f"exit {status}: {said}")
    return f"{last}; {said}"


def few_for_the_server(lab, mqrr):
    """Under any limit it either has all that it needs or says what it lacks; four threads need 16."""
    for limit in range(4, 16):
        done = lab.run("b", "prlimit", f"--nofile={limit}:{limit}", *mqrr.program, "server", "--port", "6999", "--threads", "4",
                       check=False, timeout=5)
        need(done.returncode == 2 and re.search("fewer --threads|Too many open files|error while loading", done.stderr),
             f"{limit} descriptors: exit {done.returncode}: {done.stderr}")
    return done.stderr.strip()


def low_port(lab, mqrr):
    done = lab.run("b", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *mqrr.program, "server", check=False, timeout=5)
    need(done.returncode == 2 and "low ports take root; use --port" in done.stderr, f"exit {done.returncode}: {done.stderr}")
    return done.stderr.strip()


def port_taken(lab, mqrr):
    server = mqrr.serve()
    second = lab.run("b", *mqrr.program, "server", "--port", str(mqrr.number), check=False, timeout=5)
    lab.stop(server)
    need(second.returncode == 2 and "another program has this port; use --port" in second.stderr,
         f"exit {second.returncode}: {second.stderr}")
    return second.stderr.strip()


def body(checks):
    with Pair("mqrr-faults") as lab:
        mqrr = Mqrr(lab, PROGRAMS)
        checks.check("server killed midway", lambda: killed(lab, mqrr))
        checks.check("server stopped midway", lambda: stopped(lab, mqrr))
        checks.check("link down midway", lambda: link_down(lab, mqrr))
        checks.check("client interrupted", lambda: interrupted(lab, mqrr))
        checks.check("wrong port", lambda: refused(mqrr, port=9, words=("Connection refused", "mqrr server --port")))
        checks.check("address without a host", lambda: nobody_there(mqrr))
        checks.check("no route", lambda: refused(mqrr, to="192.0.2.1", words=("unreachable", "no way to that address")))
        checks.check("too few local ports", lambda: few_ports(lab, mqrr))
        checks.check("too few descriptors", lambda: few_descriptors(mqrr))
        checks.check("soft limit raised", lambda: soft_limit_is_raised(lab, mqrr))
        checks.check("server without descriptors", lambda: server_without_descriptors(lab, mqrr))
        checks.check("too few descriptors for a server", lambda: few_for_the_server(lab, mqrr))
        checks.check("low port as nobody", lambda: low_port(lab, mqrr))
        checks.check("port taken", lambda: port_taken(lab, mqrr))


main(body)
