#!/usr/bin/env python3
"""Holds mqsim against tshark over the captures that MQSTEER_PCAPS names.

For every packet tshark's layers say what the flow key must be (design: "The flow key"); mqsim must
print that key, and one key must have one hash, bucket and worker, in both directions. All fragments
of a datagram must be on one worker. Every packet that is not compared is counted under its reason.

usage: oracle.py MQSIM        exit codes: 0 agree, 1 disagree, 77 skipped (reason printed)
"""

import collections
import concurrent.futures
import ipaddress
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORKERS = "7"
BATCH_FILES = 25
# mode, tunnels, symmetric
CONFIGS = [("rps", "inner", "on"), ("rps", "outer", "on"), ("soft-rss", "inner", "off"), ("soft-rss", "outer", "on")]
FIELDS = """frame.protocols eth.src eth.dst ip.src ip.dst ip.proto ip.flags.mf ip.frag_offset ip.id
ipv6.src ipv6.dst ipv6.nxt ipv6.fraghdr.offset ipv6.fraghdr.more ipv6.fraghdr.nxt ipv6.fraghdr.ident
tcp.srcport tcp.dstport udp.srcport udp.dstport sctp.srcport sctp.dstport dccp.srcport dccp.dstport
icmp.type icmp.ident icmpv6.type icmpv6.echo.identifier esp.spi ah.spi gre.flags_and_version
gtp.message udp.length""".split()
PREFERENCES = ["ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE",
               "sctp.reassembly:FALSE"]

LINK = {"ethertype", "vlan", "ieee8021ad", "mpls", "pppoes"}
EXTENSIONS = {"ipv6.hopopts", "ipv6.routing", "ipv6.dstopts"}
PORTED = {"tcp": 6, "udp": 17, "sctp": 132, "dccp": 33}
UDP_TUNNELS = {"vxlan": {4789, 8472}, "geneve": {6081}, "gtp": {2152}}
ERRORS = {"icmp": {3, 4, 5, 11, 12}, "icmpv6": {1, 2, 3, 4}}
ECHOES = {"icmp": {0, 8}, "icmpv6": {128, 129}}
MOST_TUNNELS = 4


class NotCompared(Exception):
    """The reason why tshark's view gives no key to hold mqsim's against."""


class Layers:
    """tshark's values in the order of its layers: take() gives a field's next occurrence."""

    def __init__(self, row):
        self.values = {name: collections.deque(text.split("|") if text else []) for name, text in row.items()}
        self.names = self.values["frame.protocols"].popleft().split(":")

    def take(self, field):
        if not self.values[field]:
            raise NotCompared(f"tshark shows a layer without its {field}")
        return self.values[field].popleft()

    def number(self, field):
        text = self.take(field)
        return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text, 0)


class Key(collections.namedtuple("Key", "kind form ends extra")):
    """ends: ((address, port or 0), (address, port or 0)) as integers, in wire order."""

    def ordered(self, symmetric):
        return self._replace(ends=tuple(sorted(self.ends))) if symmetric else self

    def reversed(self):
        return self._replace(ends=(self.ends[1], self.ends[0]))


def address(text):
    value = ipaddress.ip_address(text)
    return (value.version, int(value))


def mac(text):
    return (0, int(text.replace(":", ""), 16))


def parse_mqsim(kind, text):
    """mqsim's key column."""
    parts = text.split()
    if len(parts) == 2:
        ends = []
        for part in parts:
            host, port = part.rsplit(":", 1)
            ends.append((address(host.strip("[]")), int(port)))
        return Key(kind, "ports", tuple(ends), None)
    last = parts[2]
    if last.startswith("type="):
        return Key(kind, "type", tuple((mac(p), 0) for p in parts[:2]), int(last[5:], 0))
    ends = tuple((address(p), 0) for p in parts[:2])
    for name in ("id", "spi"):
        if last.startswith(name + "="):
            return Key(kind, name, ends, int(last[len(name) + 1:], 0))
    return Key(kind, "protocol", ends, int(last))


