"""Two hosts and a box between them, in network namespaces, with mqsteerd on the box.

      host a                    box                    host b
    eth0 10.77.0.1 ---- left  mqsteerd  right ---- eth0 10.77.0.2
         fd77::1                                        fd77::2

Used by scripts/demo and by the tests of tests/net. Standard library only. Every name and process is
recorded, and exactly those are taken down at the end, also after a fault or a signal.
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ADDRESS = {"a": "10.77.0.1", "b": "10.77.0.2"}
ADDRESS6 = {"a": "fd77::1", "b": "fd77::2"}
PORT = {"a": "left", "b": "right"}  # the box's interface towards each host

HOST = ("accept_dad=0", "router_solicitations=0")

# What a bridge cannot have: merged frames, checksums that the sender left to a NIC which is not
# there, and tags that travel beside the packet.
OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off rxvlan off txvlan off".split()


class Fault(Exception):
    """A step failed; the text says what was tried and what came out."""


class Unavailable(Exception):
    """This machine cannot do it at all (no root, no namespaces, no AF_XDP); the text says what."""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def run(*command, timeout=30, check=True):
    """Runs a command to its end; its output is text. A Fault where it fails and check is set."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired as late:
        raise Fault(f"{' '.join(command)}: not done in {timeout} s") from late
    if check and done.returncode != 0:
        words = (done.stderr + done.stdout).strip().splitlines()
        raise Fault(f"{' '.join(command)}: exit {done.returncode}: {' | '.join(words[-4:])}")
    return done


