"""Results that are recorded again because an outage hid whether they were written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason, Webhook
from common.mongo import Database
from tests.builders.deliveries import a_new_delivery, a_task, an_attempted
from tests.builders.webhooks import NOON, a_call, a_registered, secret_keys
from webhook_store.deliveries import Deliveries, DeliveryTimes
from webhook_store.recording import AttemptResult, Recorder, WriteEffect
from webhook_store.sending import Webhooks
from webhook_store.webhooks import Registrations

pytestmark = pytest.mark.integration

TIMES = DeliveryTimes(lease=timedelta(seconds=30))
#: Of several results that disable a webhook one did.
FIRST_DISABLED = [WriteEffect(held=True, disabled=number == 0) for number in range(3)]


class LosingAnswers(Webhooks):
    """Disables webhooks, and loses the answer of the database."""

    async def disable(self, *args: Any, **fields: Any) -> bool:
        await super().disable(*args, **fields)
        raise Unavailable("away")


@dataclass
class Store:
    database: Database
    webhook: Webhook
    #: All of them in one claim.
    results: Sequence[AttemptResult]

    def recorder(self, kind: type[Webhooks] = Webhooks) -> Recorder:
        return Recorder(self.database, kind(self.database, secret_keys()), TIMES)

    async def generation(self) -> int:
        found = await self.database["webhooks"].find_one({"_id": self.webhook.id})
        assert found is not None
        generation: int = found["generation"]
        return generation


@pytest.fixture(name="store")
async def _store(webhooks_db: Database) -> Store:
    """A webhook, and results of attempts that all disable it."""
    new = [a_new_delivery(number) for number in range(3)]
    registered = a_registered(id=new[0].webhook_id)
    registrations = Registrations(webhooks_db, secret_keys(), Random(1))
    await registrations.create(registered, call_id=a_call(1), limit=50)
    deliveries = Deliveries(webhooks_db, TIMES)
    await deliveries.insert(new, at=NOON)
    claimed = await deliveries.claim([a_task(n) for n in range(3)], token="one", at=NOON)
    results = [
        an_attempted(one, error="http_status", disable=DisabledReason.GONE) for one in claimed
    ]
    return Store(webhooks_db, registered.webhook, results)


async def test_after_an_outage_before_the_write_the_disabling_result_is_reported(
    store: Store,
) -> None:
    with pytest.raises(Unavailable):
        await store.recorder(LosingAnswers).record(store.results, at=NOON)

    written = await store.recorder().record(store.results, at=NOON)

    assert written == FIRST_DISABLED
    assert await store.generation() == store.webhook.generation + 1


async def test_after_an_outage_following_the_write_the_disabling_result_is_reported(
    store: Store,
) -> None:
    recorder = store.recorder()

    first = await recorder.record(store.results, at=NOON)
    again = await recorder.record(store.results, at=NOON)

    assert first == again == FIRST_DISABLED
    assert await store.generation() == store.webhook.generation + 1