class Expected:
    """Walks tshark's layers of one packet as the design says a key is found."""

    def __init__(self, row, inner):
        self.layers = Layers(row)
        self.inner = inner
        self.key = None
        self.datagram = None  # identity of the outermost fragmented datagram
        self.transport = None  # what the ports are of
        self.quoted = False
        self.tunnels = 0
        self.walk()

    def walk(self):
        names = self.layers.names
        macs = None
        at = 0
        while at < len(names):
            name = names[at]
            after = names[at + 1] if at + 1 < len(names) else None
            at += 1
            if name == "eth":
                macs = ((mac(self.layers.take("eth.src")), 0), (mac(self.layers.take("eth.dst")), 0))
                self.key = Key("l2", "type", macs, None)
            elif name in LINK or (name == "ppp" and names[at - 2] == "pppoes"):
                continue
            elif name in ("ip", "ipv6"):
                at = self.ip(name, at)
                if at is None:
                    return
            elif name in PORTED:
                if not self.ports(name, after):
                    return
            elif name == "gre":
                flags = self.layers.number("gre.flags_and_version")
                looked_through = after in ("eth", "ip", "ipv6", "mpls") and flags & 0x4007 == 0
                if not self.enter(looked_through):
                    return
            elif name in UDP_TUNNELS:
                if name == "gtp" and self.layers.number("gtp.message") != 0xFF:
                    return
            elif name in ("icmp", "icmpv6"):
                at = self.icmp(name, after, at)
                if at is None:
                    return
            elif name in ("esp", "ah"):
                self.replace(form="spi", kind=name, extra=self.layers.number(name + ".spi"))
                return
            else:
                return

    def replace(self, **fields):
        if self.quoted:
            fields.pop("kind", None)
        self.key = self.key._replace(**fields)

    def enter(self, possible):
        if self.quoted and possible:
            raise NotCompared("an ICMP error that quotes a tunnel (in the unit tests)")
        self.tunnels += 1
        if self.tunnels > MOST_TUNNELS:
            return False
        return possible and self.inner

    def ip(self, name, at):
        """returns: where to go on, or None at the key's end"""
        layers = self.layers
        before = layers.names[at - 2]
        if before in ("ip", "ipv6") or before in EXTENSIONS or before == "ipv6.fraghdr":
            if not self.enter(True):
                return None
        ends = ((address(layers.take(name + ".src")), 0), (address(layers.take(name + ".dst")), 0))
        kind = "icmp-error" if self.quoted else "ip"
        if name == "ip":
            protocol = layers.number("ip.proto")
            more, offset, ident = (layers.number("ip." + f) for f in ("flags.mf", "frag_offset", "id"))
            self.key = Key(kind, "protocol", ends, protocol)
            if (offset or more) and self.fragment(ends, ident, protocol, offset):
                return None
            return at
        self.key = Key(kind, "protocol", ends, layers.number("ipv6.nxt"))
        seen = 0
        while at < len(layers.names) and (layers.names[at] in EXTENSIONS or layers.names[at] == "ipv6.fraghdr"):
            seen += 1
            if seen > 8:
                raise NotCompared("more extension headers than the dissector looks through")
            # What follows an extension header is in no single tshark field: known by its layer only.
            self.replace(extra=None)
            if layers.names[at] == "ipv6.fraghdr":
                offset, more = layers.number("ipv6.fraghdr.offset"), layers.number("ipv6.fraghdr.more")
                protocol, ident = layers.number("ipv6.fraghdr.nxt"), layers.number("ipv6.fraghdr.ident")
                self.replace(extra=protocol)
                if (offset or more) and self.fragment(ends, ident, protocol, offset):
                    return None
            at += 1
        return at

    def fragment(self, ends, ident, protocol, offset):
        """returns: whether the key ends here: quoted first fragments have their ports"""
        if not self.quoted and self.datagram is None:
            self.datagram = (ends, ident, protocol)
        if self.quoted and not offset:
            return False
        self.replace(form="protocol", kind="frag", extra=protocol)
        return True

    def ports(self, name, after):
        source, destination = self.layers.number(name + ".srcport"), self.layers.number(name + ".dstport")
        ends = tuple((end[0], port) for end, port in zip(self.key.ends, (source, destination)))
        self.replace(form="ports", kind=name, ends=ends, extra=None)
        self.transport = name
        tunnel_port = any(destination in ports for ports in UDP_TUNNELS.values())
        if name == "udp" and after is None and tunnel_port and self.layers.number("udp.length") == 0:
            raise NotCompared("UDP length 0, from segmentation offload: tshark stops there")
        if after not in UDP_TUNNELS:
            return False
        return self.enter(destination in UDP_TUNNELS[after])

    def icmp(self, name, after, at):
        kind = self.layers.number(name + ".type")
        if kind in ECHOES[name]:
            field = "icmp.ident" if name == "icmp" else "icmpv6.echo.identifier"
            self.replace(form="id", kind="icmp-echo", extra=self.layers.number(field))
            return None
        if kind not in ERRORS[name] or self.quoted:
            return None
        if after != ("ip" if name == "icmp" else "ipv6"):
            raise NotCompared("an ICMP error whose quote tshark does not show")
        self.quoted = True
        return at


