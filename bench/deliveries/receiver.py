"""`python -m bench.deliveries.receiver CERTIFICATE PORT HOST…`: receives deliveries.

A separate process that implements just enough HTTP not to distort the measurement: it responds
with 204, and to a GET with the milliseconds from event to receipt of the deliveries since the last
one. A POST to `/hangs` gets no response.
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

#: Deliveries since the last GET: the time of receipt, and the event's own time as written.
_received: list[tuple[float, bytes]] = []


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport is a Transport without declaring so.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        while (request := self._next_request()) is not None:
            self._respond(*request)

    def _next_request(self) -> tuple[bytes, bytes] | None:
        """Returns head and body once both are complete."""
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

    def _respond(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._report()
        elif not head.startswith(b"POST /hangs"):
            _, _, rest = body.partition(_OCCURRED_AT)
            _received.append((time.time(), rest[: rest.find(b'"')]))
            self._transport.write(_NO_CONTENT)

    def _report(self) -> None:
        latencies = [
            (at - datetime.fromisoformat(occurred_at.decode()).timestamp()) * 1000
            for at, occurred_at in _received
        ]
        _received.clear()
        body = json.dumps(latencies).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self._transport.write(head + body)


async def serve(certificate: str, port: int, hosts: list[str]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    for host in hosts:
        await loop.create_server(Connection, host, port, ssl=context, backlog=1024)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
