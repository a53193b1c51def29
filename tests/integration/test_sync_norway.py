"""Synchronisation of the Norwegian register, over its own interface and into MongoDB."""

import gzip
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from ingest.changes.states import Conflict
from ingest.following.passes import Outcome
from ingest.loading.stores import Cursor, StoredCursors
from ingest.registers import table
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.peppol.sync import PEPPOL
from register_samples.server.brreg import innehaver
from tests.syncing.world import NORWAY, START, World

pytestmark = pytest.mark.integration

TODAY = date(2026, 11, 2)

#: Of the showcase: a company with two units, one more company, a sole trader.
COMPANY, OTHER, TRADER = "310345679", "310345806", "310345717"
UNIT = "310345687"
OLA = innehaver("Ola", "Nytesen", "1980-02-03")


async def owners_of(world: World, number: str) -> bytes:
    company = await world.found("companies", f"no:{number}")
    assert company is not None
    owners: bytes = company["owners"]
    return owners


async def test_changes_are_fetched_and_published(world: World) -> None:
    await world.sync(*NORWAY)
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    world.registers.no.go_bankrupt(OTHER, TODAY)

    await world.sync(*NORWAY)

    assert await world.name_of(COMPANY) == "NYE PRØVEFABRIKKEN AS"
    assert (await world.stored_company(OTHER))["status"] == "bankrupt"
    assert await world.events() == [
        ("company.updated", f"no:{COMPANY}"),
        ("company.status_changed", f"no:{OTHER}"),
    ]


async def test_a_new_company_is_published_with_its_units_and_owners(world: World) -> None:
    await world.sync(*NORWAY)
    number, _ = world.registers.add_companies()
    for unit in world.registers.no.units_of(number):
        world.registers.no.units.tell(unit, "Endring")
    world.registers.no.set_roles(number, innehaver("Kari", "Testesen", "1970-01-01"))

    # The sources in the wrong order: a unit's company is brought before the unit is.
    await world.sync(NO_ROLES, NO_UNITS, NO_ENTITIES)

    units = {"production_unit.created"} if world.registers.no.units_of(number) else set()
    told = set(await world.events_of(f"no:{number}"))
    assert told == {"company.created", "owners.changed"} | units


class OvertakenCursors(StoredCursors):
    """Another process moves the cursor of the companies first, so many times."""

    times = 1

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        moved = await super().move(source, cursor)
        if source == NO_ENTITIES.name and self.times:
            self.times -= 1
            raise Conflict
        return moved


@pytest.mark.parametrize(
    "changes,overtaken,outcome",
    [(15, 1, Outcome.DONE), (200, 1000, Outcome.SUPERSEDED)],
    ids=["read on", "wait"],
)
async def test_a_unit_is_stored_after_its_company_although_another_process_reads_companies_first(
    world: World, changes: int, overtaken: int, outcome: Outcome
) -> None:
    await world.sync(*NORWAY)
    for turn in range(changes):
        world.registers.no.entities.change(COMPANY, {"epostadresse": f"post{turn}@example.com"})
    number, _ = world.registers.add_companies()
    unit = {**world.registers.no.units.documents[UNIT], "overordnetEnhet": number}
    world.registers.no.units.add(unit)
    cursors = OvertakenCursors(world.database)
    cursors.times = overtaken
    stores = replace(world.wiring.stores, cursors=cursors)

    result = await table.passes(replace(world.wiring, stores=stores), NO_UNITS).once()
    meanwhile = await world.events_of(f"no:{number}")
    await world.sync(NO_UNITS)

    told = await world.events_of(f"no:{number}")
    assert (result.outcome, bool(meanwhile)) == (outcome, outcome is Outcome.DONE)
    assert (told[0], set(told[1:])) == ("company.created", {"production_unit.created"})


