"""The rr handler and a thousand clients of the kernel's, in every mode: clients.py FOLDER_OF_THE_BUILD.

Opened, used and closed, with loss and without: every echo right, no connection left, no packet unaccounted for.
"""

import json
import os
import pathlib
import resource
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "tests/net/bridge"), str(TOP / "scripts")]
from checks import PROGRAMS, lcores, main, need, net  # noqa: E402 pylint: disable=wrong-import-position
from rr_lab import allow_many  # noqa: E402 pylint: disable=wrong-import-position

CLIENT = str(pathlib.Path(__file__).with_name("lossy_client.py"))
PORT, CONNECTIONS = 7, 1000
MODES = ("none", "rps", "soft-rss", "rfs")
SIX = "fd77::2"


def config(lab, mode, connections=65536):
    file = lab.folder / f"{mode}-{connections}.yaml"
    file.write_text(f"lcores: [{lcores(2)}]\nsteering: {{mode: {mode}, order_check: on}}\n"
                    "ports: [{name: left, device: left, rx_descriptors: 4096}]\n"
                    f'rr: {{port: left, ipv4: {net.ADDRESS["b"]}, ipv6: "{SIX}", tcp_port: {PORT}, connections: {connections}}}\n')
    return str(file)


def figures(stats, name):
    return sum(each["handler"][name] for each in stats["workers"])


def clients(lab, *words, timeout=120):
    done = lab.run("a", "/usr/bin/python3", "-B", CLIENT, *map(str, words), check=False, timeout=timeout)
    need(done.stdout, f"the clients: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def opened_used_closed(lab, mode):
    daemon = net.Daemon(lab, PROGRAMS, "--config", config(lab, mode)).start()
    try:
        seen = [clients(lab, to, PORT, CONNECTIONS, percent, 5)
                for to in (net.ADDRESS["b"], SIX) for percent in (0, 5)]
        need(all(each["done"] == CONNECTIONS and not each["failed"] and not each["late"] for each in seen), f"{seen}")
        net.until(lambda: figures(daemon.stats(), "connections") == 0, 30, "the last connection to be closed", interval=0.2)
        stats = net.at_rest(daemon)
        counted = {name: figures(stats, name) for name in
                   ("connections_opened", "connections_closed", "connections_reset", "transactions", "retransmits", "bad_checksum")}
        need(counted["connections_opened"] == 4 * CONNECTIONS, f"{counted}")
        need(counted["connections_closed"] == 4 * CONNECTIONS and counted["bad_checksum"] == 0, f"{counted}")
        need(counted["retransmits"] > 100, f"a twentieth of the segments was lost: {counted}")
        order = {name: sum(each[name] for each in stats["workers"]) for name in ("order_checked", "reordered", "handed_over", "taken_over")}
        need(order["reordered"] == 0 and order["order_checked"] > 10_000 and order["handed_over"] == order["taken_over"], f"{order}")
        need(daemon.stop() == 0, daemon.last_words())
        return f"{counted}, {order}"
    finally:
        lab.stop(daemon.child)


def more_than_it_can_hold(lab):
    """A worker that owns 64 connections at most leaves the others' SYNs unanswered, and serves them when they come again."""
    daemon = net.Daemon(lab, PROGRAMS, "--config", config(lab, "rps", 64)).start()
    try:
        seen = clients(lab, net.ADDRESS["b"], PORT, 500, 0, 3)
        stats = net.at_rest(daemon)
        refused = figures(stats, "connections_refused")
        need(seen["done"] == 500 and refused > 0, f"{seen}, refused {refused}")
        net.until(lambda: figures(daemon.stats(), "connections") == 0, 30, "the last connection to be closed", interval=0.2)
        again = clients(lab, net.ADDRESS["b"], PORT, 20, 0, 3)
        need(again["done"] == 20, f"{again}")
        return f"{seen['done']} served, {refused} SYNs refused"
    finally:
        lab.stop(daemon.child)


def body(checks):
    if os.geteuid() != 0:
        raise net.Unavailable("network namespaces take root: start this as root")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CONNECTIONS)), hard))
    with net.Lab("rr") as lab:
        allow_many(lab, "a")
        for mode in MODES:
            checks.check(f"{CONNECTIONS} connections, {mode}", lambda mode=mode: opened_used_closed(lab, mode))
        checks.check("more than it can hold", lambda: more_than_it_can_hold(lab))


main(body)
