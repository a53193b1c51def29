"""What the libraries raise when a call on the broker fails, in one word."""

import asyncio

import pytest
from aiormq.exceptions import ConnectionClosed

from common.messaging.connection import BrokerUnavailable, broker_calls


async def lost(begun: asyncio.Event) -> None:
    """A call during which the connection is lost; that is all that who cancels it is told."""
    try:
        begun.set()
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise ConnectionClosed(320, "CONNECTION_FORCED") from None


async def call(begun: asyncio.Event) -> None:
    with broker_calls():
        await lost(begun)


@pytest.mark.parametrize("error", [ConnectionClosed(320, ""), OSError(), Exception()])
def test_whatever_they_raise_the_broker_is_away(error: Exception) -> None:
    async def fail() -> None:
        with broker_calls():
            raise error

    with pytest.raises(BrokerUnavailable):
        asyncio.run(fail())


async def test_clients_are_told_nothing_of_the_brokers_address_or_queues() -> None:
    error = ConnectionClosed(404, "NOT_FOUND - no queue 'inner' in vhost 'secret'")

    with pytest.raises(BrokerUnavailable) as caught, broker_calls():
        raise error

    assert str(caught.value) == "the broker cannot be reached"
    assert caught.value.__cause__ is error


async def test_who_is_cancelled_hears_of_it_although_the_library_says_otherwise() -> None:
    begun = asyncio.Event()
    calling = asyncio.create_task(call(begun))
    await begun.wait()

    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_call_that_takes_too_long_is_told_as_that() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await call(asyncio.Event())