async def test_a_deleted_company_has_ended_and_keeps_its_fields(world: World) -> None:
    await world.sync(NO_ENTITIES)
    before = await world.stored_company(COMPANY)
    world.registers.no.entities.delete(COMPANY, TODAY)

    await world.sync(NO_ENTITIES)

    end = {
        "status": "ended",
        "status_text": "Slettet",
        "status_since": "2026-11-02",
        "ended": "2026-11-02",
    }
    assert await world.stored_company(COMPANY) == {**before, **end}
    assert await world.events() == [("company.status_changed", f"no:{COMPANY}")]


@pytest.mark.parametrize("entry", ["Fjernet", "Endring", "Sletting"])
async def test_a_company_that_the_feed_removes_or_that_is_gone_is_purged(
    world: World, entry: str
) -> None:
    await world.sync(*NORWAY)
    world.registers.no.entities.remove(COMPANY)
    world.registers.no.entities.updates[-1]["endringstype"] = entry

    await world.sync(*NORWAY)

    stored = await world.contents()
    assert f"no:{COMPANY}" not in {company["_id"] for company in stored["companies"]}
    assert f"no:{COMPANY}" not in {unit["company"] for unit in stored["production_units"]}
    assert [tombstone["_id"] for tombstone in stored["tombstones"]] == [f"no:{COMPANY}"]
    assert await world.events() == [("company.removed", f"no:{COMPANY}")]


async def test_a_unit_changes_moves_closes_and_is_deleted(world: World) -> None:
    await world.sync(*NORWAY)
    units = world.registers.no.units
    moving, closing, ending, going = list(units.documents)[:4]
    units.change(moving, {"navn": "PRØVEBUA"})
    world.registers.no.move_unit(moving, to=OTHER, on=TODAY)
    units.change(closing, {"nedleggelsesdato": "2026-11-01"})
    units.delete(ending, TODAY)
    units.remove(going)

    await world.sync(NO_UNITS)

    moved = await world.found("production_units", f"no:{moving}")
    assert moved is not None
    assert moved["company"] == f"no:{OTHER}"
    assert (await world.stored_unit(moving))["name"] == "PRØVEBUA"
    assert (await world.stored_unit(closing))["ended"] == "2026-11-01"
    assert (await world.stored_unit(ending))["ended"] == "2026-11-02"
    assert await world.found("production_units", f"no:{going}") is None


async def an_identified_unit(world: World) -> None:
    """The unit has an e-invoicing identifier, and everything is synchronised."""
    directory = world.registers.directory
    directory.register("0192", UNIT, holder=UNIT, country="no", on=TODAY)
    directory.publish()
    await world.sync(*NORWAY, PEPPOL)


async def test_a_moving_unit_keeps_its_identifiers(world: World) -> None:
    await an_identified_unit(world)
    world.registers.no.move_unit(UNIT, to=OTHER, on=TODAY)

    await world.sync(NO_UNITS)

    assert sorted(await world.events()) == [
        ("einvoicing.changed", f"no:{COMPANY}"),
        ("einvoicing.changed", f"no:{OTHER}"),
        ("production_unit.created", f"no:{OTHER}"),
        ("production_unit.updated", f"no:{COMPANY}"),
    ]


async def test_a_removed_unit_is_published_as_ended_and_not_restored(world: World) -> None:
    await an_identified_unit(world)
    world.registers.no.units.change(UNIT, {"navn": "DET GAMLE NAVNET"})
    await world.sync(NO_UNITS)
    older = world.registers.no.snapshots["underenheter"]
    world.registers.no.units.remove(UNIT)

    await world.sync(NO_UNITS)
    told = {event["type"]: event for event in await world.told()}
    await world.rewind_to_the_file(NO_UNITS)
    [again] = await world.outcomes(NO_UNITS)

    ended = told["production_unit.ended"]["data"]["production_unit"]
    assert set(told) == {"production_unit.ended", "einvoicing.changed"}, "the rename is forgotten"
    assert (ended["number"], ended["name"]) == (UNIT, None)
    assert "DET GAMLE NAVNET" not in str(await world.told())
    assert UNIT.encode() in gzip.decompress(older.body), "the file that was read again has it"
    assert again is Outcome.DONE
    assert await world.found("production_units", f"no:{UNIT}") is None
    assert await world.found("participants", f"0192:{UNIT}") is None
    assert len(await world.events()) == 2


