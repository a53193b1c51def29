"""Operations of the registry over MongoDB, with fakes of its broker and resolver."""

import asyncio
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any

import jsonschema
import orjson
import pytest

from common.contracts.events import EventType, encode_event
from common.contracts.failures import FailureCode, Unavailable
from common.contracts.webhook_api import DeliveryQuery, Operation, WebhookReply
from common.mongo import Database
from tests.builders.deliveries import a_delivery_id
from tests.builders.webhooks import NOON, OTHER_OWNER, URL, a_call, a_draft, a_request
from tests.fakes.webhook_registry import World
from webhook_registry.event_types import event_types
from webhook_registry.webhooks import MAX_LISTED_AGE
from webhook_store.collections import IDEMPOTENCY, WEBHOOKS
from webhook_store.deliveries import delivery_id

pytestmark = pytest.mark.integration

DELIVERY = a_delivery_id()

AN_ATTEMPT = {
    "delivery_id": DELIVERY,
    "event_id": "7e9d6c8f-8a0e-4f4c-9d57-5a3c8f2b1d10",
    "event_type": "company.updated",
    "attempt": 2,
    "status": "failed",
    "response_code": 500,
    "error": "http_status",
    "duration_ms": 12,
    "attempted_at": "2026-03-02T11:00:00.000Z",
    "next_attempt_at": None,
}
#: Of the row of a delivery that was cancelled.
CANCELLED = {"state": "cancelled", "reason": "webhook_disabled"}
SINCE_ELEVEN = b'{"since": "2026-03-02T11:00:00Z"}'
#: Operations that send deliveries, with what they need.
SENDING: list[tuple[Operation, dict[str, Any]]] = [
    (Operation.TEST, {}),
    (Operation.RETRY, {"delivery_id": DELIVERY}),
    (Operation.RECOVER, {"body": SINCE_ELEVEN}),
]


def read(reply: WebhookReply) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(reply.body)
    return document


async def create(world: World, **fields: Any) -> dict[str, Any]:
    return read(await world.do(Operation.CREATE, body=a_draft(**fields)))


async def create_under_key(world: World, key: str | None = "k", **fields: Any) -> WebhookReply:
    given = {"body": a_draft(), "idempotency_key": key, **fields}
    return await world.do(Operation.CREATE, **given)


async def set_status(world: World, webhook_id: str, status: str) -> dict[str, Any]:
    body = orjson.dumps({"status": status})
    return read(await world.do(Operation.CHANGE, webhook_id=webhook_id, body=body))


@pytest.fixture
def world(empty_webhooks_db: Database) -> World:
    return World(empty_webhooks_db)


@pytest.fixture
async def webhook_id(world: World) -> str:
    """The id of a new webhook."""
    return str((await create(world))["id"])


async def test_creation_returns_the_secret_and_the_location(world: World) -> None:
    request = a_request(
        Operation.CREATE,
        call_id=a_call(1),
        body=a_draft(events=["company.*"], filter={"countries": ["no"]}),
    )

    reply = await world.ask(request)

    assert isinstance(reply, WebhookReply)
    assert (reply.status, reply.replayed) == (201, False)
    assert reply.location == "/api/webhooks/wh_00000000000000000000000000000001"
    assert read(reply) == {
        "id": "wh_00000000000000000000000000000001",
        "url": URL,
        "events": ["company.*"],
        "filter": {
            "countries": ["no"],
            "companies": [],
            "forms": [],
            "industries": [],
            "municipalities": [],
            "fields": [],
            "watchlists": [],
        },
        "description": None,
        "headers": [],
        "status": "enabled",
        "disabled_at": None,
        "disabled_reason": None,
        "health": {
            "last_success_at": None,
            "last_failure_at": None,
            "consecutive_failures": 0,
            "failing_since": None,
            "next_attempt_at": None,
            "disables_at": None,
            "last_24h": {"succeeded": 0, "failed": 0},
        },
        "created_at": "2026-03-02T12:00:00.000Z",
        "updated_at": "2026-03-02T12:00:00.000Z",
        "secret": "whsec_invented1",
    }


