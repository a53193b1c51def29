"""Events about webhooks, which the dispatcher reports: they take the way of all events."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import structlog
from pymongo.errors import DuplicateKeyError

from common.contracts.events import OwnerEvent, OwnerEventStored, RegistryEvent, encode_event
from common.contracts.failures import Failure
from common.messaging.rpc import Result, RpcRequest
from common.mongo import Database, translated_errors
from common.runtime import tracing
from register_store.documents import OUTBOX
from register_store.events.event import OutboxEvent, outbox_document

log = structlog.get_logger()


class StoreOwnerEvents:
    """Adds events to the outbox, once for each id; raises `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._outbox = database[OUTBOX]

    async def __call__(self, requests: Sequence[OwnerEvent]) -> list[OwnerEventStored]:
        await asyncio.gather(*(self._add(each.owner, each.event) for each in requests))
        return [OwnerEventStored() for _ in requests]

    async def _add(self, owner: str, event: RegistryEvent) -> None:
        at = datetime.fromisoformat(event.occurred_at)
        stored = OutboxEvent(event.id, None, 0, event.type, None, at, encode_event(event), owner)
        document = outbox_document(stored, tracing.CURRENT.get())
        with translated_errors(), suppress(DuplicateKeyError):
            await self._outbox.insert_one(document)


def report(
    asked: Sequence[RpcRequest[OwnerEvent]], results: Sequence[Result], _seconds: float
) -> None:
    """One line per event."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "owner_event.stored",
            **item.ids,
            event_id=item.request.event.id,
            type=item.request.event.type,
            result=result.code if isinstance(result, Failure) else "ok",
        )
