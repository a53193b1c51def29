"""Operations on watchlists over MongoDB, with a fake of the register."""

import asyncio
from datetime import timedelta
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey
from common.contracts.failures import FailureCode, Unavailable
from common.contracts.watchlists import WatchedQuery
from common.contracts.webhook_api import Operation, WebhookReply
from common.mongo import Database
from gateway.webhooks import parse_watched
from tests.builders.webhooks import NOON, OTHER_OWNER, OWNER, a_call, a_draft, a_request
from tests.fakes.webhook_registry import World
from webhook_store import watchlists
from webhook_store.collections import MEMBERS, WATCHLISTS
from webhook_store.watchlists import LOCK_LEASE, Members, OwnerLocks, Watchlists

pytestmark = pytest.mark.integration

A, B, C, D = "dk:12345674", "dk:87654325", "no:123456785", "no:987654325"


def read(reply: WebhookReply) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(reply.body)
    return document


async def create(world: World, **fields: Any) -> str:
    body = orjson.dumps({"name": "Customers"})
    reply = await world.do(Operation.CREATE_WATCHLIST, body=body, **fields)
    return str(read(reply)["id"])


async def change(world: World, watchlist_id: str, **changes: list[str]) -> dict[str, Any]:
    body = orjson.dumps(changes)
    reply = await world.do(Operation.CHANGE_WATCHED, watchlist_id=watchlist_id, body=body)
    return read(reply)


async def watched(world: World, watchlist_id: str) -> list[str]:
    reply = await world.do(Operation.LIST_WATCHED, watchlist_id=watchlist_id)
    return list(read(reply)["companies"])


@pytest.fixture
def world(empty_webhooks_db: Database) -> World:
    return World(empty_webhooks_db)


@pytest.fixture
async def watchlist_id(world: World) -> str:
    """The id of a new watchlist."""
    return await create(world)


async def test_creation_returns_the_empty_list_and_its_location(world: World) -> None:
    reply = await world.do(
        Operation.CREATE_WATCHLIST, call_id=a_call(1), body=b'{"name": " Customers "}'
    )

    assert reply.status == 201
    assert reply.location == "/api/watchlists/wl_00000000000000000000000000000001"
    assert read(reply) == {
        "id": "wl_00000000000000000000000000000001",
        "name": "Customers",
        "description": None,
        "size": 0,
        "has_feed": False,
        "created_at": "2026-03-02T12:00:00.000Z",
        "updated_at": "2026-03-02T12:00:00.000Z",
    }


async def test_a_key_creates_one_list(world: World) -> None:
    first = await create(world, idempotency_key="k")
    second = await create(world, idempotency_key="k")

    assert first == second
    assert len(await world.stored(WATCHLISTS)) == 1


async def test_lists_are_listed_newest_first_to_their_owner(world: World) -> None:
    older = await create(world)
    world.now += timedelta(seconds=1)
    newer = await create(world)
    await create(world, owner=OTHER_OWNER)

    listed = read(await world.do(Operation.LIST_WATCHLISTS))["watchlists"]

    assert [one["id"] for one in listed] == [newer, older]


async def test_lists_that_have_a_company_are_listed(world: World, watchlist_id: str) -> None:
    await create(world)
    others = await create(world, owner=OTHER_OWNER)
    await change(world, watchlist_id, add=[A])
    body = orjson.dumps({"add": [A]})
    await world.do(Operation.CHANGE_WATCHED, watchlist_id=others, body=body, owner=OTHER_OWNER)
    company = WatchedQuery(company=CompanyKey.parse(A))

    listed = read(await world.do(Operation.LIST_WATCHLISTS, watched=company))["watchlists"]

    assert [one["id"] for one in listed] == [watchlist_id]


