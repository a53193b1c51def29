"""Counting requests by client."""

from gateway.adapters.http.limits import RateLimiter
from gateway.domain.rates import Rate
from tests.fakes.gateway import ManualClock


def a_limiter(clock: ManualClock, *, count: int = 2) -> RateLimiter:
    return RateLimiter("anonymous", Rate(count, 60), clock=clock)


def test_requests_pass_until_the_rate_is_used_up() -> None:
    limiter = a_limiter(ManualClock())

    allowed = [limiter.take("192.0.2.7").allowed for _ in range(3)]

    assert allowed == [True, True, False]


def test_clients_are_counted_apart() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    assert limiter.take("192.0.2.7").allowed
    assert limiter.take("192.0.2.8").allowed


def test_the_window_begins_with_the_first_request_and_ends_after_its_length() -> None:
    clock = ManualClock()
    limiter = a_limiter(clock, count=1)
    limiter.take("192.0.2.7")

    clock.now += 59.5
    late = limiter.take("192.0.2.7")
    clock.now += 0.5
    anew = limiter.take("192.0.2.7")

    assert not late.allowed
    assert late.reset == 1
    assert anew.allowed


def test_the_quota_is_reported_in_structured_fields() -> None:
    limiter = a_limiter(ManualClock(), count=5)

    quota = limiter.take("192.0.2.7")

    assert quota.policy == '"anonymous";q=5;w=60'
    assert quota.state == '"anonymous";r=4;t=60'


def test_remaining_quota_is_never_negative() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    for _ in range(3):
        quota = limiter.take("192.0.2.7")

    assert quota.state == '"anonymous";r=0;t=60'


def test_reading_the_quota_counts_nothing() -> None:
    limiter = a_limiter(ManualClock(), count=1)

    states = [limiter.look("192.0.2.7").state for _ in range(3)]

    assert states == ['"anonymous";r=1;t=0'] * 3
    assert limiter.take("192.0.2.7").allowed


def test_idle_clients_are_dropped() -> None:
    clock = ManualClock()
    limiter = a_limiter(clock)
    for number in range(100):
        limiter.take(f"client {number}")

    clock.now += 60
    limiter.take("another")

    assert limiter.clients == 1


def test_the_number_of_clients_is_bounded() -> None:
    limiter = RateLimiter("anonymous", Rate(2, 60), clock=ManualClock(), most=10)

    for number in range(100):
        limiter.take(f"client {number}")

    assert limiter.clients == 10
    assert limiter.take("client 99").state == '"anonymous";r=0;t=60'
    assert limiter.take("client 0").state == '"anonymous";r=1;t=60'


def test_a_full_table_drops_no_window_for_a_known_client() -> None:
    limiter = RateLimiter("anonymous", Rate(5, 60), clock=ManualClock(), most=2)

    states = [limiter.take(client).state for client in ("a", "b", "b", "a")]

    assert [state.split(";")[1] for state in states] == ["r=4", "r=4", "r=3", "r=3"]


def test_several_requests_count_if_all_of_them_fit_and_else_none_does() -> None:
    limiter = a_limiter(ManualClock(), count=5)

    allowed = [limiter.take("192.0.2.7", cost).allowed for cost in (3, 3, 2, 1)]

    assert allowed == [True, False, True, False]
