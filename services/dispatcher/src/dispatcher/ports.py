"""What the use cases need of the outside, in their own words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from common.contracts.company import CompanyKey, Country
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.webhooks import DeliveryId, WebhookId
from dispatcher.domain.outcome import Outcome
from dispatcher.domain.retry import Decision
from webhook_store.delivery_models import (
    Attempted,
    Cancelled,
    Claimed,
    Due,
    NewDelivery,
    Result,
    StoredEvent,
    Written,
)
from webhook_store.models import Match, Sendable


class Matches(Protocol):
    """Whom an event is for. Every method may raise `Unavailable`."""

    async def matching(self, kind: EventType, country: Country, vat: str) -> Sequence[Match]:
        """The webhooks that subscribe to it, disabled ones too."""

    async def match_of(self, webhook_id: WebhookId) -> Match | None:
        """One webhook, whatever it subscribes to; None when it is gone."""


class Webhooks(Protocol):
    async def sendable(self, webhook_id: WebhookId) -> Sendable | None:
        """A webhook as it is now; None when it is gone. May raise `Unavailable`."""


class Events(Protocol):
    """The bodies that are posted. Every method but `body` may raise `Unavailable`."""

    async def store(self, event: StoredEvent) -> None:
        """Keeps an event; one that is there already stays as it is."""

    async def is_removed(self, company: CompanyKey) -> bool:
        """Whether the register ordered the company removed."""

    async def of_company(self, company: CompanyKey) -> Sequence[str]:
        """The ids of a company's events, without its removal's."""

    async def forget(self, event_ids: Collection[str]) -> None:
        """Forgets events: nothing is left of them to send."""

    async def body(self, event_id: str) -> bytes | None:
        """What is posted; None when it was purged. However long the database is away."""


class Receipts(Protocol):
    """The events whose deliveries are stored. Every method may raise `Unavailable`."""

    async def has(self, event_id: str) -> bool:
        """Whether the event was fanned out before."""

    async def add(self, event_id: str) -> None:
        """Notes that everything that follows from the event is stored."""


class Rows(Protocol):
    """The deliveries. `record` and `due` wait out an outage, the others raise `Unavailable`."""

    async def insert(self, new: Sequence[NewDelivery]) -> None:
        """Keeps deliveries; those that are there already stay as they are."""

    async def claim(self, task: DeliveryTask) -> Claimed | None:
        """Takes a delivery for the attempt; None when it is not to be had for that any more."""

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        """The attempts that a webhook has due and no process has claimed, retries last."""

    async def record(self, result: Result) -> Written:
        """Gives a delivery back with what came of it. It returns when that is written."""

    async def purge(self, event_ids: Collection[str]) -> None:
        """Cancels what waits of events that were purged."""


class OverdueRows(Protocol):
    """The deliveries as the sweeper sees them. Every method may raise `Unavailable`."""

    async def overdue(self, *, at: datetime, limit: int) -> Sequence[Due]:
        """Those whose time has passed unattempted, first attempts before retries."""

    async def postpone(self, ids: Collection[DeliveryId], *, at: datetime, until: datetime) -> None:
        """Notes that these were woken: they are not overdue again before `until`."""


class DeliveryQueue(Protocol):
    """Messages that say that a delivery is due. Every method may raise `Unavailable`."""

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        """DeliveryQueue deliveries for their first attempts, or for retries."""

    async def schedule(self, task: DeliveryTask, *, after: timedelta) -> None:
        """DeliveryQueue a delivery after one of the delays of the schedule."""

    async def waiting(self) -> int:
        """Messages that nobody has taken yet."""


@dataclass(frozen=True, slots=True)
class Post:
    """One request to a receiver."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Sender(Protocol):
    async def send(self, post: Post) -> Outcome:
        """What came of it, within the time that an attempt may take.

        Raises `Unavailable` when it is we who cannot send now: that is no attempt.
        """


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """What there is to say about one attempt."""

    attempted: Attempted
    host: str
    decision: Decision
    written: Written


class DeferReason(StrEnum):
    """Why a due delivery stays in its row for now. No attempt is charged."""

    #: There is no slot for it: its webhook's lane takes it.
    CAP = "cap"
    #: An answer might come after its lease: the sweeper wakes it.
    LEASE = "lease"
    #: None of our keys opens the webhook's secret.
    UNSEALABLE = "unsealable"
    #: Something of ours is away.
    OUTAGE = "outage"


class Telemetry(Protocol):
    """Where it is told what was done: for logs and metrics."""

    def attempted(self, report: AttemptReport) -> None: ...

    def cancelled(self, cancelled: Cancelled) -> None: ...

    def deferred(self, delivery_id: DeliveryId, reason: DeferReason, detail: str = "") -> None: ...

    def not_published(self, task: DeliveryTask) -> None:
        """A retry's message could not be published: the sweeper wakes its row."""

    def failed(self, delivery_id: DeliveryId, webhook_id: WebhookId) -> None:
        """An attempt ended in an error of ours, which is being handled."""

    def backlog_failed(self, webhook_id: WebhookId) -> None:
        """Reports the exception that ended a backlog; the sweeper requeues its rows."""
