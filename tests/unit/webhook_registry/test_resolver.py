"""Names are resolved in time, or count as unknown."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_address
from threading import Event

import pytest

from webhook_registry.destinations import SystemResolver, system_resolver

AMPLE = timedelta(seconds=10)


@pytest.fixture(name="busy")
def _busy() -> Iterator[ThreadPoolExecutor]:
    """One thread, which a name whose servers never answer keeps."""
    answered = Event()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(answered.wait)
        yield threads
        answered.set()


async def test_a_name_is_resolved_to_its_addresses() -> None:
    async with system_resolver(timeout=AMPLE) as resolver:
        addresses = await resolver.addresses("localhost", 443)

    assert {ip_address("127.0.0.1"), ip_address("::1")} & set(addresses)


@pytest.mark.parametrize("name", ["unknown.invalid", "a" * 64 + ".example", "a..example"])
async def test_a_name_that_cannot_be_resolved_has_no_addresses(name: str) -> None:
    async with system_resolver(timeout=AMPLE) as resolver:
        assert list(await resolver.addresses(name, 443)) == []


async def test_a_name_that_is_not_resolved_in_time_has_no_addresses(
    busy: ThreadPoolExecutor,
) -> None:
    resolver = SystemResolver(busy, timeout=timedelta(milliseconds=1))

    assert list(await resolver.addresses("localhost", 443)) == []
