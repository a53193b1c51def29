"""The database's clock."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from common.contracts.failures import Unavailable
from common.mongo import Client, DatabaseClock, connected, database_clock

pytestmark = pytest.mark.integration


@pytest.fixture(name="client")
async def _client(mongo_url: str) -> AsyncIterator[Client]:
    async with connected(mongo_url, name="test", operation_timeout=timedelta(seconds=30)) as client:
        yield client


class Steady:
    """A steady clock that stands still until it is moved."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


async def time_of(client: Client) -> datetime:
    """The time by an aggregation's own `$$NOW`."""
    now = await client.admin.aggregate([{"$documents": [{"now": "$$NOW"}]}])
    found: datetime = (await now.next())["now"]
    return found


async def test_it_returns_the_time_of_the_database_instead_of_this_machine(
    client: Client,
) -> None:
    clocks = [DatabaseClock(client, steady=Steady(at)) for at in (0.0, 1e9)]
    before = await time_of(client)
    await asyncio.gather(*(clock.measure() for clock in clocks))
    after = await time_of(client)

    assert all(before <= clock() <= after for clock in clocks)


async def test_between_measurements_it_follows_the_monotonic_clock(client: Client) -> None:
    steady = Steady(7.0)
    clock = DatabaseClock(client, steady=steady)
    await clock.measure()
    first = clock()

    steady.at += 40

    assert clock() == first + timedelta(seconds=40)


async def test_a_slow_measurement_is_ignored(client: Client) -> None:
    ticks = iter([0.0] * 4 + [102.0])
    clock = DatabaseClock(client, steady=lambda: next(ticks, 0.0))
    await clock.measure()
    first = clock()

    await clock.measure()

    assert clock() == first


async def test_the_body_starts_after_the_first_measurement(client: Client) -> None:
    async with database_clock(client) as clock:
        assert clock().tzinfo is not None


async def test_an_unresponsive_database_raises_unavailable() -> None:
    async with connected("mongodb://127.0.0.1:1/?replicaSet=rs0", name="test") as client:
        with pytest.raises(Unavailable):
            await DatabaseClock(client).measure()


async def test_a_wrong_wall_clock_is_reported(client: Client) -> None:
    steady = Steady(0.0)
    clock = DatabaseClock(client, steady=steady)
    await clock.measure()
    right = await clock.check()

    steady.at = 40
    behind = await clock.check()
    steady.at = -40
    ahead = await clock.check()

    assert right is None
    assert behind is not None
    assert behind.endswith("behind the database's clock")
    assert ahead is not None
    assert ahead.endswith("ahead of the database's clock")
