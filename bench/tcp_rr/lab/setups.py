"""TCP_RR between real kernels: the set-ups that main.py measures, each in every mode it has.

    (b) endpoint   host a -- veth -- mqsteerd, which answers itself (the rr handler)
    (c) bridge     host a -- veth -- mqsteerd -- veth -- host b
    (d) kernel     host a -- veth -- host b, with Linux's own RPS and RFS

mqrr is the client on host a and the server on host b, on the same CPUs as everything else.
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
import lab as net  # noqa: E402 pylint: disable=wrong-import-position
from rr_lab import Mqrr, Pair, allow_many  # noqa: E402 pylint: disable=wrong-import-position

MODES = ("none", "rps", "soft-rss", "rfs")
FLOW_ENTRIES = pathlib.Path("/proc/sys/net/core/rps_sock_flow_entries")
FLOWS = 32768  # for Linux's tables; more than the connections that share them
RR_PORT = 7
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_mask(cpus):
    """The first `cpus` CPUs as sysfs takes them: hexadecimal words of 32, commas between."""
    digits = f"{(1 << cpus) - 1:x}"
    words = [digits[max(0, end - 8):end] for end in range(len(digits), 0, -8)]
    return ",".join(reversed(words))


class FlowTable:
    """Linux's table of consumers, which all namespaces share: the old size is put back at the end."""

    def __init__(self):
        self.before = None

    def __enter__(self):
        if not FLOW_ENTRIES.exists():
            raise net.Unavailable(f"no {FLOW_ENTRIES}: this kernel has no RPS; leave out (d): --setups b,c")
        self.before = FLOW_ENTRIES.read_text()
        return self

    def __exit__(self, *_):
        self.resize(self.before)

    @staticmethod
    def resize(entries):
        FLOW_ENTRIES.write_text(str(entries))


class Cpus:
    """Who used the CPUs between two moments; percent of one CPU each, `busy` of all of them. Soft interrupts are
    counted with the process that they came upon. `others`: programs that are not ours, and the kernel's own threads."""

    def __init__(self, processes):
        self.processes = processes  # name: Popen
        self.at, self.cpu, self.softnet, self.used = self._read()

    def _read(self):
        first = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        # Column 10 of softnet_stat: how often a CPU was asked by another to take packets (RPS).
        asked = sum(int(line.split()[9], 16) for line in pathlib.Path("/proc/net/softnet_stat").read_text().splitlines())
        return time.monotonic(), list(map(int, first)), asked, {name: self._ticks(child) for name, child in self.processes.items()}

    @staticmethod
    def _ticks(child):
        try:
            fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])

    def since(self):
        at, cpu, softnet, used = self._read()
        user, nice, system, idle, iowait, irq, softirq, steal = (new - old for new, old in zip(cpu, self.cpu))
        whole = max(1, user + nice + system + idle + iowait + irq + softirq + steal)
        share = 100 / TICKS / (at - self.at)
        ours = {name: (ticks - self.used[name]) * share for name, ticks in used.items()}
        others = (whole - idle - iowait - steal) * share - sum(ours.values())
        return {"busy": 100 * (1 - (idle + iowait) / whole), "others": max(0.0, others), "softirq": softirq * share, "steal": steal * share,
                "rps_ipis_per_s": (softnet - self.softnet) / (at - self.at),
                **ours}


def counted(before, after):
    """What mqsteerd counted between two of its statistics."""
    of_workers = ("handed_over", "moves", "moves_held", "wrong_worker", "order_checked", "reordered")
    total = lambda stats, name: sum(each[name] for each in stats["workers"])
    missed = lambda stats: sum(each["rx_missed"] for each in stats["ports"])
    drops = {reason: number - before["totals"]["drops"][reason] for reason, number in after["totals"]["drops"].items()}
    return {"rx": after["totals"]["rx"] - before["totals"]["rx"], "missed": missed(after) - missed(before),
            "drops": {reason: number for reason, number in drops.items() if number},
            "shares": [new["packets"] - old["packets"] for old, new in zip(before["workers"], after["workers"])],
            **{name: total(after, name) - total(before, name) for name in of_workers}}


class Setup:
    """One set-up. measure() is called for one mode after the other, in any order."""

    key = what = ""
    modes = ()

    def __init__(self, lab, plan):
        self.lab, self.plan = lab, plan
        self.mqrr = Mqrr(lab, plan.programs)

    def measure(self, mode, connections):
        """One measurement: the client's figures, with `cpu` and what the set-up itself counted."""
        raise NotImplementedError

    def refused(self, _mode):
        """Why the mode cannot be had here; empty: it can."""
        return ""

    def ask(self, connections, processes, daemon=None, port=None):
        """The client's run; its figures, and while it measured: who used the CPUs, and what mqsteerd counted."""
        plan = self.plan
        client = self.mqrr.ask("--connections", connections, "--duration", plan.duration, "--warmup", plan.warmup,
                               "--threads", plan.threads, "--size", plan.size, "--connect", plan.connect, "--stall", 3,
                               port=port)
        try:
            self.mqrr.opened(client, plan.connect + 10)
            time.sleep(plan.warmup)
            box, cpus = daemon and daemon.stats(), Cpus({"client": client, **processes})
            time.sleep(plan.duration * 0.9)  # it may be gone a moment later
            cpu, box = cpus.since(), daemon and counted(box, daemon.stats())
            figures, status, last = self.mqrr.answer(client, plan.duration + 20)
        finally:
            self.lab.stop(client)
        if status != 0:
            raise net.Fault(f"client: exit {status}: {last}")
        figures["cpu"] = cpu
        if box:
            figures["box"] = box
        return figures

    def serve(self):
        return self.mqrr.serve("b", "--threads", str(self.plan.threads))