def until(condition, timeout, what, interval=0.02):
    """Polls until condition() is true and returns its value; a Fault after timeout seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Fault(f"{what}: not within {timeout} s")
        time.sleep(interval)


def quit_on_signals():
    """SIGTERM, SIGINT and SIGHUP end the program the way an error does: everything is taken down."""
    def quit_now(number, _frame):
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)  # nothing interrupts the clean-up
        raise SystemExit(128 + number)
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, quit_now)


class Lab:
    """The namespaces, their veth pairs, and what runs in them."""

    def __init__(self, kind, mtu=1500):
        self.tag = f"mqs-{kind}-{os.getpid()}"
        self.mtu = mtu
        self.namespaces, self.children = [], []
        self.folder = None

    def __enter__(self):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces take root: start this as root")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=self.tag + "-"))
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def namespace(self, who):
        return f"{self.tag}-{who}"

    def _build(self):
        # Host kernels speak only when the tests make them; the box's kernel never.
        for who, quiet in (("a", HOST), ("box", ("disable_ipv6=1",)), ("b", HOST)):
            self.add_namespace(who, *quiet)
        for host in ("a", "b"):
            self._wire(host)

    def add_namespace(self, who, *ipv6):
        """ipv6: settings of interfaces to come."""
        made = run("ip", "netns", "add", self.namespace(who), check=False)
        if made.returncode != 0:
            raise Unavailable(f"network namespaces: {made.stderr.strip()}")
        self.namespaces.append(self.namespace(who))
        self.run(who, "sysctl", "-qw", *(f"net.ipv6.conf.default.{each}" for each in ipv6))
        self.run(who, "ip", "link", "set", "lo", "up")

    def add_addresses(self, host):
        self.run(host, "ip", "addr", "add", f"{ADDRESS[host]}/24", "dev", "eth0")
        self.run(host, "ip", "addr", "add", f"{ADDRESS6[host]}/64", "dev", "eth0", "nodad")

    def _wire(self, host):
        port = PORT[host]
        run("ip", "-n", self.namespace(host), "link", "add", "eth0", "numrxqueues", "1", "numtxqueues", "1",
            "type", "veth", "peer", "name", port, "numrxqueues", "1", "numtxqueues", "1",
            "netns", self.namespace("box"))
        for who, interface in ((host, "eth0"), ("box", port)):
            self.run(who, "ip", "link", "set", interface, "mtu", str(self.mtu), "up")
            self.offloads_off(who, interface)
        self.add_addresses(host)

    def offloads_off(self, who, interface):
        # One at a time: a kernel that lacks one, or has it fixed, still gets the others.
        done = self.run(who, "ethtool", "-K", interface, *OFFLOADS_OFF, check=False)
        if done.returncode != 0:
            for name, value in zip(OFFLOADS_OFF[::2], OFFLOADS_OFF[1::2]):
                self.run(who, "ethtool", "-K", interface, name, value, check=False)

    def run(self, who, *command, **options):
        return run("ip", "netns", "exec", self.namespace(who), *command, **options)

    def start(self, who, *command, log=None, **options):
        """Starts a program in a namespace; it ends with the lab at the latest."""
        with open(log or os.devnull, "ab") as out:
            child = subprocess.Popen(["ip", "netns", "exec", self.namespace(who), *command],
                                     stdin=subprocess.DEVNULL, stdout=options.pop("stdout", out), stderr=out,
                                     preexec_fn=die_with_parent, **options)
        self.children.append(child)
        return child

    def stop(self, child, timeout=5):
        """Ends one of ours; returns its exit status."""
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(timeout)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        return child.returncode

    def wait_for_listener(self, who, port):
        until(lambda: self.run(who, "ss", "-Hltn", f"sport = :{port}").stdout.strip(), 5,
              f"a server on port {port} of host {who}")

    def interface(self, who, name):
        """The kernel's own counters of an interface."""
        stats = json.loads(self.run(who, "ip", "-s", "-j", "link", "show", name).stdout)[0]["stats64"]
        return {f"{way}_{key}": stats[way][key] for way in ("rx", "tx") for key in ("packets", "bytes", "dropped", "errors")}

    def close(self):
        for child in reversed(self.children):
            self.stop(child)
        self.children.clear()
        for name in self.namespaces:
            run("ip", "netns", "del", name, check=False)
        self.namespaces.clear()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Daemon:
    """mqsteerd on the lab's box."""

    def __init__(self, lab, programs, *arguments, instance=None):
        self.lab, self.arguments = lab, arguments
        self.daemon = str(pathlib.Path(programs) / "apps/mqsteerd/mqsteerd")
        self.control = str(pathlib.Path(programs) / "apps/mqsteerctl/mqsteerctl")
        for program in (self.daemon, self.control):
            if not os.access(program, os.X_OK):
                raise Fault(f"{program} is not built")
        self.instance = instance or lab.tag
        self.log = lab.folder / f"{self.instance}.log"
        self.child = None

    def launch(self):
        """Starts it without waiting."""
        self.log.write_text("")
        self.child = self.lab.start("box", self.daemon, *self.arguments, "--instance", self.instance, log=self.log)
        return self

    def start(self, timeout=20):
        """Starts it and waits until packets flow. Unavailable where the kernel has no AF_XDP."""
        self.launch()
        until(lambda: self.child.poll() is not None or re.search(r"\bready\b", self.said()), timeout,
              f"mqsteerd {' '.join(self.arguments)}: ready; it said: {self.last_words()}")
        if self.child.poll() is not None:
            if "Address family not supported" in self.said():
                raise Unavailable("this kernel has no AF_XDP: " + self.last_words())
            raise Fault(f"mqsteerd {' '.join(self.arguments)}: exit {self.child.returncode}: {self.last_words()}")
        return self

    def said(self):
        return self.log.read_text(errors="replace")

    def last_words(self, lines=6):
        return " | ".join(self.said().strip().splitlines()[-lines:])

    def ctl(self, *words, check=True, timeout=10):
        return run(self.control, "-i", self.instance, *words, check=check, timeout=timeout)

    def ask(self, *words):
        """A command's answer as JSON."""
        return json.loads(self.ctl("-j", *words).stdout)

    def stats(self):
        return self.ask("stats", "show")

    def stop(self, number=signal.SIGTERM, timeout=20):
        """Signals it, waits and returns the exit status."""
        self.child.send_signal(number)
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise Fault(f"mqsteerd did not end {timeout} s after signal {number}: {self.last_words()}") from late


def unaccounted(stats):
    """rx + originated + copies - (tx + consumed + all drops): 0 at rest, to the packet."""
    totals = stats["totals"]
    return (totals["rx"] + totals["originated"] + totals["copies"]
            - totals["tx"] - totals["consumed"] - sum(totals["drops"].values()))


def at_rest(daemon, timeout=5):
    """Statistics once nothing moves any more, the accounts balanced. A Fault where they never are."""
    seen = []

    def resting():
        seen.append(daemon.stats())
        return (len(seen) > 1 and seen[-1]["totals"] == seen[-2]["totals"] and unaccounted(seen[-1]) == 0)
    try:
        until(resting, timeout, "accounts at rest", interval=0.1)
    except Fault as fault:
        raise Fault(f"{fault}: unaccounted {unaccounted(seen[-1])} of {seen[-1]['totals']}") from fault
    return seen[-1]


