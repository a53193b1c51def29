"""Clients that hold connections to a public port and never do their part."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

#: Seconds for a server to take a connection.
_TIMEOUT = 20.0


@contextmanager
def connections(port: int, count: int, *, receive_buffer: int = 0) -> Iterator[list[socket.socket]]:
    """So many connections from this process; none of them blocks."""
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            client = stack.enter_context(socket.socket())
            # Each has an address of its own, and so a rate of its own.
            client.bind((f"127.1.{number // 250}.{number % 250 + 1}", 0))
            client.settimeout(_TIMEOUT)
            if receive_buffer:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            client.connect(("127.0.0.1", port))
            client.settimeout(0)
            opened.append(client)
        yield opened


def send(clients: Sequence[socket.socket], sent: bytes) -> None:
    """Sends as much as each server takes at once; a closed connection takes nothing."""
    for client in clients:
        with suppress(OSError):
            client.send(sent)


def is_closed(client: socket.socket) -> bool:
    """True if the server has ended the connection; reads what had come before."""
    try:
        while client.recv(2**16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def resident_megabytes(pid: int) -> float:
    """The memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError("the kernel does not tell the memory of the process")


def processor_seconds(pid: int) -> float:
    """The time of the processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_answers(clients: Sequence[socket.socket], *, seconds: float) -> None:
    """Reads until the server has ended each connection, whose requests say `close`."""
    for client in clients:
        client.settimeout(seconds)
        with suppress(ConnectionError):
            while client.recv(2**16):
                pass
