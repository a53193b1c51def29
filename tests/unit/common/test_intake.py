"""Consuming and draining."""

from collections.abc import Awaitable, Callable
from typing import cast

from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from common.messaging.in_flight import InFlightHandlers


class FakeQueue:
    """A queue that is consumed or not."""

    def __init__(self) -> None:
        self.consumers = 0

    async def consume(
        self, _callback: Callable[[AbstractIncomingMessage], Awaitable[None]], **_limit: float
    ) -> str:
        self.consumers += 1
        return "tag"

    async def cancel(self, _tag: str, **_limit: float) -> None:
        self.consumers -= 1


async def work(_message: AbstractIncomingMessage) -> None:
    """Delivers nothing."""


async def test_a_connection_restored_during_drain_delivers_no_messages() -> None:
    intake, first, again = InFlightHandlers(), FakeQueue(), FakeQueue()
    await intake.begin(cast(AbstractQueue, first), work)
    await intake.drain(1)
    intake.forget()

    await intake.begin(cast(AbstractQueue, again), work)

    assert (first.consumers, again.consumers) == (0, 0)