async def test_no_other_answer_shows_the_secret(world: World, webhook_id: str) -> None:
    asked = [(Operation.LIST, {}), (Operation.GET, {}), (Operation.CHANGE, {"body": b"{}"})]

    for operation, fields in asked:
        reply = await world.do(operation, webhook_id=webhook_id, **fields)
        assert b"whsec" not in reply.body
        assert b"secret" not in reply.body


async def test_the_owners_webhooks_are_listed_newest_first(world: World) -> None:
    older = await create(world)
    world.now += timedelta(seconds=1)
    newer = await create(world)
    await world.do(Operation.CREATE, owner=OTHER_OWNER, body=a_draft())

    listed = read(await world.do(Operation.LIST))["webhooks"]

    assert [webhook["id"] for webhook in listed] == [newer["id"], older["id"]]


async def test_the_health_in_a_list_may_be_seconds_old_and_that_of_one_webhook_not(
    world: World, webhook_id: str
) -> None:
    await world.do(Operation.LIST)
    await world.keep_attempt(webhook_id, AN_ATTEMPT)
    world.now += MAX_LISTED_AGE - timedelta(milliseconds=1)

    [listed] = read(await world.do(Operation.LIST))["webhooks"]
    shown = read(await world.do(Operation.GET, webhook_id=webhook_id))

    assert listed["health"]["consecutive_failures"] == 0
    assert shown["health"]["consecutive_failures"] == 1


async def test_an_owner_cannot_have_more_webhooks_than_the_limit(
    empty_webhooks_db: Database,
) -> None:
    world = World(empty_webhooks_db, limit=1)
    first = await create(world)

    failure = await world.refused(Operation.CREATE, body=a_draft())

    assert failure.code is FailureCode.WEBHOOK_LIMIT_REACHED
    await world.do(Operation.CREATE, owner=OTHER_OWNER, body=a_draft())
    await world.do(Operation.DELETE, webhook_id=first["id"])
    await create(world)


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.CHANGE])
async def test_a_url_whose_name_resolves_to_a_private_address_is_refused(
    world: World, operation: Operation
) -> None:
    webhook_id = (await create(world, url="https://other.example.com/"))["id"]
    world.resolver.names["hooks.example.com"] = [ip_address("10.0.0.7")]

    failure = await world.refused(operation, webhook_id=webhook_id, body=a_draft())

    assert failure.code is FailureCode.INVALID_BODY
    assert [error.parameter for error in failure.errors] == ["url"]


@pytest.mark.parametrize(
    "url, resolved",
    [
        ("https://hooks.example.com:8443/", [("hooks.example.com", 8443)]),
        ("https://127.0.0.1:8443/", []),
    ],
    ids=["name", "address"],
)
async def test_the_name_of_a_url_is_resolved_with_its_port_and_an_address_is_not(
    empty_webhooks_db: Database, url: str, resolved: list[tuple[str, int]]
) -> None:
    world = World(empty_webhooks_db, allowed_networks=[ip_network("127.0.0.0/8")])

    await create(world, url=url)

    assert world.resolver.asked == resolved


@pytest.mark.parametrize(
    "operation, fields",
    [
        (Operation.GET, {}),
        (Operation.CHANGE, {"body": b'{"description": "theirs"}'}),
        (Operation.CHANGE, {"body": b"not even JSON"}),
        (Operation.DELETE, {}),
        (Operation.ROTATE_SECRET, {}),
        (Operation.TEST, {"idempotency_key": "k"}),
        (Operation.DELIVERIES, {}),
        *SENDING,
        (Operation.RECOVER, {"body": b"not even JSON"}),
    ],
)
async def test_another_owners_webhook_is_not_found(
    world: World, webhook_id: str, operation: Operation, fields: dict[str, Any]
) -> None:
    await world.keep_delivery(webhook_id, DELIVERY, **CANCELLED)
    before = await world.everything()

    other = await world.refused(operation, owner=OTHER_OWNER, webhook_id=webhook_id, **fields)
    unknown = await world.refused(operation, webhook_id="wh_unknown", **fields)

    assert other == unknown
    assert other.code is FailureCode.WEBHOOK_NOT_FOUND
    assert await world.everything() == before
    assert (world.events.published, world.delivery_queue.enqueued) == ([], [])


