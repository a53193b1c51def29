"""Notices to owners are handed over one by one, and one that fails delays no other."""

from dataclasses import dataclass, field
from random import Random

import pytest

from common.contracts.events import RegistryEvent
from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason
from common.mongo import Database
from dispatcher.notices import NotifyOwners
from tests.builders.webhooks import NOON, a_call, a_registered, secret_keys
from webhook_store.recording import Notices
from webhook_store.sending import Webhooks
from webhook_store.webhooks import Registrations

pytestmark = pytest.mark.integration


@dataclass
class Outbox:
    """`OwnerEvents` that refuses the events of one owner."""

    refused: str
    stored: list[str] = field(default_factory=list)

    async def store(self, owner: str, event: RegistryEvent) -> None:  # noqa: ARG002
        if owner == self.refused:
            raise Unavailable("refused")
        self.stored.append(owner)


@pytest.fixture(name="notices")
async def _notices(empty_webhooks_db: Database) -> Notices:
    """Of one disabled webhook of each of two owners."""
    registrations = Registrations(empty_webhooks_db, secret_keys(), Random(1))
    webhooks = Webhooks(empty_webhooks_db, secret_keys())
    for number, owner in enumerate(("a", "b")):
        new = a_registered(owner=owner)
        await registrations.create(new, call_id=a_call(number), limit=1)
        await webhooks.disable(
            new.webhook.id, generation=1, reason=DisabledReason.GONE, by="an attempt", at=NOON
        )
    return Notices(empty_webhooks_db)


async def test_every_notice_is_stored_and_then_removed(notices: Notices) -> None:
    outbox = Outbox(refused="")

    await NotifyOwners(notices, outbox)()

    assert sorted(outbox.stored) == ["a", "b"]
    assert await notices.due(limit=5) == []


async def test_a_notice_that_fails_stays_and_delays_no_other(notices: Notices) -> None:
    outbox = Outbox(refused="a")

    with pytest.raises(Unavailable):
        await NotifyOwners(notices, outbox)()

    assert outbox.stored == ["b"]
    assert [notice.owner for notice in await notices.due(limit=5)] == ["a"]
