"""Listing of deliveries with its cursors, retries and recoveries."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import (
    AcceptedDelivery,
    AttemptList,
    Recovered,
    WebhookReply,
    WebhookRequest,
)
from webhook_registry.deliveries.recovering import DeliveryQueue, Recovering
from webhook_registry.idempotency import Clock
from webhook_registry.replies import (
    ACCEPTED,
    OK,
    delivery_not_found,
    delivery_pending,
    invalid_parameter,
    reply,
    webhook_disabled,
)
from webhook_registry.webhooks.bodies import read_window
from webhook_registry.webhooks.manage import enabled, owned
from webhook_store.deliveries.models import ListPosition, NotRepeated, Recovery
from webhook_store.deliveries.owned import OwnedDeliveries
from webhook_store.webhooks.registrations import Registrations


@dataclass(frozen=True, slots=True)
class ListDeliveries:
    """Operation that lists a webhook's attempts, or its cancelled deliveries, in pages."""

    registrations: Registrations
    deliveries: OwnedDeliveries

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a page of attempts, or of cancelled deliveries, newest first."""
        webhook = await owned(self.registrations, request)
        query = request.query
        after = None if query.after is None else read_cursor(query.after)
        listed = await self.deliveries.listed(webhook, query, after=after)
        cursor = None if listed.last is None else write_cursor(listed.last)
        return reply(OK, AttemptList(deliveries=tuple(listed.attempts), cursor=cursor))


@dataclass(frozen=True, slots=True)
class ShowDelivery:
    """Operation that shows one delivery of a webhook: its state, request and attempts."""

    registrations: Registrations
    deliveries: OwnedDeliveries

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a delivery, its request and its attempts."""
        webhook = await owned(self.registrations, request)
        delivery = await self.deliveries.find(webhook, request.delivery_id)
        if delivery is None:
            raise delivery_not_found()
        return reply(OK, delivery)


@dataclass(frozen=True, slots=True)
class RetryDelivery:
    """Operation that attempts one delivery of an enabled webhook now."""

    registrations: Registrations
    deliveries: OwnedDeliveries
    delivery_queue: DeliveryQueue
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 and schedules an attempt now, a scheduled one or one more."""
        webhook = await enabled(self.registrations, request)
        result = await self.deliveries.retry(
            webhook, request.delivery_id, call_id=request.call_id, at=self.now()
        )
        match result:
            case DeliveryTask():
                await self.delivery_queue.enqueue([result])
                return reply(ACCEPTED, AcceptedDelivery(delivery_id=result.delivery_id))
            case NotRepeated.PENDING:
                raise delivery_pending()
            case NotRepeated.NOT_FOUND:
                raise delivery_not_found()


@dataclass(frozen=True, slots=True)
class RecoverDeliveries:
    """Operation that resends the failed and cancelled deliveries of a time window."""

    registrations: Registrations
    recoveries: Recovering
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the number of deliveries that restart their schedule."""
        webhook = await owned(self.registrations, request)
        window = read_window(request.body, now=self.now())
        if not webhook.enabled:
            raise webhook_disabled()
        count = await self.recoveries.ask(
            Recovery(request.call_id, webhook.id, webhook.generation, window.since, window.until)
        )
        return reply(ACCEPTED, Recovered(count=count))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_POSITION = re.compile(r"(?P<at>[0-9]{1,14}) (?P<id>[0-9a-f:-]{36,60})")


def write_cursor(position: ListPosition) -> str:
    """Returns the cursor of a position, which clients pass back as `after`."""
    milliseconds = (position.at - _EPOCH) // timedelta(milliseconds=1)
    return urlsafe_b64encode(f"{milliseconds} {position.id}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> ListPosition:
    """Returns the position that a cursor encodes; raises Rejected for an invalid one."""
    try:
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (Error, ValueError):
        decoded = ""
    match = _POSITION.fullmatch(decoded)
    if match is None:
        raise invalid_parameter("after", "must be the cursor of an earlier answer")
    return ListPosition(_EPOCH + timedelta(milliseconds=int(match["at"])), match["id"])