async def test_a_deleted_webhook_is_gone(world: World, webhook_id: str) -> None:
    reply = await world.do(Operation.DELETE, webhook_id=webhook_id)

    assert (reply.status, reply.body) == (204, b"")
    for operation in (Operation.GET, Operation.DELETE):
        failure = await world.refused(operation, webhook_id=webhook_id)
        assert failure.code is FailureCode.WEBHOOK_NOT_FOUND


async def test_a_webhook_deleted_during_a_change_is_not_found(world: World) -> None:
    webhook_id = (await create(world, url="https://other.example.com/"))["id"]
    world.resolver.on_asked = lambda: world.database[WEBHOOKS].delete_many({})

    failure = await world.refused(Operation.CHANGE, webhook_id=webhook_id, body=a_draft())

    assert failure.code is FailureCode.WEBHOOK_NOT_FOUND


async def test_a_secret_is_rotated_again_when_the_replaced_one_no_longer_signs(
    world: World,
) -> None:
    created = await create(world)
    webhook_id = created["id"]
    rotated = read(await world.do(Operation.ROTATE_SECRET, webhook_id=webhook_id))
    before = await world.stored()
    world.now += timedelta(hours=23, milliseconds=1)

    refused = await world.refused(Operation.ROTATE_SECRET, webhook_id=webhook_id)
    unchanged = await world.stored() == before
    world.now = NOON + timedelta(hours=24)
    again = read(await world.do(Operation.ROTATE_SECRET, webhook_id=webhook_id))

    assert len({each["secret"] for each in (created, rotated, again)}) == 3
    assert again["updated_at"] == "2026-03-03T12:00:00.000Z"
    assert "secret" not in read(await world.do(Operation.GET, webhook_id=webhook_id))
    assert (refused.code, refused.possible_from) == ("rotation_pending", world.now)
    assert "2026-03-03T12:00:00Z" in refused.detail
    assert unchanged


async def test_a_secret_that_could_not_be_shown_is_not_rotated(
    world: World, webhook_id: str
) -> None:
    before = await world.stored()
    world.health.fault = Unavailable("the database did not answer in time")

    with pytest.raises(Unavailable):
        await world.do(Operation.ROTATE_SECRET, webhook_id=webhook_id)

    assert await world.stored() == before


@pytest.mark.parametrize(
    "operation, fields",
    [
        (Operation.CREATE, {"body": a_draft()}),
        (Operation.CREATE, {"body": a_draft(), "idempotency_key": "k"}),
        (Operation.ROTATE_SECRET, {}),
        (Operation.DELETE, {}),
        *SENDING,
    ],
)
async def test_a_request_that_the_broker_delivers_again_takes_effect_once(
    world: World, webhook_id: str, operation: Operation, fields: dict[str, Any]
) -> None:
    await world.keep_delivery(webhook_id, DELIVERY, **CANCELLED)
    request = a_request(operation, call_id=a_call(7), webhook_id=webhook_id, **fields)

    first, second = await asyncio.gather(world.ask(request), world.ask(request))
    after = await world.everything()
    third = await world.ask(request)

    assert isinstance(first, WebhookReply)
    # The secret of a creation and a rotation, too: the first answer may be lost.
    assert first == second == third
    assert await world.everything() == after
    assert len(after[WEBHOOKS]) == {Operation.CREATE: 2, Operation.DELETE: 0}.get(operation, 1)
    sent = [event.id for _, event in world.events.published]
    sent += [task.delivery_id for task in world.delivery_queue.enqueued]
    assert len(set(sent)) == (operation in (Operation.TEST, Operation.RETRY))


async def test_concurrent_creations_under_one_key_make_one_webhook_and_show_its_secret_once(
    world: World,
) -> None:
    replies = await asyncio.gather(*(create_under_key(world) for _ in range(20)))

    assert len({read(reply)["id"] for reply in replies}) == 1
    assert ["secret" in read(reply) for reply in replies].count(True) == 1
    assert [reply.replayed for reply in replies].count(True) == 19
    assert len(await world.stored()) == 1


