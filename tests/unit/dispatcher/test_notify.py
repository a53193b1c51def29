"""Notices to owners are handed over one by one, and one that fails delays no other."""

from dataclasses import dataclass, field

import pytest

from common.contracts.events import EventData, EventType, RegistryEvent
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from dispatcher.events.owner_notices import NotifyOwners
from tests.fakes.dispatcher import FakeNotices
from webhook_store.webhooks.models import OwnerNotice


@dataclass
class Outbox:
    """`OwnerEvents` that refuses the events of one owner."""

    refused: str
    stored: list[str] = field(default_factory=list)

    async def store(self, owner: str, event: RegistryEvent) -> None:
        if owner == self.refused:
            raise Unavailable("refused")
        self.stored.append(event.id)


def a_notice(owner: str) -> OwnerNotice:
    event = RegistryEvent.model_construct(
        id=f"event-{owner}", type=EventType.WEBHOOK_DISABLED, occurred_at="", data=EventData()
    )
    return OwnerNotice(WebhookId(f"webhook-{owner}"), owner, (event,), {})


async def test_every_notice_is_stored_and_then_removed() -> None:
    notices, outbox = FakeNotices(waiting=[a_notice("a"), a_notice("b")]), Outbox(refused="")

    await NotifyOwners(notices, outbox)()

    assert outbox.stored == ["event-a", "event-b"]
    assert notices.waiting == []


async def test_a_notice_that_fails_stays_and_delays_no_other() -> None:
    failing, other = a_notice("a"), a_notice("b")
    notices, outbox = FakeNotices(waiting=[failing, other]), Outbox(refused="a")

    with pytest.raises(Unavailable):
        await NotifyOwners(notices, outbox)()

    assert outbox.stored == ["event-b"]
    assert notices.waiting == [failing]
