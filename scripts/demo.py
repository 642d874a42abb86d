"""The part of scripts/demo that follows the build: demo.py FOLDER_OF_THE_BUILD MODE."""

import re
import sys
import time

import lab as net


class Steps:
    """Runs the steps in order and remembers how each ended."""

    def __init__(self):
        self.done = []  # (name, PASS or FAIL, text)

    def run(self, name, action):
        print(f"\n== {name}", flush=True)
        try:
            text = action() or ""
        except (net.Fault, net.Unavailable, OSError, ValueError, KeyError) as fault:
            self.done.append((name, "FAIL", str(fault)))
            print(f"FAIL: {fault}", flush=True)
            raise
        except BaseException:
            self.done.append((name, "FAIL", "interrupted"))
            raise
        self.done.append((name, "PASS", text))
        print(text, flush=True)

    def summary(self, seconds):
        failed = [name for name, result, _ in self.done if result == "FAIL"]
        print(f"\n== summary ({seconds:.1f} s)")
        for name, result, text in self.done:
            print(f"{result}  {name}: {text}")
        print(f"{len(self.done) - len(failed)} passed, {len(failed)} failed"
              + (f": {', '.join(failed)}" if failed else ""))
        return 1 if failed else 0


def start(daemon):
    daemon.start()
    real = [line for line in daemon.said().splitlines() if "not kernel bypass" in line]
    print("\n".join(real))
    return f"ready, instance {daemon.instance}"


def ping(lab):
    times = net.ping(lab, "a", net.ADDRESS["b"]) + net.ping(lab, "a", net.ADDRESS6["b"])
    return f"10 of 10 answered over IPv4 and IPv6, {min(times):.2f} to {max(times):.2f} ms"


def transfer(lab, daemon):
    """iperf3, and the live table while it runs."""
    iperf = net.Iperf(lab)
    out = lab.folder / "transfer.json"
    with out.open("wb") as file:
        client = lab.start("a", *iperf.command("-P", "4", seconds=2), stdout=file)
    time.sleep(0.5)  # the table's rates shall be those of the transfer
    table = daemon.ctl("top", "count=1").stdout.rstrip()
    print(table)
    client.wait(20)
    result = iperf.result(out.read_text())
    if not re.search(r"\d", table):
        raise net.Fault("mqsteerctl top printed no figures")
    return f"{result['mbps']:.0f} Mbit/s over 4 connections, {result['retransmits']} segments sent again"


def round_trips(lab):
    result = net.round_trips(lab, seconds=2)
    return f"{result['per_second']:.0f} per second, p50 {result['p50_us']:.0f} µs, p99 {result['p99_us']:.0f} µs"


def accounts(daemon):
    stats = net.at_rest(daemon)
    totals = stats["totals"]
    shares = ", ".join(f"worker {each['worker']}: {each['packets']}" for each in stats["workers"])
    if totals["rx"] == 0:
        raise net.Fault("no packet went through mqsteerd")
    return (f"rx {totals['rx']} = tx {totals['tx']} + consumed {totals['consumed']} + dropped "
            f"{sum(totals['drops'].values())} {net.dropped(stats) or ''}, to the packet; {shares}")


def stop(daemon):
    status = daemon.stop()
    if status not in (0, 3):
        raise net.Fault(f"mqsteerd ended with {status}: {daemon.last_words()}")
    print(daemon.last_words(4).replace(" | ", "\n"))
    return "exit 0" if status == 0 else "exit 3: packets were lost, the summary above has the figures"


def show(steps, programs, mode):
    lab = net.Lab("demo")
    try:
        steps.run("two hosts", lambda: lab.__enter__() and f"{lab.namespace('a')} and {lab.namespace('b')}, offloads off")
        daemon = net.Daemon(lab, programs, "--bridge", "left,right", "--mode", mode)
        steps.run(f"mqsteerd, mode {mode}", lambda: start(daemon))
        steps.run("ping", lambda: ping(lab))
        steps.run("TCP transfer, with the live table", lambda: transfer(lab, daemon))
        steps.run("TCP request/response", lambda: round_trips(lab))
        steps.run("accounts", lambda: accounts(daemon))
        steps.run("stop", lambda: stop(daemon))
    finally:
        names = list(lab.namespaces)
        steps.run("take down", lambda: take_down(lab, names))


def take_down(lab, names):
    lab.close()
    left = [name for name in names if name in net.run("ip", "netns", "list").stdout.split()]
    if left:
        raise net.Fault(f"still there: {', '.join(left)}")
    return "namespaces, links and processes are gone"


def main():
    net.quit_on_signals()
    begin, steps = time.monotonic(), Steps()
    try:
        show(steps, sys.argv[1], sys.argv[2])
    except (net.Fault, net.Unavailable, OSError, ValueError, KeyError) as fault:
        if not steps.done or steps.done[-1][1] != "FAIL" and not any(r == "FAIL" for _, r, _ in steps.done):
            steps.done.append(("set-up", "FAIL", str(fault)))
    except SystemExit as ended:
        steps.summary(time.monotonic() - begin)
        return ended.code
    return steps.summary(time.monotonic() - begin)


sys.exit(main())
