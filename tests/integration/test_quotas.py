"""Rates of several gateways, counted in a real MongoDB."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from common.mongo import Client, Database, connected, database
from gateway.access.keys import Rate
from gateway.access.limits import RateLimiter
from gateway.access.quotas import MongoQuotas
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON
from tests.fakes.gateway import ManualClock

pytestmark = pytest.mark.integration

RATE = Rate(60, 3600)
CLIENT = "192.0.2.7"
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


async def gateways(access: Database, count: int, rate: Rate = RATE) -> list[RateLimiter]:
    """Gateways that have counted one another."""
    quotas = [MongoQuotas(access, instance=str(number), timeout=SOON) for number in range(count)]
    for _ in range(2):
        for each in quotas:
            await each.count_gateways()
    return [RateLimiter("key", rate, clock=ManualClock(), leases=each) for each in quotas]


async def allowed(limiters: Sequence[RateLimiter], requests: int, *, cost: int = 1) -> int:
    """Makes requests on each gateway in turn; returns how many were allowed."""
    quotas = [await limiters[n % len(limiters)].take(CLIENT, cost) for n in range(requests)]
    return sum(quota.allowed for quota in quotas)


async def test_one_gateway_allows_exactly_the_rate(access: Database) -> None:
    assert await allowed(await gateways(access, 1), 100) == 60


async def test_a_client_of_one_gateway_among_three_gets_the_whole_rate(
    access: Database,
) -> None:
    first, second, third = await gateways(access, 3)
    of_others = await allowed([second, third], 2)

    assert 60 <= of_others + await allowed([first], 100) <= 72


@pytest.mark.parametrize("count", [2, 3, 13])
@pytest.mark.parametrize("rate", [Rate(60, 3600), Rate(1200, 3600)], ids=str)
async def test_gateways_together_allow_the_rate_and_at_most_a_fifth_more(
    access: Database, count: int, rate: Rate
) -> None:
    total = await allowed(await gateways(access, count, rate), 2 * rate.count)

    assert rate.count <= total <= rate.count * 1.2


async def test_gateways_asked_at_once_allow_no_more(access: Database) -> None:
    limiters = await gateways(access, 3)

    totals = await asyncio.gather(*(allowed([limiter], 60) for limiter in limiters))

    assert 60 <= sum(totals) <= 72


async def test_a_batch_of_a_hundred_passes_with_any_number_of_gateways(
    access: Database,
) -> None:
    rate = Rate(1200, 3600)

    assert 12 <= await allowed(await gateways(access, 13, rate), 20, cost=100) <= 14


async def test_a_window_ends_by_the_databases_clock(access: Database) -> None:
    rate = Rate(1, 1)
    limiters = await gateways(access, 2, rate)

    async with asyncio.timeout(10):
        while await allowed(limiters[:1], 1) == 0:
            pass
        # Each gateway's own clock stands still here, and the other one still finds a new window.
        while await allowed(await gateways(access, 1, rate), 1) == 0:
            pass


async def test_without_the_database_each_gateway_counts_alone() -> None:
    unreachable = "mongodb://127.0.0.1:1/?replicaSet=rs0"
    async with connected(
        unreachable, name="test", operation_timeout=timedelta(seconds=1)
    ) as client:
        quotas = MongoQuotas(database(client, "access"), instance="alone")
        limiters = [RateLimiter("key", RATE, clock=ManualClock(), leases=quotas) for _ in range(2)]

        totals = [await allowed([limiter], 100) for limiter in limiters]

    assert totals == [60, 60]


async def test_a_quota_that_cannot_be_written_refuses_no_request(access: Database) -> None:
    # A document of another form stands for any error that is not an outage.
    await access["quotas"].insert_one({"_id": f"key:{CLIENT}", "ends_at": LATER, "used": "x"})

    assert await allowed(await gateways(access, 1), 100) == 60
