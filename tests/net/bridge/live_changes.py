"""Mode, workers and weights change while the hosts talk: nothing is lost uncounted, nothing overtakes."""

import json
import re
import time

from checks import PROGRAMS, Books, ends_well, lcores, main, need, net

CHANGES = (
    ("mode=soft-rss",), ("workers=0",), ("workers=1",), ("workers=0,1", "weights=3,1"), ("mode=rps",),
    ("weights=1,5",), ("workers=1", "weights=equal"), ("mode=soft-rss", "workers=all"), ("mode=none",),
    ("mode=rps",), ("rss_buckets=512",), ("weights=equal",),
)


def change_while(lab, daemon, *options, seconds=6):
    """iperf3 runs while one change follows the other; its report, and how many changes there were."""
    iperf = net.Iperf(lab)
    out = lab.folder / "changes.json"
    with out.open("wb") as file:
        client = lab.start("a", *iperf.command(*options, seconds=seconds), stdout=file)
    time.sleep(0.5)
    done = refused = 0
    # From a known state, whatever the run before has left.
    net.until(lambda: daemon.ctl("steering", "set", "mode=rps", "workers=all", "weights=equal", "rss_buckets=128",
                                 check=False).returncode == 0, 5, "the first state")
    while client.poll() is None:
        answer = daemon.ctl("steering", "set", *CHANGES[done % len(CHANGES)], check=False)
        # Where the machine is too busy to drain in time, a change is refused whole, by name.
        late = answer.returncode == 2 and re.search(r"worker \d+ .*nothing was changed", answer.stderr)
        need(answer.returncode == 0 or late, answer.stderr)
        refused += 1 if late else 0
        done += 0 if late else 1
        time.sleep(0.02)
    need(done >= 50, f"only {done} changes in {seconds} s, {refused} refused")
    return iperf.result(out.read_text()), json.loads(out.read_text()), f"{done} changes ({refused} refused)"


def tcp(lab, daemon):
    result, _, done = change_while(lab, daemon, "-P", "8")
    need(result["mbps"] > 10, f"only {result['mbps']:.1f} Mbit/s")
    return f"{done}, {result['mbps']:.0f} Mbit/s, {result['retransmits']} segments again"


def udp(lab, daemon):
    result, report, done = change_while(lab, daemon, "-u", "-b", "40M", "-l", "200")
    overtook = sum(stream["udp"]["out_of_order"] for stream in report["end"]["streams"])
    need(result["packets"] > 10000, f"only {result['packets']} datagrams")
    need(overtook == 0, f"{overtook} of {result['packets']} datagrams were overtaken")
    return f"{done}, {result['packets']} datagrams in order, {result['lost']} lost"


def body(checks):
    with net.Lab("changes") as lab:
        daemon = net.Daemon(lab, PROGRAMS, "--bridge", "left,right", "--lcores", lcores(2)).start()
        books = Books(lab, daemon)
        checks.check("TCP during changes", lambda: tcp(lab, daemon))
        checks.check("UDP during changes", lambda: udp(lab, daemon))
        moves = sum(worker["moves"] for worker in net.at_rest(daemon)["workers"])
        checks.check("flows moved", lambda: need(moves > 0, "no bucket ever moved") or f"{moves} moves")
        checks.check("accounts of the hosts and ours", books.close)
        checks.check("stop", lambda: ends_well(daemon))


main(body)
