"""Counting requests by client."""

from gateway.access.keys import Rate
from gateway.access.limits import RateLimiter
from tests.fakes.gateway import ManualClock


def a_limiter(clock: ManualClock, *, count: int = 2) -> RateLimiter:
    return RateLimiter("anonymous", Rate(count, 60), clock=clock)


async def test_the_window_begins_with_the_first_request_and_ends_after_its_length() -> None:
    clock = ManualClock()
    limiter = a_limiter(clock, count=1)
    await limiter.take("192.0.2.7")

    clock.now += 59.5
    late = await limiter.take("192.0.2.7")
    clock.now += 0.5
    anew = await limiter.take("192.0.2.7")

    assert not late.allowed
    assert late.reset == 1
    assert anew.allowed


async def test_reading_the_quota_counts_nothing() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    states = [limiter.look("192.0.2.7").state for _ in range(3)]

    assert states == ['"anonymous";r=1;t=0'] * 3
    assert (await limiter.take("192.0.2.7")).allowed


async def test_idle_clients_are_dropped() -> None:
    clock = ManualClock()
    limiter = a_limiter(clock)
    for number in range(100):
        await limiter.take(f"client {number}")

    clock.now += 60
    await limiter.take("another")

    assert limiter.clients == 1


async def test_the_number_of_clients_is_bounded() -> None:
    limiter = RateLimiter("anonymous", Rate(2, 60), clock=ManualClock(), max_clients=10)

    for number in range(100):
        await limiter.take(f"client {number}")

    assert limiter.clients == 10
    assert (await limiter.take("client 99")).state == '"anonymous";r=0;t=60'
    assert (await limiter.take("client 0")).state == '"anonymous";r=1;t=60'


async def test_a_full_table_drops_no_window_for_a_known_client() -> None:
    limiter = RateLimiter("anonymous", Rate(5, 60), clock=ManualClock(), max_clients=2)

    states = [(await limiter.take(client)).state for client in ("a", "b", "b", "a")]

    assert [state.split(";")[1] for state in states] == ["r=4", "r=4", "r=3", "r=3"]