def agree(expected, found):
    """The key that tshark leads to against mqsim's; extra None: tshark has no field for it."""
    if expected.form == found.form and found.form in ("protocol", "type") and expected.extra is None:
        expected = expected._replace(extra=found.extra)
    return expected == found


class Oracle:
    def __init__(self, mqsim):
        self.mqsim = mqsim
        self.compared = collections.Counter()
        self.skipped = collections.Counter()
        self.excluded_files = []
        self.disagreements = []
        self.flows = {}
        self.datagrams = {}

    def rows(self, config, file):
        mode, tunnels, symmetric = config
        run = subprocess.run([self.mqsim, "--mode", mode, "--workers", WORKERS, "--tunnels", tunnels,
                              "--symmetric", symmetric, "--per-packet", file],
                             capture_output=True, text=True, timeout=60, check=False)
        if run.returncode not in (0, 2):
            raise RuntimeError(f"mqsim exit {run.returncode} for {file}: {run.stderr}")
        return [line.split("\t") for line in run.stdout.splitlines()[1:]], run.stderr.strip()

    def check(self, config, name, views, rows):
        """views: tshark's rows of these packets"""
        inner, symmetric = config[1] == "inner", config[2] == "on"
        for view, (n, kind, key, *place) in zip(views, rows):
            try:
                if view["frame.protocols"].split(":")[0] != "eth":
                    raise NotCompared("tshark finds no Ethernet header: " + view["frame.protocols"][:30])
                if ":cfp:" in view["frame.protocols"]:
                    raise NotCompared("Cisco FabricPath: tshark shows the inner addresses only")
                expected = Expected(view, inner)
            except NotCompared as reason:
                self.skipped[str(reason)] += 1
                continue
            wanted = expected.key.reversed() if expected.quoted else expected.key
            wanted = wanted.ordered(symmetric)
            found = parse_mqsim(kind, key)
            where = f"{name} packet {n} ({'/'.join(config)})"
            if not agree(wanted, found):
                self.disagreements.append(f"{where}: tshark {view['frame.protocols']} -> {wanted}, mqsim {found}")
            self.compared[wanted.kind] += 1
            self.meet(self.flows, (config, expected.transport, found._replace(kind=None)), place, where, "one flow")
            if expected.datagram:
                self.meet(self.datagrams, (config, expected.datagram), place[2:], where, "one datagram")

    def meet(self, groups, group, place, where, what):
        first = groups.setdefault(group, [tuple(place), 0, where])
        first[1] += 1
        if first[0] != tuple(place):
            self.disagreements.append(f"{where}: {place}, but {first[2]} of {what} is at {first[0]}")


def tshark(file):
    # Only what libpcap gives: pcapng files have records that are no packets.
    command = ["tshark", "-n", "-r", file, "-Y", "frame.encap_type == 1", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|", "-E",
               "separator=/t"]
    for preference in PREFERENCES:
        command += ["-o", preference]
    for field in FIELDS:
        command += ["-e", field]
    run = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    return [dict(zip(FIELDS, line.split("\t"))) for line in run.stdout.splitlines()]


