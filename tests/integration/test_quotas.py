"""Rates of several gateways, counted in a real MongoDB; their time is a test's."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

import pytest

from common.mongo import Client, Database, connected, database
from gateway.access.keys import Rate
from gateway.access.limits import RateLimiter
from gateway.access.quota_rules import terms
from gateway.access.quotas import MongoQuotas
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON
from tests.fakes.gateway import ManualClock

pytestmark = pytest.mark.integration

RATE = Rate(60, 3600)
CLIENT = "192.0.2.7"
#: Seconds between two reads of recalls, and some for a window's start to be that of all gateways.
A_MOMENT = 0.25


class Gateways:
    """Gateways that have counted one another, with one clock."""

    def __init__(self, access: Database, clock: ManualClock) -> None:
        self.access = access
        self.clock = clock
        self.quotas: list[MongoQuotas] = []
        self.limiters: list[RateLimiter] = []
        #: Seconds for which requests have waited, each time.
        self.waits: list[float] = []
        self._names = count()

    async def start(self, number: int, rate: Rate = RATE) -> None:
        """Starts so many, and waits until each has counted the others."""
        for _ in range(number):
            quotas = MongoQuotas(
                self.access, instance=f"g{next(self._names)}", clock=self.clock, timeout=SOON
            )
            self.quotas.append(quotas)
            limiter = RateLimiter("key", rate, clock=self.clock, leases=quotas, sleep=self.wait)
            self.limiters.append(limiter)
        for _ in range(2):
            for each in self.quotas:
                await each.count_gateways()
        await self.next_window(rate)
        await self.next_window(rate)

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.pass_time(seconds)

    async def pass_time(self, seconds: float) -> None:
        for _ in range(2):
            self.clock.now += seconds / 2
            await asyncio.gather(*(each.follow_recalls() for each in self.quotas))

    async def next_window(self, rate: Rate = RATE, client: str = CLIENT) -> None:
        _, left = self.quotas[0].window(f"key:{client}", rate)
        await self.pass_time(left + A_MOMENT)

    async def allowed(self, order: Sequence[int], *, cost: int = 1) -> int:
        """Makes a request on each gateway of the order; returns how many were allowed."""
        return sum([(await self.limiters[n].take(CLIENT, cost)).allowed for n in order])

    async def written(self) -> int:
        return await self.access["quota_windows"].count_documents({})


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


@pytest.fixture
def gateways(access: Database) -> Gateways:
    return Gateways(access, ManualClock())


def in_turn(number: int, requests: int) -> list[int]:
    return [n % number for n in range(requests)]


async def test_one_gateway_allows_exactly_the_rate(gateways: Gateways) -> None:
    await gateways.start(1)

    assert await gateways.allowed(in_turn(1, 100)) == 60


async def test_a_client_of_one_gateway_among_three_gets_exactly_the_rate(
    gateways: Gateways,
) -> None:
    await gateways.start(3)

    assert await gateways.allowed([0] * 100) == 60


async def test_a_client_that_moves_to_another_gateway_gets_the_whole_rate(
    gateways: Gateways,
) -> None:
    await gateways.start(3)
    of_others = await gateways.allowed([1] * 20 + [2])

    assert 60 <= of_others + await gateways.allowed([0] * 100) <= 66


@pytest.mark.parametrize("number", [2, 3, 13])
@pytest.mark.parametrize(
    "rate", [Rate(1, 60), Rate(10, 60), RATE, Rate(300, 3600), Rate(50, 1)], ids=str
)
async def test_gateways_together_allow_the_rate_and_at_most_a_tenth_more(
    gateways: Gateways, number: int, rate: Rate
) -> None:
    await gateways.start(number, rate)

    total = await gateways.allowed(in_turn(number, 2 * rate.count + number))

    assert rate.count <= total <= rate.count * 1.1


async def test_gateways_asked_at_once_allow_no_more(gateways: Gateways) -> None:
    await gateways.start(3)

    totals = await asyncio.gather(*(gateways.allowed([n] * 60) for n in range(3)))

    assert 60 <= sum(totals) <= 66


@pytest.mark.parametrize("seed", range(8))
async def test_an_honest_client_is_never_refused_and_another_gets_at_most_a_tenth_more(
    gateways: Gateways, seed: int
) -> None:
    random = Random(seed)
    rate = Rate(random.choice([11, 60, 200, 600]), random.choice([60, 3600]))
    number = random.randint(1, 12)
    await gateways.start(number, rate)
    for _ in range(2):
        weights = [random.random() ** 4 for _ in range(number)]
        of_client = random.choices(range(number), weights, k=rate.count)
        allowed = 0
        for honest, order in ((True, of_client[: rate.count * 9 // 10]), (False, of_client * 2)):
            while order:
                some, order = order[: (size := random.randint(1, 30))], order[size:]
                of_these = await gateways.allowed(some)
                assert of_these == len(some) or not honest
                allowed += of_these
                if random.random() < 0.2:
                    await gateways.pass_time(random.random() * 0.3)
        assert rate.count <= allowed <= rate.count * 1.1
        await gateways.next_window(rate)


async def test_requests_beyond_the_rate_wait_twice_in_a_window_at_each_gateway_at_most(
    gateways: Gateways,
) -> None:
    await gateways.start(3)
    random = Random(1)

    for _ in range(60):
        await gateways.allowed(random.choices(range(3), k=10))
        await gateways.pass_time(random.random())

    assert 1 <= len(gateways.waits) <= 2 * 3
    assert max(gateways.waits) <= 1.0


async def test_a_recall_of_a_clock_that_is_ahead_delays_a_request_by_a_second_at_most(
    gateways: Gateways,
) -> None:
    await gateways.start(3)
    await gateways.allowed([0] * 40)
    ahead = datetime.now(UTC) + timedelta(days=1)
    await gateways.access["quota_windows"].update_many({}, {"$set": {"recalled": ahead}})

    await gateways.allowed([1] * 60)

    assert max(gateways.waits) <= 1.0


@pytest.mark.parametrize("number", [1, 3, 12, 30])
async def test_one_request_of_each_address_writes_nothing(gateways: Gateways, number: int) -> None:
    await gateways.start(number)

    for n in range(100):
        assert (await gateways.limiters[n % number].take(f"address {n}")).allowed

    assert await gateways.written() == 0
    assert terms(RATE, number).share * number <= RATE.count // 2


async def test_a_batch_of_a_hundred_passes_with_any_number_of_gateways(
    gateways: Gateways,
) -> None:
    await gateways.start(13, Rate(1200, 3600))

    assert 12 <= await gateways.allowed(in_turn(13, 20), cost=100) <= 13


async def test_a_gateway_that_crashes_forgets_at_most_a_tenth(gateways: Gateways) -> None:
    await gateways.start(2)
    before = await gateways.allowed([0] * 50)
    successor = RateLimiter("key", RATE, clock=gateways.clock, leases=gateways.quotas[0])
    gateways.limiters[0] = successor

    assert before + await gateways.allowed([1, 0] * 50) <= 66


async def test_a_gateway_that_ends_returns_its_leases(gateways: Gateways) -> None:
    await gateways.start(2)
    of_the_first = await gateways.allowed([0] * 10)

    await gateways.quotas[0].close()

    assert of_the_first + await gateways.allowed([1] * 60) >= 60


async def test_a_new_gateway_has_no_share_until_all_others_have_counted_it(
    gateways: Gateways, access: Database
) -> None:
    await gateways.start(3)
    new = MongoQuotas(access, instance="new", clock=gateways.clock, timeout=SOON)

    await new.count_gateways()
    window, _ = new.window(CLIENT, RATE)

    assert new.share(window, RATE) == 0
    gateways.clock.now += 2 * RATE.window
    assert new.share(new.window(CLIENT, RATE)[0], RATE) > 0


async def test_a_gateway_that_was_paused_reads_recalls_before_it_uses_its_share(
    gateways: Gateways,
) -> None:
    await gateways.start(3)
    await gateways.allowed([1] * 40)  # which recalls the shares

    gateways.clock.now += 0.7
    await gateways.allowed([0])

    window, _ = gateways.quotas[0].window(f"key:{CLIENT}", RATE)
    stored = await gateways.access["quota_windows"].find_one({"_id": window.id})
    assert stored is not None
    assert "g0" in stored["leases"]


async def test_a_pause_of_a_gateway_causes_no_writes(gateways: Gateways) -> None:
    await gateways.start(3)

    gateways.clock.now += 0.7

    assert await gateways.allowed([0] * 3) == 3
    assert await gateways.written() == 0


async def test_a_window_is_the_same_at_all_gateways(gateways: Gateways) -> None:
    await gateways.start(2, rate := Rate(6, 60))
    await gateways.allowed(in_turn(2, 10))

    reset = (await gateways.limiters[0].take(CLIENT)).reset
    _, left = gateways.quotas[1].window(f"key:{CLIENT}", rate)
    await gateways.next_window(rate)

    assert left <= reset <= left + 1
    assert await gateways.allowed(in_turn(2, 10)) == 6


async def test_without_the_database_each_gateway_counts_alone() -> None:
    unreachable = "mongodb://127.0.0.1:1/?replicaSet=rs0"
    async with connected(
        unreachable, name="test", operation_timeout=timedelta(seconds=1)
    ) as client:
        quotas = MongoQuotas(database(client, "access"), instance="alone")
        limiters = [RateLimiter("key", RATE, clock=ManualClock(), leases=quotas) for _ in range(2)]

        totals = [
            sum([(await limiter.take(CLIENT)).allowed for _ in range(100)]) for limiter in limiters
        ]

    assert totals == [60, 60]


async def test_a_quota_that_cannot_be_written_refuses_no_request(gateways: Gateways) -> None:
    await gateways.start(1)
    window, _ = gateways.quotas[0].window(f"key:{CLIENT}", RATE)
    # A document of another form stands for any error that is not an outage.
    ends = datetime.fromtimestamp(window.ends / 1000, UTC)
    await gateways.access["quota_windows"].insert_one(
        {"_id": window.id, "ends_at": ends, "used": "x", "held": 0, "leases": {}}
    )

    assert await gateways.allowed([0] * 100) == 60
