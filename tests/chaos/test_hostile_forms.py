"""Forms and heads that cost a portal much more than their senders, none of whom is signed in.

Before forms were checked, 38 requests of 1,200 empty parts took 12.7 s of the portal's processor,
and another user's page went from 8 ms to 5.2 s.
"""

import base64
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from local_stack.ports import free_ports
from local_stack.system import SOON, Service, System
from tests.chaos.hostile_clients import connections, processor_seconds, send, wait_for_answers
from tests.chaos.test_hostile_clients import served

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

REQUESTS = 38
#: Seconds of the processor that a request may take: the costliest, of cookies alone, takes 0.008.
COST = 0.02
#: Seconds in which another user's page comes meanwhile, on a busy machine.
PATIENCE = 2.0

BOUNDARY = "b" * 16
PARTS = (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1_200).encode()


def form(body: bytes, content_type: str, path: str = "/sign-in") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def page(**headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"GET /sign-in HTTP/1.1\r\nHost: x\r\n{lines}Connection: close\r\n\r\n".encode()


URLENCODED = "application/x-www-form-urlencoded"
ATTACKS = {
    "parts": form(PARTS[:65_000], f"multipart/form-data; boundary={BOUNDARY}"),
    "parts elsewhere": form(
        PARTS, f"multipart/form-data; boundary={BOUNDARY}", "/customers/upload"
    ),
    "fields": form(b"a&" * 32_000, URLENCODED),
    "escapes": form(b"a=" + b"%41" * 21_000, URLENCODED),
    "a slow charset": form(b"a=-" + b"9a" * 30_000, f"{URLENCODED}; charset=punycode"),
    "languages": page(Accept_Language=",".join(f"a{n}" for n in range(1_500))),
    "cookies": page(Cookie=";".join(f"a{n}={n}" for n in range(700))),
    "an invalid session": page(Cookie="portal=" + "g" * 8_000),
    "forwarded": page(X_Forwarded_For=",".join(["127.0.0.1"] * 700)),
}


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, int]]:
    """A portal and its public port; its API is not there."""
    amqp, mongo, port = free_ports(3)
    system = System(
        tmp_path_factory.mktemp("system"),
        f"amqp://guest:guest@127.0.0.1:{amqp}/",
        f"mongodb://127.0.0.1:{mongo}/?replicaSet=rs0",
        {},
    )
    service = system.start(
        "portal",
        http_port=str(port),
        registry_url="http://127.0.0.1:1",
        session_key=base64.b64encode(bytes(32)).decode(),
        secure_cookies="false",
    )
    yield served(service, port)
    system.close()


def seconds_of_a_page(port: int) -> float:
    began = time.monotonic()
    with closing(socket.create_connection(("127.0.0.1", port), timeout=SOON)) as client:
        client.sendall(page())
        while client.recv(2**16):
            pass
    return time.monotonic() - began


@pytest.mark.parametrize("sent", ATTACKS.values(), ids=ATTACKS)
def test_no_request_of_a_stranger_costs_the_portal_much(
    portal: tuple[Service, int], sent: bytes
) -> None:
    service, port = portal
    before = processor_seconds(service.process.pid)

    with connections(port, REQUESTS) as clients:
        send(clients, sent)
        slowest = max(seconds_of_a_page(port) for _ in range(5))
        wait_for_answers(clients, seconds=SOON)
    spent = processor_seconds(service.process.pid) - before

    assert spent < COST * REQUESTS
    assert slowest < PATIENCE