def batches(oracle, root):
    """Files that mqsim reads to their end, many together (a start of tshark takes a second); cut ones
    alone."""
    whole, cut = [], []
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix not in (".tsv", ".md")):
        rows, error = oracle.rows(CONFIGS[0], str(path))
        if path.parent.name == "bad-file":
            oracle.excluded_files.append(f"{path}: broken on purpose, each reader makes of it what it can")
        elif not rows:
            oracle.excluded_files.append(error or f"{path}: has no packets")
        else:
            (cut if error else whole).append(path)
    return [whole[i:i + BATCH_FILES] for i in range(0, len(whole), BATCH_FILES)] + [[path] for path in cut]


def views_of(batch, folder):
    if len(batch) == 1:
        return tshark(str(batch[0]))
    merged = pathlib.Path(folder) / f"{batch[0].name}.merged"
    subprocess.run(["mergecap", "-a", "-F", "pcapng", "-w", str(merged), *map(str, batch)], check=True, timeout=60)
    return tshark(str(merged))


def main():
    root = pathlib.Path(os.environ.get("MQSTEER_PCAPS", ""))
    if not os.environ.get("MQSTEER_PCAPS") or not root.is_dir():
        print(f"skipped: MQSTEER_PCAPS names no folder of captures ({root})")
        return 77
    for tool in ("tshark", "mergecap"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed (apt-get install tshark)")
            return 77
    oracle = Oracle(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        todo = batches(oracle, root)
        sample = None
        for batch, views in zip(todo, pool.map(lambda b: views_of(b, folder), todo)):
            for config in CONFIGS:
                at = 0
                for path in batch:
                    rows, _ = oracle.rows(config, str(path))
                    oracle.check(config, f"{path.parent.name}/{path.name}", views[at:at + len(rows)], rows)
                    at += len(rows)
                # Of a cut file tshark may show more, or a part of the last packet.
                if at != len(views) and len(batch) > 1:
                    oracle.disagreements.append(f"{batch[0]} and on: mqsim {at} packets, tshark {len(views)}")
            sample = sample or (views[:1], oracle.rows(CONFIGS[0], str(batch[0]))[0][:1])
    return report(oracle, sample)


def sees_a_wrong_key(oracle, sample):
    """The oracle itself: one address changed by one must be a disagreement."""
    trial = Oracle(oracle.mqsim)
    views, ((n, kind, key, *place),) = sample
    first, rest = key.split(" ", 1)
    other = "9.9.9.9" + first[first.rfind(":"):] if ":" in first else "9.9.9.9"
    trial.check(CONFIGS[0], "self-test", views, [(n, kind, f"{other} {rest}", *place)])
    return len(trial.disagreements) == 1


def report(oracle, sample):
    for file in oracle.excluded_files:
        print("file not compared:", file)
    for reason, count in oracle.skipped.most_common():
        print(f"not compared, {count:7}: {reason}")
    for kind, count in sorted(oracle.compared.items()):
        print(f"compared,     {count:7}: {kind}")
    shared = sum(1 for group in oracle.flows.values() if group[1] > 1)
    whole = sum(1 for group in oracle.datagrams.values() if group[1] > 1)
    print(f"{shared} keys of several packets on one worker each, {whole} datagrams of several fragments")
    shown = collections.Counter()
    for line in oracle.disagreements:
        shown[line.split(" ")[0]] += 1
        if shown[line.split(" ")[0]] <= 4:  # of a file
            print("DISAGREE", line)
    print(f"{len(oracle.disagreements)} disagreements in {sum(oracle.compared.values())} comparisons")
    if not sees_a_wrong_key(oracle, sample):
        print("the oracle does not see a wrong key: it proves nothing")
        return 1
    if shared < 1000 or whole < 10:
        print("too few flows and datagrams for a proof: is the folder whole, does tshark work?")
        return 1
    return 1 if oracle.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