async def test_owners_follow_the_roles(world: World) -> None:
    await world.sync(*NORWAY)
    world.registers.no.set_roles(TRADER, OLA)

    await world.sync(NO_ROLES)

    owners = await owners_of(world, TRADER)
    assert b"Ola Nytesen" in owners
    assert b"1980" not in owners
    assert await world.events() == [("owners.changed", f"no:{TRADER}")]


async def holders_of(world: World, number: str) -> tuple[bytes, bytes]:
    company = await world.found("companies", f"no:{number}")
    assert company is not None
    return company["owners"], company["roles"]


async def test_a_deleted_company_has_no_owners_and_roles_any_more(world: World) -> None:
    await world.sync(*NORWAY)
    with_owner, with_board = await holders_of(world, TRADER), await holders_of(world, COMPANY)
    for number in (TRADER, COMPANY):
        world.registers.no.entities.delete(number, TODAY)

    await world.sync(NO_ENTITIES)
    at_once = [await holders_of(world, number) for number in (TRADER, COMPANY)]
    events = sorted(await world.events())
    await world.rewind_to_the_file(NO_ROLES)
    await world.sync(NO_ROLES)

    assert (with_owner[0], with_board[1]) != (b"null", b"[]")
    assert at_once == [(b"null", b"[]")] * 2
    assert [await holders_of(world, number) for number in (TRADER, COMPANY)] == at_once
    assert events == sorted(
        [
            ("company.status_changed", f"no:{TRADER}"),
            ("owners.changed", f"no:{TRADER}"),
            ("company.status_changed", f"no:{COMPANY}"),
            ("company.updated", f"no:{COMPANY}"),
        ]
    )


async def test_roles_that_the_register_gives_no_more_are_withdrawn_if_it_has_the_entity(
    world: World,
) -> None:
    await world.sync(*NORWAY)
    before = await holders_of(world, COMPANY)
    entities = world.registers.no.entities
    entities.delete(TRADER, TODAY)
    entities.documents.pop(COMPANY)  # Each of its paths is a 404, as in an outage.
    for number in (TRADER, COMPANY, "999999999"):
        world.registers.no.tell_roles(number)

    await world.sync(NO_ROLES)

    assert await holders_of(world, TRADER) == (b"null", b"[]")
    assert await holders_of(world, COMPANY) == before
    assert await world.found("companies", "no:999999999") is None
    assert await world.events() == [("owners.changed", f"no:{TRADER}")]


async def test_roles_that_an_earlier_release_left_to_ended_companies_are_withdrawn_by_the_file(
    world: World,
) -> None:
    await world.sync(*NORWAY)
    roles = await holders_of(world, COMPANY)
    world.registers.no.entities.delete(COMPANY, TODAY)
    await world.sync(NO_ENTITIES)
    left = {"owners": roles[0], "roles": roles[1], "owners_version": [START, 0]}
    await world.database["companies"].update_one({"_id": f"no:{COMPANY}"}, {"$set": left})
    world.publish_a_week_later()
    world.served.requests.clear()

    await world.sync(NO_ROLES)

    assert await holders_of(world, COMPANY) == (b"null", b"[]")
    assert (await world.events())[-1] == ("company.updated", f"no:{COMPANY}")
    assert not [asked for asked in world.served.requests if COMPANY in str(asked)]


async def test_several_pages_are_each_read_once(world: World) -> None:
    await world.sync(NO_ENTITIES, NO_ROLES)
    numbers = [found["organisasjonsnummer"] for found in world.registers.no.entities.standing()]
    for turn in range(35):
        number = numbers[turn % 20]
        world.registers.no.entities.change(number, {"epostadresse": f"post{turn}@example.com"})
        world.registers.no.tell_roles(number)
    await world.sync(NO_ENTITIES, NO_ROLES)
    world.served.requests.clear()

    await world.sync(NO_ENTITIES, NO_ROLES)

    assert len(await world.events()) == 20
    assert len(world.served.requests) == 2, "one empty page of each feed"


