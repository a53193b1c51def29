"""Agents that neither exhaust an MCP server over HTTP nor delay others, none of whom has a key.

In the manifests a server has 256 MiB. Before it had limits, 250 unfinished bodies of 1 MB took it
from 106 to 349 MiB, 800 heads were awaited for more than two minutes, and a header that is no ASCII
took 734 ms of its processor.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from typing import Any

import pytest

from common.runtime.processes import raise_file_limit
from local_stack.ports import free_ports, http_get
from local_stack.processes import Process, Program, wait_for
from local_stack.system import SOON
from tests.chaos.hostile_clients import (
    connections,
    is_closed,
    processor_seconds,
    resident_megabytes,
    send,
    wait_for_answers,
)

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: MiB that the server may take, of the 256 that the manifests allow.
MEMORY = 160.0
#: Seconds in which another agent has its answer at an attack, of 99 in 100.
P99 = 0.1
REQUESTS = 20
#: Seconds of the processor for one hostile request.
COST = 0.03
HEAD_TIMEOUT = 2
#: Seconds for which hostile clients send bodies.
SENDING = 6.0
#: Bytes that a hostile client sends at once: all together a few MB/s.
PIECE = 8 * 1024

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def call(tool: str = "lookup_company", **arguments: Any) -> Mapping[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


LISTING = {"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}


def request(message: Any, *, length: int | None = None, **headers: str) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    given = {
        "Host": "localhost:1",
        **JSON,
        "Content-Length": str(length or len(body)),
        "Connection": "close",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, int]]:
    """An MCP server and its port; its API is not there."""
    raise_file_limit()
    [port] = free_ports(1)
    options = ["--url", "http://127.0.0.1:1", "--port", str(port)]
    limits = ["--head-timeout", str(HEAD_TIMEOUT), "--trusted-proxy", "127.0.0.1/32"]
    command = [sys.executable, "-m", "company_registry.cli", "mcp", "--http", *options, *limits]
    process = Process(Program("mcp", command, tmp_path_factory.mktemp("mcp") / "mcp.log"))

    def is_listening() -> bool:
        return http_get(port, "/readyz")[0] == HTTPStatus.OK

    process.wait_until(is_listening, seconds=SOON)
    yield process, port
    process.stop()


def answer(port: int, sent: bytes) -> bytes:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=SOON)) as client:
        client.sendall(sent)
        received = b""
        while part := client.recv(2**16):
            received += part
    return received


@contextmanager
def another_agent(port: int) -> Iterator[list[float]]:
    """The seconds of each answer to an agent that asks all the time."""
    seconds: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            began = time.monotonic()
            assert b" 200 " in answer(
                port, request(LISTING, X_Forwarded_For=f"203.0.113.{len(seconds) % 250}")
            )
            seconds.append(time.monotonic() - began)
            ended.wait(0.01)

    agent = threading.Thread(target=ask)
    agent.start()
    try:
        yield seconds
    finally:
        ended.set()
        agent.join()


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


#: Clients, what each sends, and the seconds in which another agent has its answer.
BODIES = {
    "1 MB": (250, request(b'{"a":"' + b"b" * 999_000, length=1_000_000), P99),
    # Its heads alone take a second where a machine is busy.
    "as much as is taken": (500, request(b'{"a":"' + b"b" * 200_000, length=250_000), SOON),
}


@pytest.mark.parametrize("count, sent, patience", BODIES.values(), ids=BODIES)
def test_unfinished_bodies_neither_exhaust_a_server_nor_delay_others(
    server: tuple[Process, int], count: int, sent: bytes, patience: float
) -> None:
    process, port = server
    with another_agent(port) as usual:
        time_passes(2.0)
    before = processor_seconds(process.pid)

    with another_agent(port) as seconds, connections(port, count) as clients:
        peak = peak_while_sending(clients, sent, process.pid)
    after = resident_megabytes(process.pid)
    spent = processor_seconds(process.pid) - before

    assert max(peak, after) < MEMORY
    assert spent < SENDING / 2
    # Where other processes have the processor, every answer waits for its turn.
    assert p99(seconds) < max(patience, 10 * p99(usual))


def time_passes(seconds: float) -> None:
    """Waits for what an agent sees in so many seconds."""
    threading.Event().wait(seconds)


def peak_while_sending(clients: list[socket.socket], sent: bytes, pid: int) -> float:
    """The most MiB of a process while it is sent what it takes of unfinished bodies."""
    rest = [memoryview(sent)] * len(clients)
    ends, peak = time.monotonic() + SENDING, 0.0
    while time.monotonic() < ends:
        for place, client in enumerate(clients):
            with suppress(OSError):
                rest[place] = rest[place][client.send(rest[place][:PIECE]) :]
        peak = max(peak, resident_megabytes(pid))
        time_passes(0.05)
    return peak


def test_slow_heads_are_not_awaited(server: tuple[Process, int]) -> None:
    _, port = server

    with another_agent(port) as seconds, connections(port, 800) as clients:
        send(clients, b"POST /mcp HTTP/1.1\r\nHost: localhost:1\r\nX: ")
        began = time.monotonic()
        closed = wait_for(lambda: all(map(is_closed, clients)), seconds=SOON)
        took = time.monotonic() - began

    assert closed
    assert took < HEAD_TIMEOUT + SOON
    assert seconds


def test_unread_answers_neither_exhaust_a_server_nor_take_its_calls(
    server: tuple[Process, int],
) -> None:
    process, port = server
    listing = request({**LISTING, "method": "tools/list"}, Connection="keep-alive")

    with connections(port, 300, receive_buffer=4096) as clients:
        send(clients, listing * 4)
        with another_agent(port) as seconds:
            time_passes(SENDING)
        peak = resident_megabytes(process.pid)

    # Each of its answers was 200: there are fewer calls at the same time than clients.
    assert seconds
    assert peak < MEMORY


HOSTILE = {
    "a header that is no ASCII": request(call(identifier="alfa"), X_Forwarded_For="café"),
    "many types": request(call("company_changes", types=["a"] * 5_000)),
    "types as a text": request(call("company_changes", types=json.dumps(["a"] * 5_000))),
    "a long text": request(call(identifier="a " * 90_000)),
    "many values": request(call(identifier="alfa", more=[{}] * 50_000)),
    "depth": request(b'{"a":' * 30_000 + b"1" + b"}" * 30_000),
    "digits": request(b'{"jsonrpc":"2.0","method":"tools/list","id":' + b"9" * 200_000 + b"}"),
    "a batch": request([LISTING] * 2_000),
    "unknown fields": request(call("lookup_company", **{f"a{n}": 1 for n in range(10_000)})),
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
def test_no_request_costs_a_server_much(server: tuple[Process, int], sent: bytes) -> None:
    process, port = server
    before = processor_seconds(process.pid)

    with connections(port, REQUESTS) as clients:
        for client in clients:
            client.settimeout(SOON)
            client.sendall(sent)
        wait_for_answers(clients, seconds=SOON)
    spent = processor_seconds(process.pid) - before

    assert spent < COST * REQUESTS
