"""Hostile clients neither exhaust a public port's process nor shut others out.

In the manifests a gateway has 384 MiB and a portal 768. Before there were limits, the gateway grew
to 800 MB with unfinished heads and to 1,230 MB with unread responses, and the portal to 1,060 MB.
"""

import base64
import socket
from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from common.runtime.processes import raise_file_limit
from local_stack.ports import free_ports
from local_stack.processes import wait_for
from local_stack.system import SOON, Service, System
from tests.chaos.hostile_clients import connections, is_closed, resident_megabytes, send

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: The memory that one kind of request may take.
MEMORY = 240.0
#: The memory that a gateway may take, with a margin below its limit. What one kind of request has
#: left of the allocator's memory is of little use to the next: a gateway needs up to 295.
MEMORY_OF_ALL = 360.0
#: More connections than a process takes at the same time.
CONNECTIONS = 2100

FINISHED = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"GET /nothing HTTP/1.1\r\nHost: x\r\n"
#: 180 kB, of which no line is too long.
LARGE = HEAD + b"".join(b"X-%d: %b\r\n" % (number, b"a" * 8000) for number in range(22))
#: 13 kB, within the limit of a head, and many objects once it is parsed.
MANY = HEAD + b"".join(b"X-%d: %b\r\n" % (number, b"a" * 100) for number in range(120))
SCRIPT = b"GET /docs/swagger-ui.js HTTP/1.1\r\nHost: x\r\n"
HEADERS_OF_MANY = MANY.removeprefix(HEAD)
#: A form that lacks its last byte.
FORM = (
    b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 60001\r\n\r\n" + b"a" * 60_000
)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system whose servers are unavailable; its public ports do not need them."""
    raise_file_limit()
    amqp, mongo = free_ports(2)
    running = System(
        tmp_path_factory.mktemp("system"),
        f"amqp://guest:guest@127.0.0.1:{amqp}/",
        f"mongodb://127.0.0.1:{mongo}/?replicaSet=rs0",
        {},
    )
    yield running
    running.close()


@pytest.fixture
def gateway(system: System) -> Iterator[tuple[Service, int]]:
    """A gateway and its public port."""
    service = system.start("gateway")
    yield served(service, system.base_port)
    service.process.stop()


@pytest.fixture
def portal(system: System) -> Iterator[tuple[Service, int]]:
    """A portal and its public port."""
    [port] = free_ports(1)
    service = system.start(
        "portal",
        http_port=str(port),
        registry_url="http://127.0.0.1:1",
        session_key=base64.b64encode(bytes(32)).decode(),
        secure_cookies="false",
    )
    yield served(service, port)
    service.process.stop()


def served(service: Service, port: int) -> tuple[Service, int]:
    service.process.wait_until(partial(answers, port), seconds=SOON)
    return service, port


def answers(port: int) -> bool:
    """True if a new client gets an answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=SOON) as client:
            client.sendall(FINISHED)
            return client.recv(12).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def peak_while(clients: Sequence[socket.socket], sent: bytes, pid: int) -> float:
    """The most memory of a process while it takes what the clients send, as long as it grows."""
    send(clients, sent)
    seen = [resident_megabytes(pid)]

    def has_settled() -> bool:
        seen.append(resident_megabytes(pid))
        return len(seen) > 30 and seen[-1] <= seen[-20] + 1

    wait_for(has_settled, seconds=SOON)
    return max(seen)


ATTACKS = {
    "large heads behind a request": FINISHED + LARGE,
    "many headers": MANY,
    "unread responses": (SCRIPT + b"\r\n") * 3,
    "unread responses to large heads": SCRIPT + HEADERS_OF_MANY + b"\r\n",
}


@pytest.mark.parametrize("sent", ATTACKS.values(), ids=ATTACKS)
def test_no_request_of_thousands_of_clients_exhausts_the_gateway(
    gateway: tuple[Service, int], sent: bytes
) -> None:
    service, port = gateway

    with connections(port, CONNECTIONS) as clients:
        peak = peak_while(clients, sent, service.process.pid)
        health = answers(service.admin_port)

    assert peak < MEMORY
    assert health
    assert wait_for(partial(answers, port), seconds=SOON)


def test_requests_of_all_kinds_in_a_row_do_not_exhaust_the_gateway(
    gateway: tuple[Service, int],
) -> None:
    service, port = gateway
    peaks = {}

    for name, sent in ATTACKS.items():
        with connections(port, CONNECTIONS) as clients:
            peaks[name] = peak_while(clients, sent, service.process.pid)
        assert wait_for(partial(answers, port), seconds=SOON), name

    assert max(peaks.values()) < MEMORY_OF_ALL, peaks


@pytest.mark.parametrize("sent", [LARGE, FORM], ids=["heads", "forms"])
def test_no_request_of_thousands_of_browsers_exhausts_the_portal(
    portal: tuple[Service, int], sent: bytes
) -> None:
    service, port = portal

    with connections(port, CONNECTIONS) as clients:
        peak = peak_while(clients, sent, service.process.pid)
        health = answers(service.admin_port)
        closed = wait_for(lambda: all(map(is_closed, clients)), seconds=SOON)

    assert peak < MEMORY
    assert health
    assert closed
    assert wait_for(partial(answers, port), seconds=SOON)
