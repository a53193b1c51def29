"""A limited person is left out of a company, of its events, and of every later import."""

import os
from collections.abc import Callable
from datetime import date
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, OwnerRole, Role
from common.domain.limited import hash_of_name
from common.mongo import Client, Database, database
from ingest.changes.limits import limited_record
from ingest.records.records import CompanyRecord
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from tests.builders.companies import (
    TUESDAY,
    a_company,
    a_company_record,
    a_held_role,
    a_norwegian_record,
    an_owner,
    an_owners_record,
)
from tests.builders.loading import Loader
from tests.commanding import run_main
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.integration

ANNA, BENT = "Anna Testesen", "Bent Prøvesen"
DANISH, NORWEGIAN = CompanyKey.parse("dk:12345674"), CompanyKey.parse("no:987654321")
RULE = "Selskabet tegnes af Anna Testesen alene."

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(mongo_url: str, database_names: DatabaseNames) -> Run:
    environment = {**os.environ, "MONGO_URL": mongo_url, **database_names.environment}

    def run(*arguments: str, module: str = "ingest") -> tuple[int, str, str]:
        return run_main(module, *arguments, environment=environment)

    return run


def danish(*, version: Any = TUESDAY, **fields: Any) -> CompanyRecord:
    owners = [
        an_owner(name=ANNA, role=OwnerRole.OWNER),
        an_owner(name=BENT),
        an_owner(name="Anna Testesen Holding ApS", type="company", vat="87654321"),
    ]
    return a_company_record(
        a_company(signing_rule=RULE, **fields),
        owners=owners,
        roles=[a_held_role(name="TESTESEN ANNA"), a_held_role(name=BENT)],
        version=version,
    )


async def text_of(register: Database) -> str:
    """Every stored document, as text."""
    names = await register.list_collection_names()
    found = [await register[name].find().to_list(None) for name in names]
    return str(found).casefold()


async def test_a_person_is_left_out_of_what_is_stored(store: Loader, run: Run) -> None:
    await store.load(danish(version=None))
    await store.load(danish(name="Nyt Navn ApS"))
    assert len(await store.events()) == 1

    done = run("limit", "dk", "12345674", ANNA)

    assert done == (0, "", "left out; 1 event deleted\n")
    (company,) = (await store.stores.writer.known(companies=[DANISH])).companies.values()
    assert company.revision == 3
    assert [one["name"] for one in orjson.loads(company.owners or b"[]")] == [
        BENT,
        "Anna Testesen Holding ApS",
    ]
    assert [one["name"] for one in orjson.loads(company.roles or b"[]")] == [BENT]
    assert orjson.loads(company.core or b"")["signing_rule"] is None


async def test_a_person_is_left_out_of_the_past_that_a_register_dates(
    store: Loader, run: Run
) -> None:
    holders = [
        {"name": name, "type": type_, "vat": None, "role": "board_chair", "since": "2018-03-01"}
        for name, type_ in ((ANNA, "person"), (BENT, "person"), (f"{ANNA} ApS", "company"))
    ]
    past: list[tuple[str, str, Any]] = [
        ("2018-03-01", "roles", [[], holders]),
        ("2018-03-01", "signing_rule", RULE),
        ("2020-01-01", "signing_rule", "Selskabet tegnes af direktionen."),
        ("2021-01-01", "roles", [holders, []]),
    ]
    await store.load(a_company_record(past=past, version=None))

    run("limit", "dk", "12345674", ANNA)
    await store.load(a_company_record(past=past, version=TUESDAY))

    (company,) = (await store.stores.writer.known(companies=[DANISH])).companies.values()
    assert orjson.loads(company.past or b"") == [
        ["2018-03-01", "roles", [[], holders[1:]]],
        ["2020-01-01", "signing_rule", "Selskabet tegnes af direktionen."],
        ["2021-01-01", "roles", [holders[1:], []]],
    ]


async def test_receivers_are_told_without_the_name(store: Loader, run: Run) -> None:
    await store.load(danish(version=None))

    run("limit", "dk", "12345674", ANNA)

    updated, owners = sorted(await store.events(), key=lambda one: one["type"] == "owners.changed")
    assert updated["data"]["changes"][0] == {"field": "signing_rule", "old": None, "new": None}
    assert [one["field"] for one in updated["data"]["changes"]] == ["signing_rule", "roles"]
    assert owners["data"]["changes"][0]["old"] is None
    assert len(owners["data"]["changes"][0]["new"]) == 2
    assert ANNA.casefold() not in str(updated).casefold()


async def test_a_long_list_is_to_be_requested(store: Loader, run: Run) -> None:
    owners = [an_owner(name=f"{name} Testesen") for name in ("Anna", *map(str, range(101)))]
    await store.load(a_company_record(owners=owners, roles=[], version=None))

    run("limit", "dk", "12345674", ANNA)

    [event] = await store.events()
    [change] = event["data"]["changes"]
    assert change == {"field": "owners", "old": None, "new": None, "partial": True}


async def test_events_that_name_the_person_are_deleted(store: Loader, run: Run) -> None:
    await store.load(danish(version=None))
    # The owner leaves the register: the event has the name as an old value.
    await store.load(a_company_record(a_company(), owners=[], roles=[], version=TUESDAY))
    before = await store.events()
    assert any(ANNA in str(event) for event in before)

    _, _, said = run("limit", "dk", "12345674", ANNA)

    assert "2 events deleted" in said
    assert ANNA.casefold() not in await text_of(store.database)