@pytest.mark.parametrize(
    "operation, body",
    [
        (Operation.GET_WATCHLIST, b""),
        (Operation.CHANGE_WATCHLIST, b'{"name": "x"}'),
        (Operation.DELETE_WATCHLIST, b""),
        (Operation.LIST_WATCHED, b""),
        (Operation.CHANGE_WATCHED, b'{"add": []}'),
        (Operation.REPLACE_WATCHED, b'{"companies": []}'),
    ],
)
async def test_another_owners_list_is_not_found(
    world: World, watchlist_id: str, operation: Operation, body: bytes
) -> None:
    failure = await world.refused(
        operation, owner=OTHER_OWNER, watchlist_id=watchlist_id, body=body
    )

    assert failure.code is FailureCode.WATCHLIST_NOT_FOUND


async def test_a_list_is_renamed_and_described(world: World, watchlist_id: str) -> None:
    world.now += timedelta(seconds=1)
    body = b'{"name": "Debtors", "description": "weekly"}'

    changed = read(await world.do(Operation.CHANGE_WATCHLIST, watchlist_id=watchlist_id, body=body))

    assert (changed["name"], changed["description"]) == ("Debtors", "weekly")
    assert changed["updated_at"] == "2026-03-02T12:00:01.000Z"


async def test_a_change_counts_what_it_adds_finds_and_removes(
    world: World, watchlist_id: str
) -> None:
    world.register.lacks = {D}
    await change(world, watchlist_id, add=[A, B])

    changed = await change(
        world, watchlist_id, add=["DK:12345674", C, C, D], remove=[B, "dk:11111111"]
    )

    counts = {"added": 1, "present": 1, "removed": 1, "size": 2}
    assert changed == {**counts, "unknown": [D], "invalid": []}
    assert await watched(world, watchlist_id) == [A, C]
    shown = read(await world.do(Operation.GET_WATCHLIST, watchlist_id=watchlist_id))
    assert shown["size"] == 2


async def test_companies_of_the_list_are_not_checked_again(world: World, watchlist_id: str) -> None:
    await change(world, watchlist_id, add=[A])
    world.register.failure = Unavailable("no lookup service")

    changed = await change(world, watchlist_id, add=[A])

    assert (changed["present"], world.register.asked) == (1, 1)


async def test_replacement_leaves_the_given_companies_alone(
    world: World, watchlist_id: str
) -> None:
    await change(world, watchlist_id, add=[A, B])
    body = orjson.dumps({"companies": [B, C]})

    reply = await world.do(Operation.REPLACE_WATCHED, watchlist_id=watchlist_id, body=body)

    counts = {"added": 1, "present": 1, "removed": 1, "size": 2}
    assert read(reply) == {**counts, "unknown": [], "invalid": []}
    assert await watched(world, watchlist_id) == [B, C]


