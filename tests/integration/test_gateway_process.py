"""The gateway as a process, without its dependencies."""

import time
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.access.keys import write_key
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


def test_without_its_dependencies_it_answers_in_time_and_serves_on_for_the_delay_of_a_shutdown(
    alone: System,
) -> None:
    service = started(alone, SHUTDOWN_DELAY="PT1H")
    begun = time.monotonic()

    problems = [asked(alone.base_port, LOOKUP, key) for key in (None, write_key(a_presented_key()))]
    waited = time.monotonic() - begun
    status, body = asked(service.admin_port, "/readyz")
    service.process.terminate()
    is_stopping = wait_for(lambda: "service.stopping" in alone.log_of("gateway"), seconds=SOON)
    serves_on = serves(alone.base_port)
    service.process.kill()

    assert [(status, body["code"]) for status, body in problems] == [
        (503, "service_unavailable")
    ] * 2
    assert waited < 2 * 2 + GRACE
    assert status == 503
    assert body["checks"].keys() == {"broker", "database", "lookups"}
    # It is not known whether servers answer another gateway, so that does not count.
    assert body["checks"].pop("lookups") == "ok"
    assert "ok" not in body["checks"].values()
    assert is_stopping
    assert serves_on


def test_a_rejected_password_of_the_database_is_a_failed_check(
    tmp_path: Path, mongo_url: str, database_names: DatabaseNames
) -> None:
    wrong = mongo_url.replace("mongodb://", "mongodb://gateway:wrong@")
    running = System(tmp_path, "amqp://guest:guest@127.0.0.1:1/", wrong, database_names.environment)
    try:
        service = started(running)
        # The driver is told so by the first of them only.
        checks = [asked(service.admin_port, "/readyz") for _ in range(2)]
        refused, problem = asked(running.base_port, LOOKUP, write_key(a_presented_key()))
        log = running.log_of("gateway")
    finally:
        running.close()

    result = "the database rejects this service's credentials"
    assert [(status, body["checks"]["database"]) for status, body in checks] == [(503, result)] * 2
    assert "Authentication failed" in log
    assert (refused, problem["code"]) == (503, "service_unavailable")
