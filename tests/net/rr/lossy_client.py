"""Many TCP clients that lose some of what they receive: lossy_client.py ADDRESS PORT CONNECTIONS LOSS_PERCENT ROUNDS.

Each connection sends ROUNDS requests of 1 to 1,000 bytes, one after the other, takes the echo of each, closes and
waits for the other end's close. The loss is a socket filter, which needs no kernel module: it drops whole segments
on their way to the socket, data, ACK and FIN alike. Prints one line of JSON; exit 1 where an echo was wrong or
something did not come in time.
"""

import ctypes
import json
import random
import selectors
import socket
import struct
import sys
import time

SO_ATTACH_FILTER = 26
LIMIT_S = 90


def drop(sock, percent):
    """A classic BPF program: drop where a random number is below the share (linux/filter.h: SKF_AD_RANDOM)."""
    if percent == 0:
        return
    below = int(0xFFFFFFFF * percent / 100)
    code = [(0x20, 0, 0, 0xFFFFF000 + 56), (0x35, 0, 1, below), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(code), ctypes.addressof(program)))


class Client:
    def __init__(self, number, to, rounds, percent):
        self.sock = socket.socket(socket.AF_INET6 if ":" in to[0] else socket.AF_INET)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        drop(self.sock, percent)
        self.random, self.rounds, self.wanted, self.got = random.Random(number), rounds, b"", b""
        self.sock.connect_ex(to)

    def ask(self):
        self.wanted, self.got = self.random.randbytes(self.random.choice((1, 1, 1, self.random.randint(2, 1000)))), b""
        self.sock.send(self.wanted)

    def ready(self, connected):
        """One step further. Returns whether this client is done."""
        if not connected:
            fault = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if fault:
                raise OSError(fault, "connecting")
            self.ask()
            return False
        text = self.sock.recv(65536)
        if not text:
            if self.rounds:
                raise OSError(0, "closed by the other end")
            return True
        self.got += text
        if not self.wanted.startswith(self.got):
            raise OSError(0, "a wrong echo")
        if len(self.got) == len(self.wanted):
            self.rounds -= 1
            if self.rounds:
                self.ask()
            else:
                self.sock.shutdown(socket.SHUT_WR)
        return False


def run(address, port, connections, percent, rounds):
    poll, done, faults = selectors.DefaultSelector(), 0, []
    for number in range(connections):
        client = Client(number, (address, port), rounds, percent)
        poll.register(client.sock, selectors.EVENT_WRITE, [client, False])
    end = time.monotonic() + LIMIT_S
    while poll.get_map() and time.monotonic() < end:
        for key, _ in poll.select(1):
            client, connected = key.data
            try:
                over = client.ready(connected)
            except BlockingIOError:
                continue
            except OSError as fault:
                faults.append(str(fault))
                over = True
            if over:
                poll.unregister(client.sock)
                client.sock.close()
                done += 1
            elif not connected:
                poll.modify(client.sock, selectors.EVENT_READ, [client, True])
    late = len(poll.get_map() or ())
    print(json.dumps({"done": done - len(faults), "faults": sorted(set(faults)), "failed": len(faults), "late": late}))
    return 1 if faults or late else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