def dropped(stats):
    return {reason: n for reason, n in stats["totals"]["drops"].items() if n}


def port(stats, name):
    return next(each for each in stats["ports"] if each["name"] == name)


def ping(lab, who, to, *options, count=5, interval=0.05, timeout=20):
    """The round trips in ms of `count` pings, all of which must be answered."""
    done = lab.run(who, "ping", "-n", "-c", str(count), "-i", str(interval), "-W", "2", *options, to,
                   check=False, timeout=timeout)
    times = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", done.stdout)]
    if done.returncode != 0 or len(times) != count:
        raise Fault(f"ping {' '.join(options)} {to}: {len(times)} of {count} answered: "
                    + " | ".join((done.stderr + done.stdout).strip().splitlines()[-3:]))
    return times


class Iperf:
    """iperf3 from host a to host b. A server serves one run: one that still tidies up refuses the next."""

    def __init__(self, lab):
        self.lab, self.number = lab, 5200

    def command(self, *options, seconds=2, to=ADDRESS["b"]):
        """Starts a server; what to run on host a."""
        self.number += 1
        self.lab.start("b", "iperf3", "-s", "-1", "-p", str(self.number), log=self.lab.folder / "iperf3.log")
        self.lab.wait_for_listener("b", self.number)
        return ("iperf3", "-c", to, "-p", str(self.number), "-t", str(seconds), "-J", *options)

    def run(self, *options, seconds=2, to=ADDRESS["b"]):
        done = self.lab.run("a", *self.command(*options, seconds=seconds, to=to), timeout=seconds + 20, check=False)
        return self.result(done.stdout, options)

    @staticmethod
    def result(text, options=()):
        """What the far end got: bit/s, bytes, and for UDP packets and lost."""
        try:
            report = json.loads(text)
            end = report["end"]
            got = end["sum_received"] if "sum_received" in end else end["sum"]
            return {"mbps": got["bits_per_second"] / 1e6, "bytes": got["bytes"],
                    "retransmits": end.get("sum_sent", {}).get("retransmits", 0),
                    "packets": end.get("sum", {}).get("packets", 0),
                    "lost": end.get("sum", {}).get("lost_packets", 0)}
        except (KeyError, ValueError) as odd:
            error = re.search(r'"error":\s*"([^"]*)"', text)
            raise Fault(f"iperf3 {' '.join(options)}: {error.group(1) if error else repr(odd)}") from odd


def send_frames(lab, who, frames):
    """Sends whole Ethernet frames from a host's eth0, a packet socket's way."""
    program = ("import socket,sys\n"
               "out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
               "out.bind(('eth0', 0))\n"
               "for line in sys.argv[1:]: out.send(bytes.fromhex(line))\n")
    lab.run(who, "/usr/bin/python3", "-c", program, *(frame.hex() for frame in frames))


def frames_of(pcap):
    """The packets of a classic pcap file, as tcpdump writes it on this machine."""
    data, frames, at = pathlib.Path(pcap).read_bytes(), [], 24
    while at + 16 <= len(data):
        length = int.from_bytes(data[at + 8:at + 12], sys.byteorder)
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def round_trips(lab, seconds=2, size=64):
    """TCP request/response between the hosts with sockperf: rate per second, p50 and p99 in µs."""
    server = lab.start("b", "sockperf", "server", "--tcp", "-i", ADDRESS["b"], "-p", "11111",
                       log=lab.folder / "sockperf.log")
    lab.wait_for_listener("b", 11111)
    try:
        done = lab.run("a", "sockperf", "ping-pong", "--tcp", "-i", ADDRESS["b"], "-p", "11111", "-m", str(size),
                       "-t", str(seconds), "--full-rtt", timeout=seconds + 15)
    finally:
        lab.stop(server)
    seen = re.search(r"Valid Duration\] RunTime=([\d.]+) sec;.*ReceivedMessages=(\d+)", done.stdout)
    tails = dict(re.findall(r"percentile ([\d.]+) =\s+([\d.]+)", done.stdout))
    if not seen or "50.000" not in tails:
        raise Fault("sockperf: no result: " + " | ".join(done.stdout.strip().splitlines()[-3:]))
    return {"per_second": int(seen.group(2)) / float(seen.group(1)),
            "p50_us": float(tails["50.000"]), "p99_us": float(tails["99.000"])}
