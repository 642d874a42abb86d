"""TCP_RR between the hosts of a lab: mqrr's server and client, and two hosts on one veth pair.

      host a                     host b
    eth0 10.77.0.1 ---------- eth0 10.77.0.2
         fd77::1                   fd77::2

Used by bench/tcp_rr/lab and by the tests of tests/net/mqrr.
"""

import json
import os
import pathlib
import re

import lab as net

OPEN = re.compile(r"open: \d+ connections")  # what a client says before the warm-up


class Pair(net.Lab):
    """Two hosts and nothing between them. The offloads are the kernel's own choice."""

    def _build(self):
        for host in ("a", "b"):
            self.add_namespace(host, *net.HOST)
        net.run("ip", "-n", self.namespace("a"), "link", "add", "eth0", "numrxqueues", "1", "numtxqueues", "1",
                "type", "veth", "peer", "name", "eth0", "numrxqueues", "1", "numtxqueues", "1",
                "netns", self.namespace("b"))
        for host in ("a", "b"):
            self.run(host, "ip", "link", "set", "eth0", "mtu", str(self.mtu), "up")
            self.add_addresses(host)


def allow_many(lab, host):
    """Local ports, listen queue and quick reuse for tens of thousands of connections; this namespace only."""
    lab.run(host, "sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65535", "net.ipv4.tcp_tw_reuse=1",
            "net.core.somaxconn=16384", "net.ipv4.tcp_max_syn_backlog=16384")


class Mqrr:
    """mqrr on the hosts of a lab. Every server has a port of its own: no connection meets an older one's rest."""

    def __init__(self, lab, programs):
        self.lab, self.number = lab, 7000
        self.program = (str(pathlib.Path(programs) / "apps/mqrr/mqrr"),)
        if not os.access(self.program[0], os.X_OK):
            raise net.Fault(f"{self.program[0]} is not built")

    def log(self, name):
        return self.lab.folder / f"{name}-{self.number}.log"

    def said(self, name):
        return self.log(name).read_text(errors="replace") if self.log(name).exists() else ""

    def serve(self, host="b", *options):
        """Starts a server on the next port and waits until it listens."""
        self.number += 1
        self.log("server").write_text("")
        server = self.lab.start(host, *self.program, "server", "--port", str(self.number), *options,
                                log=self.log("server"))
        net.until(lambda: server.poll() is not None or "ready" in self.said("server"), 10, "mqrr server: ready")
        if server.poll() is not None:
            raise net.Fault(f"mqrr server: exit {server.returncode}: {self.said('server').strip()}")
        return server

    def ask(self, *options, to=net.ADDRESS["b"], port=None, host="a"):
        """Starts a client that will answer in JSON; wait with answer()."""
        self.log("client").write_text("")
        with self.log("client-json").open("wb") as out:
            return self.lab.start(host, *self.program, "client", to, "--port", str(port or self.number), "-j",
                                  *map(str, options), log=self.log("client"), stdout=out)

    def opened(self, client, timeout=40):
        """Waits until all connections of a client are open."""
        net.until(lambda: client.poll() is not None or OPEN.search(self.said("client")), timeout,
                  "mqrr client: all connections open", interval=0.005)

    def answer(self, client, timeout):
        """The client's figures (None where it had none), its exit status and its last line."""
        net.until(lambda: client.poll() is not None, timeout, "mqrr client: its end")
        text = self.log("client-json").read_text()
        last = (self.said("client").strip().splitlines() or [""])[-1]
        return (json.loads(text) if text else None), client.returncode, last

    def measure(self, *options, timeout, **where):
        """Runs a client to its end and returns its figures; a Fault where there was any trouble."""
        figures, status, last = self.answer(self.ask(*options, **where), timeout)
        if status != 0:
            raise net.Fault(f"mqrr client {' '.join(map(str, options))}: exit {status}: {last}")
        return figures