async def test_a_repeat_of_a_creation_gets_the_stored_answer_without_the_secret(
    world: World,
) -> None:
    first = await create_under_key(world)

    repeat = await create_under_key(world)
    stored = await world.stored()
    await world.do(Operation.DELETE, webhook_id=read(first)["id"])

    expected = read(first)
    del expected["secret"]
    assert read(repeat) == expected
    assert (repeat.status, repeat.location, repeat.replayed) == (201, first.location, True)
    assert len(stored) == 1
    # The stored answer outlives the webhook.
    assert await create_under_key(world) == repeat
    assert await world.stored() == []


@pytest.mark.parametrize(
    "fields, after",
    [
        ({"owner": OTHER_OWNER}, timedelta()),
        ({"key": "other"}, timedelta()),
        ({"key": None}, timedelta()),
        ({"body": a_draft(description="other")}, timedelta(hours=24)),
    ],
    ids=["another-owner", "another-key", "no-key", "a-day-later"],
)
async def test_a_key_is_scoped_to_its_owner_and_valid_for_a_day(
    world: World, fields: dict[str, Any], after: timedelta
) -> None:
    await create_under_key(world)
    world.now += after

    reply = await create_under_key(world, **fields)

    assert not reply.replayed
    assert len(await world.stored()) == 2


async def test_a_refused_request_leaves_its_key_to_a_repeat(empty_webhooks_db: Database) -> None:
    world = World(empty_webhooks_db, limit=1)
    blocking = await create(world)
    for fields in ({"url": "http://a.example"}, {}):
        await world.refused(Operation.CREATE, body=a_draft(**fields), idempotency_key="k")
    await world.do(Operation.DELETE, webhook_id=blocking["id"])

    reply = await create_under_key(world)

    assert not reply.replayed
    assert "secret" in read(reply)


async def test_a_repeat_of_an_unanswered_creation_does_not_show_the_secret(world: World) -> None:
    created = await create_under_key(world)
    await world.database[IDEMPOTENCY].update_many({}, {"$set": {"answer": None}})

    repeat = await create_under_key(world)

    assert repeat.replayed
    assert read(repeat)["id"] == read(created)["id"]
    assert "secret" not in read(repeat)


@pytest.mark.parametrize(
    "operation, body",
    [(Operation.CREATE, a_draft()), (Operation.TEST, b"{}")],
    ids=["create", "test"],
)
async def test_a_repeat_answered_concurrently_does_nothing(
    world: World, webhook_id: str, operation: Operation, body: bytes
) -> None:
    fields = {"webhook_id": webhook_id, "body": body, "idempotency_key": "k"}
    first = await world.do(operation, **fields)
    world.keys.is_early = True

    repeat = await world.do(operation, **fields)

    assert (repeat.status, repeat.replayed) == (first.status, True)
    assert len(await world.stored()) + len(world.events.published) == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "ø", "k" * 256, "a\nb"])
async def test_a_malformed_key_is_refused(world: World, key: str) -> None:
    failure = await world.refused(Operation.CREATE, body=a_draft(), idempotency_key=key)

    assert failure.code is FailureCode.INVALID_PARAMETER
    assert [error.parameter for error in failure.errors] == ["Idempotency-Key"]


async def test_each_test_is_an_event_of_its_own_for_its_webhook_alone(
    world: World, webhook_id: str
) -> None:
    replies = [await world.do(Operation.TEST, webhook_id=webhook_id) for _ in range(2)]

    (addressee, event), (_, other) = world.events.published
    assert addressee == webhook_id
    assert (event.type, event.data, event.country) == ("webhook.test", None, None)
    assert event.id != other.id
    assert [reply.status for reply in replies] == [202, 202]
    assert read(replies[0]) == {"delivery_id": delivery_id(event.id, addressee)}


async def test_a_repeat_publishes_an_unpublished_test(world: World, webhook_id: str) -> None:
    world.events.failure = Unavailable("the broker cannot be reached")
    fields = {"webhook_id": webhook_id, "idempotency_key": "k"}
    with pytest.raises(Unavailable):
        await world.do(Operation.TEST, call_id=a_call(1), **fields)
    world.events.failure = None

    repeat = await world.do(Operation.TEST, call_id=a_call(2), **fields)

    assert repeat.replayed
    # Under the id of the first call: that one may have been published after all.
    assert [event.id for _, event in world.events.published] == [str(a_call(1))]


