"""Runs in a network namespace: python slow_network.py <seconds of delay> <share lost> <seed>.

Delays the packets that iptables gives to the queue `QUEUE`, and loses some, as `tc netem` does; not
every kernel has that. It speaks the kernel's protocol of nfnetlink_queue, since a packet's number
is all that it needs.
"""

import random
import select
import socket
import struct
import sys
import time
from collections import deque

QUEUE = 7
_NETLINK_NETFILTER = 12
#: Types of messages, with nfnetlink's subsystem of queues.
_PACKET, _VERDICT, _CONFIG, _VERDICT_BATCH = (3 << 8 | number for number in range(4))
#: Attributes of a packet, of a verdict and of the configuration.
_PACKET_HEADER, _VERDICT_HEADER = 1, 2
_COMMAND, _PARAMETERS, _MAX_LENGTH = 1, 2, 3
_BIND, _COPY_META = 1, 1
_DROP, _ACCEPT = 0, 1
#: Of packets that wait, and bytes of messages that wait to be read.
_MAX_WAITING, _BUFFER = 1 << 16, 1 << 24
_SO_RCVBUFFORCE = 33


def _message(kind: int, attribute: int, content: bytes) -> bytes:
    """A netlink message with one attribute."""
    body = struct.pack("=BB", 0, 0) + struct.pack(">H", QUEUE)
    padding = b"\0" * (-len(content) % 4)
    body += struct.pack("=HH", 4 + len(content), attribute) + content + padding
    return struct.pack("=IHHII", 16 + len(body), kind, 1, 0, 0) + body


def _packets(data: bytes) -> list[int]:
    """The numbers of the packets in a read of the socket."""
    found, at = [], 0
    while at < len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        attribute = at + 20
        while kind == _PACKET and attribute < at + length:
            size, name = struct.unpack_from("=HH", data, attribute)
            if name == _PACKET_HEADER:
                found.append(struct.unpack_from(">I", data, attribute + 4)[0])
                break
            attribute += size + -size % 4
        at += length + -length % 4
    return found


def _decide(link: socket.socket, kind: int, verdict: int, number: int) -> None:
    link.send(_message(kind, _VERDICT_HEADER, struct.pack(">II", verdict, number)))


def main() -> None:
    delay, lost, chance = float(sys.argv[1]), float(sys.argv[2]), random.Random(sys.argv[3])
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
    link.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
    link.bind((0, 0))
    link.send(_message(_CONFIG, _COMMAND, struct.pack(">BBH", _BIND, 0, 0)))
    link.send(_message(_CONFIG, _PARAMETERS, struct.pack(">IB", 0, _COPY_META)))
    link.send(_message(_CONFIG, _MAX_LENGTH, struct.pack(">I", _MAX_WAITING)))
    print("ready", flush=True)
    waiting: deque[tuple[float, int]] = deque()
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([link], [], [], timeout)[0]:
            due = time.monotonic() + delay
            for number in _packets(link.recv(_BUFFER)):
                if chance.random() < lost:
                    _decide(link, _VERDICT, _DROP, number)
                else:
                    waiting.append((due, number))
        passed = None
        while waiting and waiting[0][0] <= time.monotonic():
            _, passed = waiting.popleft()
        if passed is not None:  # all packets up to this one
            _decide(link, _VERDICT_BATCH, _ACCEPT, passed)


if __name__ == "__main__":
    main()
