"""Notices for owners: stored in the webhook itself until they are in the outbox.

A webhook that is disabled gets its notice in the same write (`disabled_notice`), so that no crash
loses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import uuid5

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.events import (
    EVENT_NAMESPACE,
    EventData,
    EventType,
    EventWebhook,
    FailedDelivery,
    RegistryEvent,
)
from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import NOTICE_DUE, NOTICES, WEBHOOKS, Document
from webhook_store.recording import AttemptResult


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """The events of one webhook that are due."""

    webhook_id: WebhookId
    owner: str
    events: tuple[RegistryEvent, ...]
    #: The stored notices, which are removed unless others were added.
    stored: Mapping[str, Any]


_NOTICE: Final = {"owner": 1, "url": 1, "description": 1, "generation": 1, NOTICES: 1}


class Notices:
    """The notices of all webhooks. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._webhooks = database[WEBHOOKS]

    async def failing(self, attempted: AttemptResult) -> None:
        """Notes that a delivery fails: once a day for each webhook, while it is enabled."""
        delivery, day = attempted.delivery, f"{attempted.at:%Y-%m-%d}"
        notice = {
            "day": day,
            "at": attempted.at,
            "delivery_id": delivery.id,
            "event_id": delivery.event_id,
            "event_type": delivery.event_type.value,
            "attempt": attempted.number,
            "response_code": attempted.response_code,
            "error": attempted.error,
        }
        with translated_errors():
            await self._webhooks.update_one(
                {
                    "_id": delivery.webhook_id,
                    "generation": delivery.generation,
                    "failing_noted": {"$ne": day},
                },
                {"$set": {f"{NOTICES}.failing": notice, NOTICE_DUE: True, "failing_noted": day}},
            )

    async def due(self, *, limit: int) -> list[OwnerNotice]:
        """Returns notices that are not yet in the outbox."""
        with translated_errors():
            found = await self._webhooks.find({NOTICE_DUE: True}, _NOTICE, limit=limit).to_list(
                None
            )
        return [
            OwnerNotice(one["_id"], one["owner"], tuple(events_of(one)), one[NOTICES])
            for one in found
        ]

    async def remove(self, notice: OwnerNotice) -> None:
        """Removes notices; if one was added meanwhile, all of them stay due."""
        unchanged = {"_id": notice.webhook_id, NOTICES: dict(notice.stored)}
        with translated_errors():
            await self._webhooks.update_one(unchanged, {"$unset": {NOTICES: "", NOTICE_DUE: ""}})


def events_of(document: Document) -> list[RegistryEvent]:
    """Returns the events of a webhook's stored notices, with the same ids on each call."""
    notices: Document = document[NOTICES]
    webhook = EventWebhook(
        id=document["_id"], url=document["url"], description=document["description"]
    )
    events = []
    if "failing" in notices:
        failing = notices["failing"]
        data = EventData(webhook=webhook, delivery=FailedDelivery.model_validate(failing))
        mark = f"{document['_id']}|failing|{failing['day']}"
        events.append(_event(EventType.WEBHOOK_FAILING, mark, failing["at"], data))
    if "disabled" in notices:
        disabled = notices["disabled"]
        at = rfc3339_milliseconds(disabled["at"])
        disabled_as = {"disabled_at": at, "disabled_reason": disabled["reason"]}
        data = EventData(webhook=webhook.model_copy(update=disabled_as))
        mark = f"{document['_id']}|disabled|{at}"
        events.append(_event(EventType.WEBHOOK_DISABLED, mark, disabled["at"], data))
    return events


def _event(event_type: EventType, mark: str, at: datetime, data: EventData) -> RegistryEvent:
    return RegistryEvent(
        id=str(uuid5(EVENT_NAMESPACE, mark)),
        type=event_type,
        occurred_at=rfc3339_milliseconds(at),
        data=data,
    )
