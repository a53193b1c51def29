"""Translation of the libraries' errors in broker calls."""

import asyncio

import pytest
from aiormq.exceptions import ConnectionClosed

from common.messaging.errors import BrokerUnavailable, broker_calls


async def lost(begun: asyncio.Event) -> None:
    """A call whose cancellation the library replaces by a lost connection."""
    try:
        begun.set()
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ConnectionClosed(320, "CONNECTION_FORCED") from None


async def call(begun: asyncio.Event) -> None:
    with broker_calls():
        await lost(begun)


@pytest.mark.parametrize("error", [ConnectionClosed(320, ""), OSError(), Exception()])
def test_every_library_error_is_broker_unavailable(error: Exception) -> None:
    async def fail() -> None:
        with broker_calls():
            raise error

    with pytest.raises(BrokerUnavailable):
        asyncio.run(fail())


async def test_messages_never_contain_the_brokers_address_or_queues() -> None:
    error = ConnectionClosed(404, "NOT_FOUND - no queue 'inner' in vhost 'secret'")

    with pytest.raises(BrokerUnavailable) as caught, broker_calls():
        raise error

    assert str(caught.value) == "the broker cannot be reached"
    assert caught.value.__cause__ is error


async def test_a_cancellation_is_raised_even_if_the_library_replaces_it() -> None:
    begun = asyncio.Event()
    calling = asyncio.create_task(call(begun))
    await begun.wait()

    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_call_that_takes_too_long_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await call(asyncio.Event())
