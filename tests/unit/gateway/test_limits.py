"""Counting requests by client."""

from gateway.adapters.http.limits import RateLimiter
from gateway.domain.rates import Rate
from tests.fakes.gateway import ManualClock


def a_limiter(clock: ManualClock, *, count: int = 2) -> RateLimiter:
    return RateLimiter("anonymous", Rate(count, 60), clock=clock)


async def test_requests_pass_until_the_rate_is_used_up() -> None:
    limiter = a_limiter(ManualClock())

    allowed = [(await limiter.take("192.0.2.7")).allowed for _ in range(3)]

    assert allowed == [True, True, False]


async def test_clients_are_counted_apart() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    assert (await limiter.take("192.0.2.7")).allowed
    assert (await limiter.take("192.0.2.8")).allowed


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


async def test_the_quota_is_reported_in_structured_fields() -> None:
    limiter = a_limiter(ManualClock(), count=5)

    quota = await limiter.take("192.0.2.7")

    assert quota.policy == '"anonymous";q=5;w=60'
    assert quota.state == '"anonymous";r=4;t=60'


async def test_remaining_quota_is_never_negative() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    for _ in range(3):
        quota = await limiter.take("192.0.2.7")

    assert quota.state == '"anonymous";r=0;t=60'


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


async def test_several_requests_count_if_all_of_them_fit_and_else_none_does() -> None:
    limiter = a_limiter(ManualClock(), count=5)

    allowed = [(await limiter.take("192.0.2.7", cost)).allowed for cost in (3, 3, 2, 1)]

    assert allowed == [True, False, True, False]
