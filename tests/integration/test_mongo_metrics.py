"""Metrics of a client's pool and commands."""

import uuid
from collections.abc import AsyncIterator

import pytest
from prometheus_client import REGISTRY
from pymongo.errors import OperationFailure

from common.mongo import Client, connected

pytestmark = pytest.mark.integration

NAME = f"measured-{uuid.uuid4().hex}"


def value(metric: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(metric, {"client": NAME, **labels}) or 0.0


def commands(command: str, outcome: str) -> float:
    metric = "mongodb_command_duration_seconds_count"
    return value(metric, command=command, outcome=outcome)


@pytest.fixture
async def client(mongo_url: str) -> AsyncIterator[Client]:
    async with connected(mongo_url, name=NAME) as client:
        yield client


async def test_commands_are_counted_by_their_outcome(client: Client) -> None:
    pings, failures = commands("ping", "succeeded"), commands("nothing", "failed")

    await client.admin.command("ping")
    with pytest.raises(OperationFailure):
        await client.admin.command("nothing")

    assert commands("ping", "succeeded") == pings + 1
    assert commands("nothing", "failed") == failures + 1


async def test_connections_are_counted_while_they_are_open_and_in_use(mongo_url: str) -> None:
    async with connected(mongo_url, name=NAME) as client:
        waits = value("mongodb_pool_wait_seconds_count")
        await client.admin.command("ping")

        assert value("mongodb_pool_wait_seconds_count") == waits + 1
        assert value("mongodb_pool_connections") == 1
        assert value("mongodb_pool_connections_in_use") == 0

    assert value("mongodb_pool_connections") == 0


async def test_an_operation_that_gets_no_connection_is_counted(client: Client) -> None:
    reasons = ("timeout", "connection_error", "pool_closed")

    found = {r: value("mongodb_pool_wait_failures_total", reason=r) for r in reasons}

    assert found == dict.fromkeys(reasons, 0.0)
