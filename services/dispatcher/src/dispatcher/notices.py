"""Notices to owners: events about their webhooks, handed to the lookup service's outbox."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from common.contracts.events import OwnerEvent, RegistryEvent
from common.contracts.failures import Unavailable
from common.messaging.requests import OWNER_EVENT
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from webhook_store.recording import Notices, OwnerNotice

#: Webhooks per batch.
BATCH = 100


class OwnerEvents(Protocol):
    """Outbox of ingest, from which events for owners are published."""

    async def store(self, owner: str, event: RegistryEvent) -> None:
        """Returns when the event is stored, once for each id; raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class NotifyOwners:
    """Safe to repeat at any point: an event has the same id each time."""

    notices: Notices
    owner_events: OwnerEvents

    async def __call__(self) -> None:
        """Hands over all notices that are due.

        Raises the first error of a batch, such as `Unavailable`, after it has tried every notice.
        """
        while True:
            due = await self.notices.due(limit=BATCH)
            results = await asyncio.gather(*map(self._notify, due), return_exceptions=True)
            for error in results:
                if isinstance(error, BaseException):
                    raise error
            if len(due) < BATCH:
                return

    async def _notify(self, notice: OwnerNotice) -> None:
        for event in notice.events:
            await self.owner_events.store(notice.owner, event)
        await self.notices.remove(notice)


@dataclass(frozen=True, slots=True)
class RpcOwnerEvents:
    """`OwnerEvents` over RPC."""

    client: RpcClient
    new_id: Callable[[], str]

    async def store(self, owner: str, event: RegistryEvent) -> None:
        """Stores the event by an RPC to ingest; raises `Unavailable` if that fails."""
        try:
            await self.client.call(
                OWNER_EVENT.route(),
                OwnerEvent(owner=owner, event=event),
                OWNER_EVENT.reply,
                timeout=OWNER_EVENT.timeout,
                request_id=self.new_id(),
            )
        except RpcFailed as error:
            raise Unavailable("ingest has not stored the event") from error
