"""API keys and rates, the cache of keys, the address of a client, and the count of its requests."""

import asyncio
from datetime import timedelta
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.clients import client_of
from common.runtime.public_port.rates import Rate, RateLimiter, parse_rate
from gateway.access.keys import ApiKey, CachedApiKeys, PresentedKey, parse_key, write_key
from gateway.problems import ServiceUnavailable
from tests.builders.keys import NOON, a_presented_key, an_api_key
from tests.fakes.gateway import FakeApiKeys, ManualClock, database_unavailable

KEY = an_api_key()
PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def test_a_key_is_read_as_it_is_written() -> None:
    key = a_presented_key(7)

    assert parse_key(write_key(key)) == key


ID, SECRET = "0" * 24, "s" * 43


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", ID, f"{ID}.", f"$where.{SECRET}", f" {ID}.{SECRET}", f"{ID[1:]}g.{SECRET}"),
        *(f"{ID}.{secret}" for secret in (SECRET[1:], f"{SECRET}s", f"{SECRET[1:]}æ")),
    ],
)
def test_a_malformed_key_is_rejected_without_a_read(text: str) -> None:
    assert parse_key(text) is None


def test_neither_form_of_a_key_shows_its_secret() -> None:
    presented = PresentedKey(id=ID, secret="secret-" * 6 + "s")

    assert "secret-" not in repr(presented) + repr(an_api_key(presented))


@pytest.mark.parametrize("seconds, accepted", [(-1, True), (0, False)])
def test_a_key_is_accepted_until_it_expires(seconds: int, *, accepted: bool) -> None:
    key = a_presented_key()
    stored = an_api_key(key, expires_at=NOON)

    assert stored.accepts(key, at=NOON + timedelta(seconds=seconds)) is accepted


@pytest.mark.parametrize(
    "text, rate",
    [("60/minute", Rate(60, 60)), ("1/second", Rate(1, 1)), ("5000/hour", Rate(5000, 3600))],
)
def test_a_rate_is_a_count_in_a_unit_of_time(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "60", "0/minute", "-1/second", "60/day", "1.5/second", "60 / minute"]
)
def test_any_other_notation_of_a_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="60/minute"):
        parse_rate(text)


def test_a_rate_is_logged_in_words() -> None:
    assert str(Rate(60, 60)) == "60 in 60 s"


