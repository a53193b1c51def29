"""Listing of event types."""

from dataclasses import dataclass, field

from common.contracts.webhooks import WebhookReply, WebhookRequest
from webhook_registry.domain.answers import OK, reply
from webhook_registry.domain.event_types import event_types


def _answer() -> WebhookReply:
    return reply(OK, event_types())


@dataclass(frozen=True, slots=True)
class ListEventTypes:
    #: The same for every client, so it is built once.
    answer: WebhookReply = field(default_factory=_answer)

    async def __call__(self, _request: WebhookRequest) -> WebhookReply:
        return self.answer
