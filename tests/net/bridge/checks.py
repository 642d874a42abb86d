"""Runs the checks of one test program, and what they share beyond scripts/lab.py."""

import os
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
import lab as net  # noqa: E402, pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1]


class Checks:
    """PASS, FAIL or SKIP, a line a check. A failed check does not keep the next ones from running."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, action):
        start = time.monotonic()
        try:
            text = action() or ""
        except net.Unavailable as reason:
            self.skipped += 1
            print(f"SKIP {name}: {reason}", flush=True)
            return
        except Exception as fault:  # pylint: disable=broad-except
            self.failed += 1
            if not isinstance(fault, (net.Fault, AssertionError)):
                traceback.print_exc(file=sys.stdout)
            print(f"FAIL {name}: {fault} ({time.monotonic() - start:.1f} s)", flush=True)
            return
        self.passed += 1
        print(f"PASS {name}: {text} ({time.monotonic() - start:.1f} s)", flush=True)


def main(body):
    """Ends the program: 0 all passed, 1 a check failed, 77 nothing could be checked."""
    net.quit_on_signals()
    checks = Checks()
    checks.check("set-up and accounts", lambda: body(checks))
    if checks.failed:
        sys.exit(1)
    sys.exit(0 if checks.passed else 77)


def need(condition, text):
    if not condition:
        raise net.Fault(text)


def lcores(count):
    """`count` CPUs of the affinity mask, as --lcores takes them."""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < count:
        raise net.Unavailable(f"{count} lcores take as many CPUs, here are {len(mine)}")
    return ",".join(map(str, mine[:count]))


class Books:
    """Both hosts' own interface counters against the counters of the ports that face them."""

    def __init__(self, lab, daemon):
        self.lab, self.daemon = lab, daemon
        self.before = self._read()

    def _read(self):
        """The accounts and the kernels' counters, twice the same, so nothing moved in between."""
        seen = []

        def still():
            kernel = {(who, name): self.lab.interface(who, name)
                      for who, name in (("a", "eth0"), ("b", "eth0"), ("box", "left"), ("box", "right"))}
            stats = net.at_rest(self.daemon)
            seen.append(({key: stats[key] for key in ("ports", "totals")}, kernel))
            return len(seen) > 1 and seen[-1] == seen[-2]
        net.until(still, 10, "counters at rest")
        return seen[-1]

    def close(self):
        """Every packet that a host sent came to its port, and every packet that a port sent came to its host."""
        after, words = self._read(), []
        for host, name in net.PORT.items():
            kernel = lambda who, device, key: after[1][who, device][key] - self.before[1][who, device][key]
            ours = lambda key: net.port(after[0], name)[key] - net.port(self.before[0], name)[key]
            sent, lost_rx = kernel(host, "eth0", "tx_packets"), kernel("box", name, "rx_dropped")
            lost = sent - ours("rx_packets")
            # A packet socket counts in its losses what the port itself sent, so they are no less than the port's.
            fits = 0 <= lost <= ours("rx_missed") if net.port(after[0], name)["driver"] == "net_pcap" else lost == lost_rx
            need(fits, f"host {host} sent {sent}, port {name} got {ours('rx_packets')}, the kernel's ring lost {lost_rx}, "
                       f"the port says {ours('rx_missed')}")
            got, lost_tx = kernel(host, "eth0", "rx_packets"), kernel("box", name, "tx_dropped")
            need(got + lost_tx == ours("tx_packets"),
                 f"port {name} sent {ours('tx_packets')}, its kernel lost {lost_tx}, host {host} got {got}")
            words.append(f"{host}: sent {sent}, got {got}, lost on the veth {lost_rx}+{lost_tx}")
        drops = net.dropped(after[0])
        return "; ".join(words) + (f"; dropped and counted {drops}" if drops else "; none dropped")


def ends_well(daemon):
    """SIGTERM at rest: the drain loses nothing, so exit 0, and nothing of the instance is left."""
    net.at_rest(daemon)
    status = daemon.stop()
    need(status == 0, f"exit {status}: {daemon.last_words()}")
    left = leftovers(daemon)
    need(not left, f"left after the stop: {left}")
    return "exit 0, nothing left"


def leftovers(daemon):
    """Files of the instance, XDP programs and promiscuous mode on the box's interfaces."""
    found = []
    for folder in ("/run/mqsteer", "/run/dpdk", "/dev/hugepages", "/dev/shm"):
        found += [str(path) for path in pathlib.Path(folder).glob(f"**/*{daemon.instance}*") if not path.is_dir()]
        found += [str(path) for path in pathlib.Path(folder).glob(f"{daemon.instance}/**/*.sock")]
    for name in net.PORT.values():
        link = daemon.lab.run("box", "ip", "-d", "link", "show", name).stdout
        if "prog/xdp" in link:
            found.append(f"an XDP program on {name}")
        if "promiscuity 0" not in link and " master " not in link:
            found.append(f"{name} is promiscuous")
    return found