async def test_a_key_of_a_test_is_scoped_to_its_webhook(world: World) -> None:
    ids = [(await create(world))["id"] for _ in range(2)]

    replies = [
        await world.do(Operation.TEST, webhook_id=webhook_id, idempotency_key="k")
        for webhook_id in (*ids, ids[0])
    ]

    assert [addressee for addressee, _ in world.events.published] == ids
    assert (replies[2].body, replies[2].replayed) == (replies[0].body, True)


@pytest.mark.parametrize("operation, fields", SENDING)
async def test_nothing_is_sent_to_a_disabled_webhook(
    world: World, webhook_id: str, operation: Operation, fields: dict[str, Any]
) -> None:
    await world.keep_delivery(webhook_id, DELIVERY, **CANCELLED)
    await set_status(world, webhook_id, "disabled")
    before = await world.everything()

    failure = await world.refused(operation, webhook_id=webhook_id, **fields)

    assert failure.code is FailureCode.WEBHOOK_DISABLED
    assert await world.everything() == before
    assert (world.events.published, world.delivery_queue.enqueued) == ([], [])


async def test_attempts_are_listed_in_pages_as_they_were_made(
    world: World, webhook_id: str
) -> None:
    for number in (1, 2):
        await world.keep_attempt(webhook_id, {**AN_ATTEMPT, "attempt": number})

    pages, cursor = [], None
    for _ in range(2):
        query = DeliveryQuery(limit=1, after=cursor)
        page = read(await world.do(Operation.DELIVERIES, webhook_id=webhook_id, query=query))
        pages.append(page["deliveries"])
        cursor = page["cursor"]

    assert pages == [[AN_ATTEMPT], [{**AN_ATTEMPT, "attempt": 1}]]
    assert cursor is None


@pytest.mark.parametrize("kind", EventType)
async def test_a_test_of_a_type_is_an_example_of_it_that_is_marked(
    world: World, webhook_id: str, kind: EventType
) -> None:
    await world.do(Operation.TEST, webhook_id=webhook_id, body=orjson.dumps({"type": kind.value}))

    [(_, event)] = world.events.published
    sent = orjson.loads(encode_event(event))
    [described] = [each for each in event_types().event_types if each.name is kind]
    jsonschema.validate(sent, described.body_schema)
    assert event.type is kind
    assert sent.get("test", False) is (kind is not EventType.WEBHOOK_TEST)
    assert sent["occurred_at"] == "2026-03-02T12:00:00.000Z"


@pytest.mark.parametrize("body", [b'{"type": "company.sold"}', b'{"kind": "webhook.test"}', b"[]"])
async def test_an_invalid_test_is_refused(world: World, webhook_id: str, body: bytes) -> None:
    failure = await world.refused(Operation.TEST, webhook_id=webhook_id, body=body)

    assert failure.code is FailureCode.INVALID_BODY
    assert world.events.published == []


async def test_a_retry_is_enqueued_under_the_deliverys_id(world: World, webhook_id: str) -> None:
    await world.keep_delivery(webhook_id, DELIVERY, **CANCELLED)

    reply = await world.do(Operation.RETRY, webhook_id=webhook_id, delivery_id=DELIVERY)

    assert reply.status == 202
    assert read(reply) == {"delivery_id": DELIVERY}
    assert [task.delivery_id for task in world.delivery_queue.enqueued] == [DELIVERY]


async def test_a_recovery_is_answered_with_its_number_before_any_delivery_is_sent(
    world: World, webhook_id: str
) -> None:
    for number in range(7):
        await world.keep_delivery(webhook_id, a_delivery_id(number), **CANCELLED)

    reply = await world.do(Operation.RECOVER, webhook_id=webhook_id, body=SINCE_ELEVEN)

    assert (reply.status, read(reply)) == (202, {"count": 7})
    assert {row["state"] for row in await world.stored("deliveries")} == {"cancelled"}


async def test_event_types_are_listed_for_every_owner(world: World) -> None:
    reply = await world.do(Operation.EVENT_TYPES, owner="")

    names = [kind["name"] for kind in read(reply)["event_types"]]
    assert names[0] == "company.created"
    assert names[-1] == "webhook.disabled"