@pytest.mark.parametrize(
    "peer, forwarded, client",
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.1", "10.2.3.4"], "198.51.100.1"),
        ("10.0.0.1", ["10.2.3.4"], "10.2.3.4"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1", "unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::/64"),
        ("fd00::1", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", [], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("::ffff:192.0.2.7", [], "192.0.2.7"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        (None, ["198.51.100.1"], "local"),
        ("", [], "local"),
    ],
)
def test_the_client_is_the_nearest_untrusted_address(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    assert client_of(peer, forwarded, PROXIES) == client


@given(st.lists(st.text(max_size=20), max_size=4))
def test_forwarded_addresses_of_an_untrusted_peer_are_ignored(forwarded: list[str]) -> None:
    assert client_of("192.0.2.7", forwarded, PROXIES) == "192.0.2.7"


@given(st.lists(st.text(max_size=20) | st.ip_addresses().map(str), max_size=4))
def test_any_header_yields_a_client(forwarded: list[str]) -> None:
    assert client_of("10.0.0.1", forwarded, PROXIES)


# The cache of keys


@pytest.fixture
def store() -> FakeApiKeys:
    return FakeApiKeys({KEY.id: KEY})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cached(store: FakeApiKeys, clock: ManualClock) -> CachedApiKeys:
    return CachedApiKeys(store, clock=clock, max_keys=2)


@pytest.mark.parametrize("key_id, found", [(KEY.id, KEY), ("made-up", None)])
async def test_a_key_is_read_once_in_its_lifetime_and_an_unknown_one_too(
    store: FakeApiKeys, cached: CachedApiKeys, key_id: str, found: object
) -> None:
    assert [await cached.get(key_id) for _ in range(3)] == [found] * 3
    assert store.reads == [key_id]


async def test_a_revocation_is_visible_after_five_seconds(
    store: FakeApiKeys, clock: ManualClock, cached: CachedApiKeys
) -> None:
    await cached.get(KEY.id)

    await store.revoke(KEY.id, at=NOON)
    before = await cached.get(KEY.id)
    clock.now += 5
    after = await cached.get(KEY.id)

    assert (before, after) == (KEY, store.keys[KEY.id])
    assert store.keys[KEY.id].revoked_at == NOON


async def test_made_up_keys_do_not_evict_valid_ones(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    for key_id in (KEY.id, *(f"made-up {number}" for number in range(10)), KEY.id):
        await cached.get(key_id)

    assert store.reads.count(KEY.id) == 1


async def test_the_number_of_cached_keys_is_bounded(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    store.keys = {key_id: an_api_key(id=key_id) for key_id in "012"}

    for key_id in "01220":
        await cached.get(key_id)

    assert store.reads == ["0", "1", "2", "0"]


async def test_a_key_works_without_the_database_for_its_lifetime_only(
    store: FakeApiKeys, clock: ManualClock, cached: CachedApiKeys
) -> None:
    await cached.get(KEY.id)

    store.fault = database_unavailable()
    clock.now += 1.9

    assert await cached.get(KEY.id) == KEY
    clock.now += 0.1
    with pytest.raises(ServiceUnavailable):
        await cached.get(KEY.id)


async def waiting(store: FakeApiKeys, cached: CachedApiKeys) -> list[asyncio.Task[ApiKey | None]]:
    """Three requests that wait for the same read."""
    store.gate.clear()
    finds = [asyncio.ensure_future(cached.get(KEY.id)) for _ in range(3)]
    await asyncio.sleep(0)
    return finds


async def test_concurrent_requests_with_the_same_key_share_one_read(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    finds = await waiting(store, cached)

    store.gate.set()

    assert await asyncio.gather(*finds) == [KEY] * 3
    assert store.reads == [KEY.id]


async def test_all_waiting_requests_fail_when_the_database_is_unavailable(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    finds = await waiting(store, cached)
    store.fault = database_unavailable()

    store.gate.set()
    outcomes = await asyncio.gather(*finds, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ServiceUnavailable] * 3


async def test_a_cancelled_request_does_not_cancel_the_shared_read(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    first, second, third = await waiting(store, cached)

    second.cancel()
    store.gate.set()

    assert await first == await third == KEY


async def test_when_the_reading_request_is_cancelled_another_reads(
    store: FakeApiKeys, cached: CachedApiKeys
) -> None:
    first, *others = await waiting(store, cached)

    first.cancel()
    store.gate.set()

    assert await asyncio.gather(*others) == [KEY, KEY]
    with pytest.raises(asyncio.CancelledError):
        await first


# The count of requests


def a_limiter(clock: ManualClock, count: int = 2, max_clients: int = 1000) -> RateLimiter:
    return RateLimiter("anonymous", Rate(count, 60), clock=clock, max_clients=max_clients)


async def test_the_window_begins_with_the_first_request_and_ends_after_its_length(
    clock: ManualClock,
) -> None:
    limiter = a_limiter(clock, count=1)
    limiter.take("192.0.2.7")

    clock.now += 59.5
    late = limiter.take("192.0.2.7")
    clock.now += 0.5
    anew = limiter.take("192.0.2.7")

    assert (late.allowed, late.reset, anew.allowed) == (False, 1, True)


async def test_reading_the_quota_counts_nothing(clock: ManualClock) -> None:
    limiter = a_limiter(clock, count=1)

    states = [limiter.look("192.0.2.7").state for _ in range(3)]

    assert states == ['"anonymous";r=1;t=0'] * 3
    assert (limiter.take("192.0.2.7")).allowed


async def test_idle_clients_are_dropped(clock: ManualClock) -> None:
    limiter = a_limiter(clock)
    for number in range(100):
        limiter.take(f"client {number}")

    clock.now += 60
    limiter.take("another")

    assert limiter.clients == 1


async def test_the_number_of_clients_is_bounded(clock: ManualClock) -> None:
    limiter = a_limiter(clock, max_clients=10)

    for number in range(100):
        limiter.take(f"client {number}")

    assert limiter.clients == 10
    assert (limiter.take("client 99")).state == '"anonymous";r=0;t=60'
    assert (limiter.take("client 0")).state == '"anonymous";r=1;t=60'


async def test_a_full_table_drops_no_window_for_a_known_client(clock: ManualClock) -> None:
    limiter = a_limiter(clock, count=5, max_clients=2)

    states = [(limiter.take(client)).state for client in ("a", "b", "b", "a")]

    assert [state.split(";")[1] for state in states] == ["r=4", "r=4", "r=3", "r=3"]