class Kernel(Setup):
    """(d) Linux alone. RPS to all CPUs on both hosts' interfaces; RFS with tables of FLOWS entries besides."""

    key, what = "d", "the Linux kernel, two namespaces over veth"
    modes = ("off", "rps", "rfs")

    def _steer(self, mode):
        mask = cpu_mask(os.cpu_count())
        FlowTable.resize(FLOWS if mode == "rfs" else 0)
        for host in ("a", "b"):
            for name, value in (("rps_cpus", "0" if mode == "off" else mask), ("rps_flow_cnt", FLOWS if mode == "rfs" else 0)):
                self.lab.run(host, "sh", "-c", f"echo {value} > /sys/class/net/eth0/queues/rx-0/{name}")

    def measure(self, mode, connections):
        before = FLOW_ENTRIES.read_text()
        try:
            self._steer(mode)
            server = self.serve()
            try:
                return self.ask(connections, {"server": server})
            finally:
                self.lab.stop(server)
        finally:
            # All namespaces have this one table, and the other set-ups' kernels shall not keep it up to date.
            FlowTable.resize(before)


class Box(Setup):
    """mqsteerd on the lab's box, started afresh for each measurement: an idle one still takes CPU from the others."""

    modes = MODES

    def config(self, mode):
        """The daemon's configuration file."""
        raise NotImplementedError

    def _daemon(self, mode, *arguments):
        file = self.lab.folder / f"{self.key}-{mode}.yaml"
        file.write_text(self.config(mode))
        return net.Daemon(self.lab, self.plan.programs, "--config", str(file), *arguments, instance=f"{self.lab.tag}-{self.key}")

    def refused(self, mode):
        check = self._daemon(mode, "--check").launch()
        net.until(lambda: check.child.poll() is not None, 20, "mqsteerd --check")
        return "" if check.child.returncode == 0 else f"mqsteerd --check: exit {check.child.returncode}: {check.last_words(1)}"

    def measure(self, mode, connections):
        # The other set-up's box answered with another address.
        self.lab.run("a", "ip", "neigh", "flush", "dev", "eth0")
        daemon = self._daemon(mode).start()
        try:
            figures = self.across(daemon, connections)
            net.at_rest(daemon)  # every packet is accounted for
            status = daemon.stop()
            if status not in (0, 3):
                raise net.Fault(f"mqsteerd: exit {status}: {daemon.last_words()}")
        finally:
            self.lab.stop(daemon.child)
        return figures

    def across(self, daemon, connections):
        raise NotImplementedError

    def _ports(self, *names):
        return "ports:\n" + "".join(f"  - {{name: {name}, device: {name}, rx_descriptors: {self.plan.rx_descriptors}}}\n"
                                    for name in names)

    def _steering(self, mode):
        lcores = ", ".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
        return (f"lcores: [{lcores}]\nsteering: {{mode: {mode}, rfs_flows: 65536, "
                f"order_check: {'on' if self.plan.order_check else 'off'}}}\n")


class Bridge(Box):
    """(c) Between two kernels. No consumer lives on the box, so rfs steers as rps does, at its own cost."""

    key, what = "c", "mqsteerd bridges two namespaces over veth (net_af_xdp)"

    def config(self, mode):
        return (self._steering(mode) + self._ports("left", "right") +
                "bridge: [{name: br0, mode: wire, ports: [left, right]}]\n")

    def across(self, daemon, connections):
        server = self.serve()
        try:
            return self.ask(connections, {"server": server, "mqsteerd": daemon.child}, daemon)
        finally:
            self.lab.stop(server)


class Endpoint(Box):
    """(b) The rr handler answers; kernel clients ask."""

    key, what = "b", "mqsteerd's rr handler behind veth (net_af_xdp), kernel clients"

    def config(self, mode):
        return (self._steering(mode) + self._ports("left") +
                f"rr: {{port: left, ipv4: {net.ADDRESS['b']}, tcp_port: {RR_PORT}, work_ns: {self.plan.work_ns}}}\n")

    def across(self, daemon, connections):
        return self.ask(connections, {"mqsteerd": daemon.child}, daemon, RR_PORT)


SETUPS = {each.key: each for each in (Endpoint, Bridge, Kernel)}


class Labs:
    """The namespaces of the set-ups wanted, ready for tens of thousands of connections."""

    def __init__(self, plan):
        self.plan, self.labs, self.table = plan, [], FlowTable() if "d" in plan.setups else None

    def __enter__(self):
        try:
            if self.table:
                self.table.__enter__()
            return self._build()
        except BaseException:
            self.__exit__()
            raise

    def _build(self):
        box = self._lab(net.Lab, "rr-box") if set(self.plan.setups) & {"b", "c"} else None
        pair = self._lab(Pair, "rr-pair") if "d" in self.plan.setups else None
        return [SETUPS[key](pair if key == "d" else box, self.plan) for key in self.plan.setups]

    def _lab(self, kind, name):
        lab = kind(name).__enter__()
        self.labs.append(lab)
        for host in ("a", "b"):
            allow_many(lab, host)
        return lab

    def __exit__(self, *_):
        for lab in self.labs:
            lab.close()
        if self.table and self.table.before is not None:
            self.table.__exit__()