async def test_the_next_import_does_not_bring_the_person_back(store: Loader, run: Run) -> None:
    await store.load(danish(version=None))
    run("limit", "dk", "12345674", ANNA)
    events = len(await store.events())

    assert await store.count(danish(), verdict="unchanged") == 1
    assert await store.count(danish(name="Nyt Navn ApS"), verdict="changed") == 1

    stored = (await text_of(store.database)).replace("anna testesen holding", "")
    assert "testesen" not in stored
    assert len(await store.events()) == events + 1


async def test_a_person_is_left_out_of_a_company_that_is_not_stored_yet(
    store: Loader, run: Run
) -> None:
    said = run("limit", "no", "987654321", ANNA)[2]
    await store.load(a_norwegian_record(), kind=NO_ENTITIES)
    roles: list[Role] = [a_held_role(name=ANNA), a_held_role(name=BENT)]
    await store.load(an_owners_record(an_owner(name=ANNA), roles=roles), kind=NO_ROLES)

    assert said == "not stored; imports will not store the person; 0 events deleted\n"
    (company,) = (await store.stores.writer.known(companies=[NORWEGIAN])).companies.values()
    assert company.owners == b"[]"
    assert [one["name"] for one in orjson.loads(company.roles or b"[]")] == [BENT]


async def test_what_is_to_come_is_limited_too(store: Loader, run: Run) -> None:
    later = danish(version=None)
    record = a_company_record(a_company(), owners=[], roles=[])
    upcoming = ((date(2030, 1, 1), later),)
    await store.load(CompanyRecord(**{**_fields(record), "upcoming": upcoming}))
    assert ANNA.casefold() in await text_of(store.database)

    said = run("limit", "dk", "12345674", ANNA)[2]

    assert said.startswith("left out")
    assert "testesen" not in (await text_of(store.database)).replace("anna testesen holding", "")
    limited = limited_record(later, [hash_of_name(DANISH, ANNA)])
    (due,) = await store.stores.writer.due(
        DANISH.country, _part(), date(2030, 1, 1), after="", limit=9
    )
    assert isinstance(due, CompanyRecord)
    assert (due.core, due.owner_list, due.role_list) == (
        limited.core,
        limited.owner_list,
        limited.role_list,
    )


async def test_a_company_that_bears_the_name_is_reported(store: Loader, run: Run) -> None:
    await store.load(a_company_record(a_company(name=f"{ANNA} v/Testesen")))

    said = run("limit", "dk", "12345674", ANNA)[2]

    assert said.endswith("still named in: name; remove takes out the whole company\n")


async def test_the_list_is_taken_again_after_a_restore(
    store: Loader, run: Run, mongo: Client
) -> None:
    run("limit", "dk", "12345674", ANNA)
    run("limit", "dk", "12345674", BENT)
    listed = run("limited")[1]
    assert ANNA not in listed
    await mongo.drop_database(store.database.name)

    for line in listed.splitlines():
        assert run("limit", *line.split())[0] == 0
    await store.load(danish())

    assert run("limited")[1] == listed
    (company,) = (await store.stores.writer.known(companies=[DANISH])).companies.values()
    assert orjson.loads(company.roles or b"") == []


async def test_a_limit_ends_with_the_next_document(store: Loader, run: Run) -> None:
    await store.load(danish(version=None))
    run("limit", "dk", "12345674", ANNA)

    ended = run("limit", "--end", "dk", "12345674", ANNA)
    again = run("limit", "--end", "dk", "12345674", ANNA)
    await store.load(danish())

    assert (ended[2], again[2]) == ("ended\n", "the person was not limited\n")
    (company,) = (await store.stores.writer.known(companies=[DANISH])).companies.values()
    assert len(orjson.loads(company.owners or b"")) == 3


@pytest.mark.parametrize("arguments", [("dk", "1", ANNA), ("dk", "12345674", " ")])
def test_a_wrong_number_or_name_is_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("limit", *arguments)[0] == 2
    assert run("limited") == (0, "", "")


async def test_events_to_be_delivered_are_deleted(
    mongo: Client, database_names: DatabaseNames, run: Run
) -> None:
    webhooks = database(mongo, database_names.webhooks)
    bodies = {"told": {"old": [{"name": ANNA}]}, "other": {"old": [{"name": BENT}]}}
    for name, body in bodies.items():
        event = {"_id": name, "company": DANISH, "type": "company.updated"}
        await webhooks["events"].insert_one({**event, "body": orjson.dumps(body)})
        row = {"_id": f"row-{name}", "webhook_id": "wh_1", "event_id": name, "state": "waiting"}
        await webhooks["deliveries"].insert_one(row)

    done = run("limit", "dk", "12345674", ANNA, module="webhook_registry")
    again = run("limit", "dk", "12345674", ANNA, module="webhook_registry")

    assert (done[1], again[1]) == ("1 event deleted\n", "0 events deleted\n")
    assert [one["_id"] async for one in webhooks["events"].find()] == ["other"]
    purged = [one["_id"] async for one in webhooks["deliveries"].find({"purged": True})]
    assert purged == ["row-told"]


def _fields(record: CompanyRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in CompanyRecord.__slots__}


def _part() -> Any:
    return NO_ENTITIES.part
