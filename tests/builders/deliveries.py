"""Deliveries with defaults for everything; a test names only what matters to it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from common.contracts.company import Country
from common.contracts.events import EventType, RegistryEvent, event_id
from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from common.mongo import Database
from dispatcher.settings import Settings
from dispatcher.store import Store
from tests.builders.webhooks import NOON, encoded_key, secret_keys
from webhook_store.deliveries import ClaimedDelivery, DeliveryTimes, NewDelivery
from webhook_store.recording import AttemptResult

S = TypeVar("S", bound=Store)

WEBHOOK = WebhookId("wh_1")
SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMyLWI="
VAT = "12345674"


def a_delivery_id(number: int = 1) -> DeliveryId:
    return DeliveryId(str(UUID(int=number)))


def an_event(revision: int | None = 1, **fields: Any) -> RegistryEvent:
    kind = fields.get("type", EventType.COMPANY_UPDATED)
    return RegistryEvent(
        **{
            "id": event_id(Country.DK, VAT, revision or 0, kind),
            "type": kind,
            "occurred_at": "2026-03-02T12:00:00Z",
            "country": Country.DK,
            "vat": VAT,
            "revision": revision,
            **fields,
        }
    )


def a_new_delivery(number: int = 1, **fields: Any) -> NewDelivery:
    return NewDelivery(
        **{
            "id": a_delivery_id(number),
            "webhook_id": WEBHOOK,
            "generation": 1,
            "event_id": f"event-{number}",
            "event_type": EventType.COMPANY_UPDATED,
            "occurred_at": NOON,
            **fields,
        }
    )


def a_task(number: int = 1, *, attempt: int = 1, webhook_id: WebhookId = WEBHOOK) -> DeliveryTask:
    return DeliveryTask(delivery_id=a_delivery_id(number), webhook_id=webhook_id, attempt=attempt)


def an_attempted(delivery: ClaimedDelivery, **fields: Any) -> AttemptResult:
    """A success, unless the fields say otherwise."""
    return AttemptResult(
        **{
            "delivery": delivery,
            "at": NOON,
            "duration": timedelta(milliseconds=40),
            "response_code": 204,
            "error": None,
            "next_attempt_at": None,
            "disable": None,
            **fields,
        }
    )


def dispatcher_settings(**given: str) -> Settings:
    """As the environment gives them: text, under lower-case names."""
    return Settings.model_validate(
        {
            "amqp_url": "amqp://broker.example/",
            "mongo_url": "mongodb://database.example/?replicaSet=rs0",
            "webhook_secret_keys": f"k1:{encoded_key('k1')}",
            **given,
        }
    )


def a_store(
    database: Database,
    kind: type[S],
    *,
    now: Callable[[], datetime] = lambda: NOON,
    **times: timedelta,
) -> S:
    """The dispatcher's store; claims are numbered, and nothing expires during a test."""
    ids = count(1)
    lasting = DeliveryTimes(
        **{"lease": timedelta(seconds=30), "retention": timedelta(days=36_500), **times}
    )
    return kind(
        database,
        secret_keys(),
        lasting,
        now=now,
        new_id=lambda: f"claim-{next(ids)}",
        random=Random(1),
    )