async def test_role_events_of_one_time_on_two_pages_are_all_read(world: World) -> None:
    await world.sync(NO_ROLES)
    numbers = list(world.registers.no.roles)[:15]
    moment = world.clock()
    for number in numbers:
        world.registers.no.roles[number]["rollegrupper"] = OLA
        world.registers.no.tell_roles(number, at=moment)

    await world.sync(NO_ROLES)

    assert all([b"Ola Nytesen" in await owners_of(world, number) for number in numbers])


async def test_repeated_unordered_and_unknown_entries_are_harmless(world: World) -> None:
    await world.sync(NO_ENTITIES)
    entities = world.registers.no.entities
    world.rename(COMPANY, "FØRSTE NAVN AS")
    entities.updates += [entities.updates[-1]] * 3
    world.rename(COMPANY, "ANDRE NAVN AS")
    for number, change in {
        "999999999": "Endring",
        "12345": "Endring",
        "987654321": "Fjernet",
    }.items():
        entities.tell(number, change)
    world.rename(OTHER, "TREDJE NAVN AS")
    entities.updates[-6:] = reversed(entities.updates[-6:])

    outcomes = await world.outcomes(NO_ENTITIES, NO_ENTITIES)

    assert await world.name_of(COMPANY) == "ANDRE NAVN AS"
    assert await world.name_of(OTHER) == "TREDJE NAVN AS"
    assert sorted(await world.events()) == [
        ("company.updated", f"no:{COMPANY}"),
        ("company.updated", f"no:{OTHER}"),
    ]
    # 12345 is not an organisation number.
    assert outcomes == [Outcome.REFUSED, Outcome.DONE]
    assert (await world.cursor(NO_ENTITIES)).position.sequence == max(
        update["oppdateringsid"] for update in entities.updates
    )


async def test_a_change_made_while_the_file_was_written_is_not_lost(world: World) -> None:
    # The file was begun before the change and is dated after it.
    old = world.registers.no.snapshots["enheter"]
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    world.clock.advance(timedelta(hours=1))
    world.registers.no.snapshots["enheter"] = replace(old, modified=world.clock())

    await world.sync(NO_ENTITIES)

    assert await world.name_of(COMPANY) == "NYE PRØVEFABRIKKEN AS"


async def test_changes_that_the_feed_missed_are_found_in_the_weekly_file(world: World) -> None:
    await world.sync(*NORWAY)
    entities, units = world.registers.no.entities, world.registers.no.units
    ended, removed = [number for number in entities.documents if not number.startswith("3103")][:2]
    unit = next(iter(units.documents))
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    entities.delete(ended, TODAY)
    entities.remove(removed)
    units.change(unit, {"navn": "GLEMT BUTIKK"})
    number, _ = world.registers.add_companies()
    world.registers.no.set_roles(TRADER, OLA)
    world.forget_feeds()
    world.publish_a_week_later()

    await world.sync(*NORWAY)

    assert await world.name_of(COMPANY) == "NYE PRØVEFABRIKKEN AS"
    assert (await world.stored_company(ended))["status"] == "ended"
    assert await world.found("companies", f"no:{removed}") is None
    assert (await world.stored_unit(unit))["name"] == "GLEMT BUTIKK"
    assert (await world.stored_company(number))["vat"] == number
    told = {("company.removed", f"no:{removed}"), ("owners.changed", f"no:{TRADER}")}
    assert told <= set(await world.events())


async def test_an_older_file_does_not_revert_newer_records(world: World) -> None:
    await world.sync(*NORWAY)
    world.publish_a_week_later()
    # After the file was made: changes, a new company and an end, all read from the feeds.
    world.change_a_lot()
    await world.reconciled_just_now(*NORWAY)
    await world.sync(*NORWAY)
    before = await world.contents()

    await world.reconcile_next_time(*NORWAY)
    await world.sync(*NORWAY)

    assert await world.contents() == before


