"""Events about webhooks, which the dispatcher reports: they take the way of all events."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from common.contracts.events import RegistryEvent
from common.contracts.failures import Failure
from common.contracts.feed import OwnerEvent, OwnerEventStored
from common.messaging.rpc import Asked, Result

log = structlog.get_logger()


class OwnerEvents(Protocol):
    async def add(self, owner: str, event: RegistryEvent) -> None:
        """Stores an event to be published; an event with this id is left unchanged."""


@dataclass(frozen=True, slots=True)
class StoreOwnerEvents:
    """Returns when the events are stored; raises `Unavailable`."""

    outbox: OwnerEvents

    async def __call__(self, requests: Sequence[OwnerEvent]) -> list[OwnerEventStored]:
        await asyncio.gather(*(self.outbox.add(each.owner, each.event) for each in requests))
        return [OwnerEventStored() for _ in requests]


def report(asked: Sequence[Asked[OwnerEvent]], results: Sequence[Result], _seconds: float) -> None:
    """One line per event."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "owner_event.stored",
            **item.ids,
            event_id=item.request.event.id,
            type=item.request.event.type,
            result=result.code if isinstance(result, Failure) else "ok",
        )
