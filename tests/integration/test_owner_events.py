"""Events about a webhook reach its owner's other webhooks and the owner's event feed."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from common.contracts.events import FeedRequest
from common.mongo import Client, Database
from register_store.feed import StoredFeed
from tests.builders.webhooks import OWNER
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.waiting import eventually

pytestmark = pytest.mark.integration


async def test_an_owner_is_notified_of_a_webhook_that_fails_and_is_disabled(
    pipe: Pipeline, mongo: Client, register_db: Database
) -> None:
    dead = await pipe.webhook("/dead", events=("company.*",))
    await pipe.webhook("/owner", events=("webhook.*",))
    await pipe.webhook("/other", events=("webhook.*",), owner="another owner")
    await pipe.webhook("/company", events=("company.*",))
    pipe.receiver.answer("/dead", 500)
    pipe.system.start("ingest", register_db=register_db.name)
    await pipe.dispatcher()

    await pipe.publish(an_event())
    await pipe.receiver.until(lambda: len(pipe.receiver.counted("/owner")) == 2, seconds=40)

    async def feed_of(owner: str) -> list[str]:
        now, retention = datetime.now(UTC), timedelta(days=1)
        feed = StoredFeed(register_db, retention=retention, now=lambda: now)
        page = await feed.read(FeedRequest(owner=owner, limit=100))
        return sorted(event.type for event in page.events)

    told = await eventually(lambda: feed_of(OWNER), lambda types: len(types) == 2)
    of_others = await feed_of("another owner")

    events = [orjson.loads(each.body) for each in pipe.receiver.received if each.path == "/owner"]
    failing, disabled = sorted(events, key=lambda event: event["occurred_at"])
    assert told == ["webhook.disabled", "webhook.failing"]
    assert of_others == []
    assert failing["data"]["delivery"]["attempt"] == 3
    assert failing["data"]["webhook"]["id"] == disabled["data"]["webhook"]["id"] == dead.id
    assert disabled["data"]["webhook"]["disabled_reason"] == "delivery_failed"
    assert pipe.receiver.counted("/other") == {}
    assert len(pipe.receiver.counted("/company")) == 1
