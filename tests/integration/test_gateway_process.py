"""The gateway as a process: its commands, and serving without its dependencies."""

import socket
import time
from collections.abc import Iterator
from functools import partial
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
GRACE = 20.0


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[System]:
    """A system whose servers are unavailable: their ports are closed."""
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


def started(system: System, **settings: str) -> Service:
    """A gateway that serves clients; it may not be ready."""
    service = system.start("gateway", **settings)
    service.process.wait_until(partial(serves, system.base_port), seconds=SOON)
    return service


def serves(port: int) -> bool:
    try:
        return asked(port, "/nothing")[0] == 404
    except OSError:
        return False


def rejects_us(admin_port: int) -> bool:
    _, body = asked(admin_port, "/readyz")
    return bool(body["checks"]["database"] == "the database rejects this service's credentials")


def test_it_is_not_ready_before_it_has_reached_each_dependency(alone: System) -> None:
    service = started(alone)

    status, body = asked(service.admin_port, "/readyz")

    assert status == 503
    assert body["checks"].keys() == {"broker_requests", "broker_replies", "database"}
    assert "ok" not in body["checks"].values()


def test_a_rejected_password_of_the_database_is_a_failed_check(
    tmp_path: Path, mongo_url: str, database_names: DatabaseNames
) -> None:
    wrong = mongo_url.replace("mongodb://", "mongodb://gateway:wrong@")
    running = System(tmp_path, "amqp://guest:guest@127.0.0.1:1/", wrong, database_names.environment)
    try:
        service = started(running)
        rejected = wait_for(partial(rejects_us, service.admin_port), seconds=SOON)
        status, _ = asked(service.admin_port, "/readyz")
        refused, problem = asked(running.base_port, LOOKUP, write_key(a_presented_key()))
        log = running.log_of("gateway")
    finally:
        running.close()

    assert rejected
    assert status == 503
    assert "Authentication failed" in log
    assert (refused, problem["code"]) == (503, "service_unavailable")


@pytest.mark.parametrize("key", [None, write_key(a_presented_key())])
def test_clients_receive_a_503_within_two_seconds(alone: System, key: str | None) -> None:
    started(alone)
    begun = time.monotonic()

    status, body = asked(alone.base_port, LOOKUP, key)

    assert (status, body["code"]) == (503, "service_unavailable")
    assert time.monotonic() - begun < 2 + GRACE


def test_silent_connections_do_not_shut_out_clients(alone: System) -> None:
    started(alone, max_connections="50")
    silent = [
        socket.create_connection(("127.0.0.1", alone.base_port), timeout=SOON) for _ in range(200)
    ]

    status, _ = asked(alone.base_port, "/nothing")

    assert status == 404
    assert [connection.recv(1) for connection in silent[:100]] == [b""] * 100
    for connection in silent:
        connection.close()


def test_it_ends_on_sigterm(alone: System) -> None:
    process = started(alone).process

    process.stop()

    assert process.exit_status == 0
    assert '"event":"service.stopped"' in alone.log_of("gateway")


def test_an_invalid_setting_prevents_the_start_with_a_message(alone: System) -> None:
    process = alone.start("gateway", key_rate="many").process

    ended = wait_for(lambda: process.exit_status is not None, seconds=SOON)

    assert ended
    assert process.exit_status == 2
    assert "setting KEY_RATE" in alone.log_of("gateway")


def test_a_command_reports_an_unavailable_database(alone: System) -> None:
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
    assert line.split("\t")[5:] == ["active", "default rate"]
    assert secret not in output


@pytest.mark.parametrize("owner", ["", "  ", "acme\tbeta", "acme\nbeta"])
def test_an_owner_that_would_break_the_list_is_wrong_usage(system: System, owner: str) -> None:
    options = ("--owner", owner, "--name", "nightly sync", "--scope", "lookup")

    status, output, error = system.run("gateway", "keys", "issue", *options)

    assert (status, output) == (2, "")
    assert "argument --owner: must be one line and not empty" in error


def test_a_key_is_listed_with_its_rate_and_its_end(system: System) -> None:
    options = ("--owner", "acme", "--name", "sync", "--scope", "lookup")
    system.run("gateway", "keys", "issue", *options, "--rate", "7/hour", "--expires", "2999-01-01")

    _, output, _ = system.run("gateway", "keys", "list")

    assert output.split("\t")[5:] == ["expires 2999-01-01T00:00:00Z", "7 in 3600 s\n"]


@pytest.mark.parametrize(
    "option, value", [("--rate", "many"), ("--expires", "soon"), ("--expires", "2001-01-01")]
)
def test_an_invalid_rate_or_end_is_wrong_usage(system: System, option: str, value: str) -> None:
    options = ("--owner", "acme", "--name", "sync", "--scope", "lookup")

    status, output, error = system.run("gateway", "keys", "issue", *options, option, value)

    assert (status, output) == (2, "")
    assert f"argument {option}:" in error


def test_a_revoked_key_is_listed_as_revoked(system: System) -> None:
    key_id, _, _ = issue(system, "lookup").partition(".")

    revoked = system.run("gateway", "keys", "revoke", key_id)
    _, output, _ = system.run("gateway", "keys", "list")

    assert revoked == (0, "", "")
    assert "\trevoked " in output


def test_an_unknown_key_cannot_be_revoked(system: System) -> None:
    status, _, error = system.run("gateway", "keys", "revoke", "0" * 24)

    assert status == 1
    assert error == f"there is no key {'0' * 24}\n"


def test_creating_indexes_is_repeatable(system: System) -> None:
    outcomes = [system.run("gateway", "indexes") for _ in range(2)]

    assert outcomes == [(0, "", "")] * 2


def test_a_revoked_key_stops_working_within_ten_seconds(system: System) -> None:
    key = issue(system, "lookup")
    started(system)
    before, _ = asked(system.base_port, LOOKUP, key)

    system.run("gateway", "keys", "revoke", key.partition(".")[0])
    stopped = wait_for(lambda: asked(system.base_port, LOOKUP, key)[0] == 401, seconds=10 + GRACE)

    assert before == 503  # the key is valid, and no lookup service runs
    assert stopped
