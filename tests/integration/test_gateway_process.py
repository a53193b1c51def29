"""The gateway as a process: its commands, and serving while everything it needs is away."""

import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.domain.keys import parse_key, write_key
from local_stack.ports import free_ports
from local_stack.processes import wait_for
from local_stack.system import SOON, Service, System
from tests.builders.keys import a_presented_key
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

LOOKUP = "/api?country=dk&vat=12345674"

#: Seconds that a busy machine may add.
GRACE = 4.0


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[System]:
    """A system whose servers are away: nobody listens on their ports."""
    amqp, mongo = free_ports(2)
    system = System(
        tmp_path,
        f"amqp://guest:guest@127.0.0.1:{amqp}/",
        f"mongodb://127.0.0.1:{mongo}/?replicaSet=rs0",
        {},
    )
    yield system
    system.close()


def asked(port: int, path: str, key: str | None = None) -> tuple[int, Any]:
    """Status and JSON body of a GET on this machine."""
    connection = HTTPConnection("127.0.0.1", port, timeout=SOON)
    try:
        connection.request("GET", path, headers={} if key is None else {"X-API-Key": key})
        answer = connection.getresponse()
        return answer.status, orjson.loads(answer.read())
    finally:
        connection.close()


def started(system: System) -> Service:
    service = system.start("gateway")
    service.wait_until_ready()
    return service


def test_it_is_ready_whatever_is_away_and_says_what(alone: System) -> None:
    service = started(alone)

    status, body = asked(service.admin_port, "/readyz")

    assert status == 200
    assert body["checks"].keys() == {"broker_requests", "broker_replies", "database"}
    assert "ok" not in body["checks"].values()


@pytest.mark.parametrize("key", [None, write_key(a_presented_key())])
def test_clients_get_our_503_within_two_seconds(alone: System, key: str | None) -> None:
    started(alone)
    begun = time.monotonic()

    status, body = asked(alone.base_port, LOOKUP, key)

    assert (status, body["code"]) == (503, "service_unavailable")
    assert time.monotonic() - begun < 2 + GRACE


def test_silent_connections_shut_no_client_out(alone: System) -> None:
    service = alone.start("gateway", max_connections="50")
    service.wait_until_ready()
    silent = [
        socket.create_connection(("127.0.0.1", alone.base_port), timeout=SOON) for _ in range(200)
    ]

    status, _ = asked(alone.base_port, "/nothing")

    assert status == 404
    assert [connection.recv(1) for connection in silent[:100]] == [b""] * 100
    for connection in silent:
        connection.close()


def test_it_ends_when_told_to(alone: System) -> None:
    process = started(alone).process

    process.stop()

    assert process.exit_status == 0
    assert '"event":"service.stopped"' in alone.log_of("gateway")


def test_a_bad_setting_stops_it_with_a_sentence(alone: System) -> None:
    process = alone.start("gateway", key_rate="many").process

    ended = wait_for(lambda: process.exit_status is not None, seconds=SOON)

    assert ended
    assert process.exit_status == 2
    assert "setting KEY_RATE" in alone.log_of("gateway")


def test_a_command_says_when_the_database_is_away(alone: System) -> None:
    status, output, error = alone.run("gateway", "keys", "list")

    assert (status, output) == (1, "")
    assert error == "the database cannot be reached\n"


@pytest.fixture
def system(tmp_path: Path, mongo_url: str, database_names: DatabaseNames) -> Iterator[System]:
    """A system with a database, and no broker."""
    [amqp] = free_ports(1)
    running = System(
        tmp_path, f"amqp://guest:guest@127.0.0.1:{amqp}/", mongo_url, database_names.environment
    )
    yield running
    running.close()


def issue(system: System, *scopes: str) -> str:
    options = [part for scope in scopes for part in ("--scope", scope)]
    status, output, error = system.run(
        "gateway", "keys", "issue", "--owner", "acme", "--name", "nightly sync", *options
    )
    assert status == 0, error
    return output.removesuffix("\n")


def test_a_key_is_printed_alone_when_it_is_issued(system: System) -> None:
    key = issue(system, "lookup", "webhooks")

    assert parse_key(key) is not None


def test_keys_are_listed_without_their_secrets(system: System) -> None:
    key_id, _, secret = issue(system, "webhooks", "lookup").partition(".")

    _, output, _ = system.run("gateway", "keys", "list")

    (line,) = output.splitlines()
    assert line.split("\t")[:4] == [key_id, "acme", "nightly sync", "lookup,webhooks"]
    assert line.endswith("active")
    assert secret not in output


@pytest.mark.parametrize("owner", ["", "  ", "acme\tbeta", "acme\nbeta"])
def test_an_owner_that_would_break_the_list_is_wrong_use(system: System, owner: str) -> None:
    options = ("--owner", owner, "--name", "nightly sync", "--scope", "lookup")

    status, output, error = system.run("gateway", "keys", "issue", *options)

    assert (status, output) == (2, "")
    assert "argument --owner: must be one line and not empty" in error


def test_a_revoked_key_is_listed_as_such(system: System) -> None:
    key_id, _, _ = issue(system, "lookup").partition(".")

    revoked = system.run("gateway", "keys", "revoke", key_id)
    _, output, _ = system.run("gateway", "keys", "list")

    assert revoked == (0, "", "")
    assert "\trevoked " in output


def test_what_was_never_issued_cannot_be_revoked(system: System) -> None:
    status, _, error = system.run("gateway", "keys", "revoke", "0" * 24)

    assert status == 1
    assert error == f"there is no key {'0' * 24}\n"


def test_indexes_are_made_however_often(system: System) -> None:
    outcomes = [system.run("gateway", "indexes") for _ in range(2)]

    assert outcomes == [(0, "", "")] * 2


def test_a_revoked_key_stops_working_within_ten_seconds(system: System) -> None:
    key = issue(system, "lookup")
    started(system)
    before, _ = asked(system.base_port, LOOKUP, key)

    system.run("gateway", "keys", "revoke", key.partition(".")[0])
    stopped = wait_for(lambda: asked(system.base_port, LOOKUP, key)[0] == 401, seconds=10)

    assert before == 503  # good, so it was let through; nobody answers lookups here
    assert stopped
