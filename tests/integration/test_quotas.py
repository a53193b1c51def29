"""Rates of several gateways, added up in a real MongoDB; their time is a test's."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from common.contracts.failures import Unavailable
from common.mongo import Client, Database, connected, database
from common.runtime.public_port.rates import Rate, RateLimiter
from gateway.access.quotas import REPORT_EVERY, SharedQuotas
from tests.conftest import DatabaseNames
from tests.fakes.gateway import ManualClock

pytestmark = pytest.mark.integration

RATE = Rate(60, 3600)
CLIENT = "192.0.2.7"
#: The requests of a second at each gateway.
A_SECOND = 2


class Gateways:
    """Gateways that have counted one another, with one clock."""

    def __init__(self, access: Database, clock: ManualClock, number: int, rate: Rate) -> None:
        self.access = access
        self.clock = clock
        self.quotas = [SharedQuotas(access, instance=f"g{n}", clock=clock) for n in range(number)]
        self.limiters: list[RateLimiter] = [each.limiter("key", rate) for each in self.quotas]

    async def count(self) -> None:
        for each in [*self.quotas, *self.quotas]:
            await each.count_gateways()

    async def requests(self, order: Sequence[int], *, cost: int = 1) -> int:
        """Makes a request at each gateway of the order, reports; returns how many were allowed."""
        allowed = sum(self.limiters[n].take(CLIENT, cost).allowed for n in order)
        await self.second()
        return allowed

    async def second(self) -> None:
        self.clock.now += REPORT_EVERY
        for each in self.quotas:
            await each.report()

    async def written(self) -> int:
        return await self.access["quota_windows"].count_documents({})


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


async def started(access: Database, number: int, rate: Rate = RATE) -> Gateways:
    gateways = Gateways(access, ManualClock(), number, rate)
    await gateways.count()
    return gateways


def seconds(number: int, requests: int) -> list[list[int]]:
    """A second's requests each: `A_SECOND` at each gateway."""
    order = [n % number for n in range(requests)]
    step = A_SECOND * number
    return [order[n : n + step] for n in range(0, requests, step)]


@pytest.mark.parametrize("number", [1, 3])
async def test_a_client_of_one_gateway_gets_exactly_the_rate(access: Database, number: int) -> None:
    gateways = await started(access, number)

    assert sum([await gateways.requests([0] * 10) for _ in range(10)]) == 60


@pytest.mark.parametrize("number", [2, 3, 13])
@pytest.mark.parametrize("rate", [Rate(1, 60), Rate(10, 60), RATE, Rate(300, 3600)], ids=str)
async def test_gateways_together_allow_the_rate_and_at_most_half_and_a_second_more(
    access: Database, number: int, rate: Rate
) -> None:
    gateways = await started(access, number, rate)

    allowed = sum([await gateways.requests(one) for one in seconds(number, 4 * rate.count)])

    assert rate.count <= allowed <= max(rate.count * 3 // 2, number) + A_SECOND * number


async def test_a_client_that_moves_to_another_gateway_takes_its_use_along(access: Database) -> None:
    gateways = await started(access, 2)
    await gateways.requests([0] * 40)

    # The first request beyond the share reads what the other gateway has counted.
    of_the_other = await gateways.requests([1] * 16) + await gateways.requests([1] * 60)

    assert of_the_other == 20


async def test_a_refused_request_counts_nothing_and_a_smaller_one_still_fits(
    access: Database,
) -> None:
    gateways = await started(access, 2)
    await gateways.requests([0], cost=50)

    assert await gateways.requests([0], cost=11) == 0
    assert await gateways.requests([0], cost=10) == 1


async def test_clients_within_their_share_are_not_written(access: Database) -> None:
    gateways = await started(access, 3)

    for n in range(300):
        gateways.limiters[n % 3].take(f"address {n}")
    await gateways.requests([0] * 10)

    assert await gateways.written() == 0
    await gateways.requests([0])
    assert await gateways.written() == 1


async def test_a_window_ends_at_all_gateways_at_once(access: Database) -> None:
    gateways = await started(access, 2)
    for _ in range(3):
        await gateways.requests([0] * 30)
    await gateways.requests([1] * 60)

    gateways.clock.now += gateways.limiters[0].look(CLIENT).reset

    assert [limiter.take(CLIENT, 60).allowed for limiter in gateways.limiters] == [True, True]


async def test_a_silent_gateway_no_longer_divides_the_rate(access: Database) -> None:
    gateways = await started(access, 3)
    assert gateways.quotas[0].share(RATE) == 10

    gateways.clock.now += 31
    await gateways.quotas[0].count_gateways()

    assert gateways.quotas[0].share(RATE) == 30


async def test_rates_per_second_are_counted_in_each_gateway(access: Database) -> None:
    gateways = await started(access, 2, Rate(5, 1))

    assert [sum(each.take(CLIENT).allowed for _ in range(9)) for each in gateways.limiters] == [
        5,
        5,
    ]
    await gateways.quotas[0].report()
    assert await gateways.written() == 0


async def test_without_the_database_each_gateway_counts_alone() -> None:
    unreachable = "mongodb://127.0.0.1:1/?replicaSet=rs0"
    async with connected(
        unreachable, name="test", operation_timeout=timedelta(seconds=0.1)
    ) as client:
        quotas = SharedQuotas(database(client, "access"), instance="alone", clock=ManualClock())
        limiter = quotas.limiter("key", RATE)

        allowed = sum(limiter.take(CLIENT).allowed for _ in range(40))
        with pytest.raises(Unavailable):
            await quotas.report()
        allowed += sum(limiter.take(CLIENT).allowed for _ in range(40))

    assert allowed == 60
