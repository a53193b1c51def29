"""`python -m bench.deliveries.receiver CERTIFICATE PORT HOST…`: receives deliveries.

A separate process that implements just enough HTTP not to distort the measurement: it answers 204,
records the age of the event in each body, and reports the ages in response to a GET.
A POST to `/hangs` is never answered, a POST to `/fails` with 500.
"""

import asyncio
import json
import ssl
import sys
import time
from datetime import datetime
from typing import cast

import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_OCCURRED_AT = b'"occurred_at":"'
_NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
_FAILED = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"

#: Deliveries since the last GET: the time of receipt, and the event's own time as written.
_taken: list[tuple[float, bytes]] = []


class Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport is one without saying so.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        while (request := self._next_request()) is not None:
            self._answer(*request)

    def _next_request(self) -> tuple[bytes, bytes] | None:
        """Head and body once both are complete."""
        end = self._buffer.find(_HEAD_END)
        if end < 0:
            return None
        head, start = self._buffer[:end], end + len(_HEAD_END)
        _, found, rest = head.lower().partition(_LENGTH)
        stop = start + (int(rest.split(b"\r\n", 1)[0]) if found else 0)
        if len(self._buffer) < stop:
            return None
        body, self._buffer = self._buffer[start:stop], self._buffer[stop:]
        return head, body

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._tell()
            return
        if head.startswith(b"POST /hangs"):
            return
        if head.startswith(b"POST /fails"):
            self._transport.write(_FAILED)
            return
        _, found, rest = body.partition(_OCCURRED_AT)
        if found:
            _taken.append((time.time(), rest[: rest.find(b'"')]))
        self._transport.write(_NO_CONTENT)

    def _tell(self) -> None:
        ages = [
            (at - datetime.fromisoformat(occurred_at.decode()).timestamp()) * 1000
            for at, occurred_at in _taken
        ]
        _taken.clear()
        answer = json.dumps(ages).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
        self._transport.write(head + answer)


async def serve(certificate: str, port: int, hosts: list[str]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    for host in hosts:
        await loop.create_server(Receiver, host, port, ssl=context, backlog=1024)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