async def test_a_difference_that_the_register_does_not_confirm_changes_nothing(
    world: World,
) -> None:
    await world.sync(*NORWAY)
    before = await world.contents()
    # A file that lacks a company and misnames another, newer than all that is stored.
    entities = world.registers.no.entities.documents
    right = dict(entities)
    del entities[COMPANY]
    entities[OTHER] = {**entities[OTHER], "navn": "FEIL NAVN AS"}
    world.publish_a_week_later()
    entities.update(right)

    [outcome, *_] = await world.outcomes(*NORWAY)

    assert outcome is Outcome.DONE
    assert await world.contents() == before


async def test_an_unchanged_file_is_not_compared_again(world: World) -> None:
    await world.sync(NO_ENTITIES)
    world.clock.advance(timedelta(days=7))
    world.served.requests.clear()

    await world.sync(NO_ENTITIES, NO_ENTITIES)

    files = [request for request in world.served.requests if request.endswith("/lastned")]
    assert len(files) == 1, "304, and then not due for another week"


async def test_the_update_time_of_a_company_is_the_registers_and_not_the_requests(
    world: World,
) -> None:
    await world.sync(NO_ENTITIES)
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    told_at = datetime.fromisoformat(world.registers.no.entities.updates[-1]["dato"])
    world.clock.advance(timedelta(hours=3))
    await world.sync(NO_ENTITIES)
    from_the_feed = await world.found("companies", f"no:{COMPANY}")

    world.rename(COMPANY, "NYESTE PRØVEFABRIKKEN AS")
    world.forget_feeds()
    world.publish_a_week_later()
    made_at = world.registers.no.snapshots["enheter"].modified
    world.clock.advance(timedelta(hours=3))
    await world.sync(NO_ENTITIES)
    from_the_file = await world.found("companies", f"no:{COMPANY}")

    assert from_the_feed is not None
    assert from_the_file is not None
    assert from_the_feed["updated_at"] == told_at
    assert from_the_feed["version"][0] > told_at + timedelta(hours=3), "as new as the question"
    assert from_the_file["updated_at"] == made_at.replace(microsecond=0)


async def test_role_events_dated_in_the_future_hide_no_other_and_end_the_pass(
    world: World,
) -> None:
    await world.sync(*NORWAY)
    far_ahead = datetime(2206, 1, 1, tzinfo=UTC)
    for number in list(world.registers.no.roles)[:12]:
        world.registers.no.tell_roles(number, at=far_ahead)
    await world.sync(NO_ROLES)
    # The feed gives them by their times.
    world.registers.no.set_roles(TRADER, OLA)
    events = world.registers.no.role_events
    events.insert(0, events.pop())

    await world.sync(NO_ROLES)
    world.served.requests.clear()
    await world.sync(NO_ROLES)

    assert b"Ola Nytesen" in await owners_of(world, TRADER)
    assert (await world.cursor(NO_ROLES)).position.at < world.clock()
    assert [one for one in world.served.requests if "/oppdateringer/" not in one] == []


async def test_a_number_that_the_register_rejects_does_not_hold_up_its_batch(world: World) -> None:
    await world.sync(NO_ENTITIES, NO_ROLES)
    world.registers.no.entities.refused.add("987654321")
    world.registers.no.entities.tell("987654321", "Endring")
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    world.registers.no.tell_roles("987654321")
    world.registers.no.set_roles(TRADER, OLA)

    refused = await world.outcomes(NO_ENTITIES, NO_ROLES)
    again = await world.outcomes(NO_ENTITIES, NO_ROLES)

    assert (refused, again) == ([Outcome.REFUSED] * 2, [Outcome.DONE] * 2)
    assert await world.events() == [
        ("company.updated", f"no:{COMPANY}"),
        ("owners.changed", f"no:{TRADER}"),
    ]