async def test_readers_see_a_replacement_as_a_whole(
    world: World, watchlist_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change(world, watchlist_id, add=[A, B])
    remove, seen = Members.remove, []

    async def remove_and_look(self: Members, *given: Any) -> None:
        await remove(self, *given)
        seen.append(await watched(world, watchlist_id))

    monkeypatch.setattr(Members, "remove", remove_and_look)
    body = orjson.dumps({"companies": [B, C]})
    await world.do(Operation.REPLACE_WATCHED, watchlist_id=watchlist_id, body=body)

    assert {*map(tuple, seen)} == {(A, B)}
    assert await watched(world, watchlist_id) == [B, C]


async def test_a_list_that_is_deleted_meanwhile_gets_no_companies(
    world: World, watchlist_id: str, empty_webhooks_db: Database
) -> None:
    found = await Watchlists(empty_webhooks_db).find(OWNER, watchlist_id)
    assert found is not None
    await world.do(Operation.DELETE_WATCHLIST, watchlist_id=watchlist_id)

    members = Members(empty_webhooks_db)
    key = CompanyKey.parse(A)

    assert await members.change(found, add=[key], remove=[], at=NOON) is None
    assert await members.all(watchlist_id) == set()


async def test_a_repeated_change_returns_its_first_effect(world: World, watchlist_id: str) -> None:
    asked: dict[str, Any] = {
        "watchlist_id": watchlist_id,
        "body": orjson.dumps({"add": [A]}),
        "idempotency_key": "k",
    }
    first = await world.do(Operation.CHANGE_WATCHED, **asked)
    second = await world.do(Operation.CHANGE_WATCHED, **asked)

    assert (read(second)["added"], second.replayed) == (1, True)
    assert first.body == second.body


async def test_companies_are_listed_in_pages(world: World, watchlist_id: str) -> None:
    await change(world, watchlist_id, add=[C, B, A])

    pages: list[list[str]] = []
    after = None
    while not pages or after is not None:
        query = parse_watched({"limit": ["2"], **({} if after is None else {"after": [after]})})
        page = read(
            await world.do(Operation.LIST_WATCHED, watchlist_id=watchlist_id, watched=query)
        )
        after = page["cursor"]
        pages.append(page["companies"])

    assert pages == [[A, B], [C]]


async def test_no_page_follows_one_from_before_a_replacement(
    world: World, watchlist_id: str
) -> None:
    await change(world, watchlist_id, add=[C, B, A])
    first = read(
        await world.do(
            Operation.LIST_WATCHED, watchlist_id=watchlist_id, watched=WatchedQuery(limit=1)
        )
    )
    query = parse_watched({"after": [first["cursor"]]})

    await change(world, watchlist_id, remove=[B])
    after_change = await world.do(Operation.LIST_WATCHED, watchlist_id=watchlist_id, watched=query)
    await world.do(
        Operation.REPLACE_WATCHED,
        watchlist_id=watchlist_id,
        body=orjson.dumps({"companies": [B, C]}),
    )
    failure = await world.refused(Operation.LIST_WATCHED, watchlist_id=watchlist_id, watched=query)

    assert read(after_change)["companies"] == [C]
    assert (failure.code, failure.errors[0].parameter) == (FailureCode.INVALID_PARAMETER, "after")


@pytest.mark.parametrize(
    "body, parameter",
    [
        ({"add": ["dk:1"]}, "add[0]"),
        ({"add": [A, 7]}, "add[1]"),
        ({"remove": "dk:12345674"}, "remove"),
        ({"add": [A], "remove": [A]}, "add"),
        ({"add": [A] * 10_001}, "add"),
        ({"added": [A]}, "added"),
        ({"add": ["Sverige:12345674"], "country": "dk"}, "add[0]"),
        ({"add": [A], "country": "se"}, "country"),
        ({"add": [A], "skip_invalid": "yes"}, "skip_invalid"),
        ({"add": [A, 7], "skip_invalid": True}, "add[1]"),
    ],
)
async def test_a_malformed_change_names_what_is_wrong(
    world: World, watchlist_id: str, body: dict[str, Any], parameter: str
) -> None:
    failure = await world.refused(
        Operation.CHANGE_WATCHED, watchlist_id=watchlist_id, body=orjson.dumps(body)
    )

    assert failure.code is FailureCode.INVALID_BODY
    assert [error.parameter for error in failure.errors] == [parameter]


async def test_entries_are_read_as_written_and_those_that_name_no_company_are_skipped(
    world: World, watchlist_id: str
) -> None:
    written = [f"CVR-nr. {A[3:]}", "SE:12345674", "4,10000E+07", "5501431.0", "NO 12345674"]
    body = {"add": written, "country": "dk", "skip_invalid": True}

    answer = read(
        await world.do(Operation.CHANGE_WATCHED, watchlist_id=watchlist_id, body=orjson.dumps(body))
    )

    assert answer["added"] == 1
    assert [(one["parameter"], one["value"]) for one in answer["invalid"]] == [
        (f"add[{place}]", text) for place, text in enumerate(written) if place
    ]
    assert "05501431" in answer["invalid"][2]["message"]
    assert await watched(world, watchlist_id) == [A]


@pytest.mark.parametrize("limits", [{"max_companies_in_list": 2}, {"max_companies_of_owner": 3}])
async def test_concurrent_changes_stay_within_the_limits(
    empty_webhooks_db: Database, limits: dict[str, Any]
) -> None:
    world = World(empty_webhooks_db, **limits)
    first, second = await create(world), await create(world)
    [most] = limits.values()
    changes = [(one, company) for one in (first, second) for company in (A, B, C, D)]

    await asyncio.gather(
        *(
            world.ask(
                a_request(
                    Operation.CHANGE_WATCHED,
                    watchlist_id=one,
                    body=orjson.dumps({"add": [company]}),
                )
            )
            for one, company in changes
        )
    )

    sizes = [len(await watched(world, one)) for one in (first, second)]
    listed = read(await world.do(Operation.LIST_WATCHLISTS))["watchlists"]
    assert sorted(sizes) == sorted(one["size"] for one in listed)
    assert (max(sizes) if "max_companies_in_list" in limits else sum(sizes)) == most


async def test_a_deleted_list_takes_its_companies_with_it(world: World, watchlist_id: str) -> None:
    await change(world, watchlist_id, add=[A, B])
    call = a_call(9)

    for _ in range(2):  # redelivered by the broker
        reply = await world.do(Operation.DELETE_WATCHLIST, call_id=call, watchlist_id=watchlist_id)
        assert reply.status == 204
    await world.removing.work()

    assert await world.stored(MEMBERS) == []
    assert await world.stored(WATCHLISTS) == []


async def test_a_list_that_a_webhook_uses_is_not_deleted(world: World, watchlist_id: str) -> None:
    draft = a_draft(filter={"watchlists": [watchlist_id]})
    webhook_id = read(await world.do(Operation.CREATE, body=draft))["id"]

    failure = await world.refused(Operation.DELETE_WATCHLIST, watchlist_id=watchlist_id)

    assert failure.code is FailureCode.WATCHLIST_IN_USE
    assert webhook_id in failure.detail
    await world.do(Operation.DELETE, webhook_id=webhook_id)
    await world.do(Operation.DELETE_WATCHLIST, watchlist_id=watchlist_id)


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.CHANGE])
async def test_a_webhook_uses_lists_of_its_owner_alone(world: World, operation: Operation) -> None:
    others = await create(world, owner=OTHER_OWNER)
    limits = {"filter": {"watchlists": [others]}}
    webhook_id = read(await world.do(Operation.CREATE, body=a_draft()))["id"]
    body = a_draft(**limits) if operation is Operation.CREATE else orjson.dumps(limits)

    failure = await world.refused(operation, webhook_id=webhook_id, body=body)

    assert failure.code is FailureCode.INVALID_BODY
    assert [error.parameter for error in failure.errors] == ["filter.watchlists[0]"]


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.CHANGE])
async def test_a_webhook_follows_no_company_that_cannot_exist(
    world: World, operation: Operation
) -> None:
    companies = ["dk:12345674", "dk:99999999", "no:000000000", "no:310345678"]
    limits = {"filter": {"companies": companies}}
    webhook_id = read(await world.do(Operation.CREATE, body=a_draft()))["id"]
    body = a_draft(**limits) if operation is Operation.CREATE else orjson.dumps(limits)
    # A register has numbers that break the rule of check digits.
    world.register.lacks = {"dk:12345674", "dk:99999999", "no:000000000"}

    failure = await world.refused(operation, webhook_id=webhook_id, body=body)

    places = [error.parameter for error in failure.errors]
    assert places == ["filter.companies[1]", "filter.companies[2]"]
    assert "no company has this number" in failure.errors[0].message


async def test_a_lock_is_free_when_its_holder_is_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchlists, "MAX_LOCK_WAIT", 0.2)
    held = OwnerLocks(world.database, lambda: world.now)
    async with held.held(OWNER):
        with pytest.raises(Unavailable):
            async with held.held(OWNER):
                pass
        world.now += LOCK_LEASE

        async with held.held(OWNER):
            pass
