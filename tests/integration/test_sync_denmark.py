"""Synchronisation of the Danish register, over its own interface and into MongoDB."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from ingest.following.passes import Outcome
from ingest.loading.stores import Position
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from register_samples.registers import Document
from register_samples.server import BrokenOff, Failure, ShardFailed, Slow
from register_samples.server.serving import Fault
from tests.conftest import DatabaseNames
from tests.syncing.world import DENMARK, World, a_world

pytestmark = pytest.mark.integration

TODAY = date(2026, 11, 2)

#: Of the showcase.
COMPANY, HOLDING, UNIT = "12345674", "12345682", "1012345670"


async def test_changes_are_stored_and_published(world: World) -> None:
    await world.sync(*DENMARK)
    world.registers.dk.set_status(COMPANY, "UNDER KONKURS", TODAY)
    world.registers.dk.set_owner(HOLDING, "12345712", "0.25", TODAY)
    world.registers.dk.rename_unit(UNIT, "Prøvebutikken", TODAY)

    await world.sync(*DENMARK)

    company = await world.stored_company(COMPANY, country="dk")
    assert (company["status"], company["status_text"]) == ("bankrupt", "UNDER KONKURS")
    assert (await world.stored_unit(UNIT, country="dk"))["name"] == "Prøvebutikken"
    assert await world.events() == [
        ("company.status_changed", f"dk:{COMPANY}"),
        ("owners.changed", f"dk:{HOLDING}"),
        ("production_unit.updated", f"dk:{COMPANY}"),
    ]


async def test_a_new_company_is_stored_before_its_units(world: World) -> None:
    await world.sync(*DENMARK)
    _, number = world.registers.add_companies()

    # Only the units are synchronised; their company is fetched, too.
    await world.sync(DK_UNITS)

    told = await world.events_of(f"dk:{number}")
    assert (told[0], set(told[1:])) == ("company.created", {"production_unit.created"})


async def test_a_moving_unit_has_events_of_both_companies(world: World) -> None:
    await world.sync(*DENMARK)
    world.registers.dk.move_unit(UNIT, to=HOLDING, on=TODAY)

    await world.sync(*DENMARK)

    assert set(await world.events()) == {
        ("production_unit.updated", f"dk:{COMPANY}"),
        ("production_unit.created", f"dk:{HOLDING}"),
    }


async def test_a_change_that_appears_late_is_not_missed(world: World) -> None:
    world.registers.dk.rename(HOLDING, "Holdingselskabet ApS", TODAY)
    early = world.clock()
    world.clock.advance(timedelta(minutes=30))
    world.registers.dk.rename(COMPANY, "Første Navn ApS", TODAY)
    await world.sync(*DENMARK)

    def rename(company: Document) -> None:
        company["navne"][-1]["navn"] = "Sent Navn ApS"

    world.registers.dk.companies.change("12345712", rename, at=early)
    await world.sync(*DENMARK)

    assert await world.name_of("12345712", country="dk") == "Sent Navn ApS"
    assert await world.events() == [("company.updated", "dk:12345712")]


async def test_a_wrong_password_is_not_retried(
    mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, cvr_user="somebody") as world:
        assert await world.outcomes(DK_COMPANIES) == [Outcome.REGISTER_FAULT]
        assert len(world.served.requests) == 1


async def test_an_unreadable_document_neither_holds_up_others_nor_moves_the_cursor(
    world: World,
) -> None:
    await world.sync(*DENMARK)
    before = await world.cursor(DK_COMPANIES)
    world.registers.dk.companies.change(COMPANY, lambda company: company.update(navne="intet"))
    alone = await world.outcomes(DK_COMPANIES)
    stands = await world.cursor(DK_COMPANIES)
    world.registers.dk.rename(HOLDING, "Holdingselskabet ApS", TODAY)

    beside_another = await world.outcomes(DK_COMPANIES)

    assert alone == beside_another == [Outcome.REFUSED]
    assert stands.position == before.position
    assert await world.events() == [("company.updated", f"dk:{HOLDING}")]


_TURNED = "company.status_changed"


def mistaken(document: Document) -> None:
    document["fejlRegistreret"] = True


async def test_a_company_registered_in_error_has_ended_until_it_is_reinstated(
    world: World,
) -> None:
    await world.sync(*DENMARK)
    before = await world.stored_company(HOLDING, country="dk")
    world.registers.dk.companies.change(HOLDING, mistaken)
    world.registers.dk.units.change(UNIT, mistaken)
    await world.sync(*DENMARK, *DENMARK)
    ended = await world.stored_company(HOLDING, country="dk")
    world.registers.dk.companies.change(HOLDING, lambda company: company.pop("fejlRegistreret"))
    await world.sync(*DENMARK)

    changed = {name: ended[name] for name in before if before[name] != ended[name]}
    assert changed.keys() == {"status", "status_text", "status_since", "ended"}
    assert (ended["status"], ended["status_text"]) == ("ended", "FEJLREGISTRERET")
    assert await world.stored_company(HOLDING, country="dk") == before
    # Its owners and roles go with it, and come back.
    of_it = [(name, f"dk:{HOLDING}") for name in (_TURNED, "company.updated", "owners.changed")]
    assert await world.events() == [*of_it, ("production_unit.ended", f"dk:{COMPANY}"), *of_it]


async def test_an_unknown_company_registered_in_error_is_out_of_scope(world: World) -> None:
    world.registers.dk.companies.change(HOLDING, mistaken)

    await world.sync(DK_COMPANIES)

    assert await world.found("companies", f"dk:{HOLDING}") is None


async def test_a_document_dated_in_the_future_hides_no_earlier_change(world: World) -> None:
    far_ahead = datetime(2206, 1, 1, tzinfo=UTC)
    world.registers.dk.companies.change(HOLDING, lambda _: None, at=far_ahead)
    await world.sync(DK_COMPANIES)
    reached = (await world.cursor(DK_COMPANIES)).position.at
    world.clock.advance(timedelta(hours=3))
    world.registers.dk.rename(COMPANY, "Første Navn ApS", TODAY)

    await world.sync(DK_COMPANIES)

    moved = (await world.cursor(DK_COMPANIES)).position.at
    assert await world.name_of(COMPANY, country="dk") == "Første Navn ApS"
    assert reached < moved < world.clock()


@pytest.mark.parametrize(
    "path, fault, outcome",
    [
        ("/virksomhed/_search", ShardFailed(), Outcome.REGISTER_UNAVAILABLE),
        ("/_search/scroll", ShardFailed(), Outcome.REGISTER_UNAVAILABLE),
        ("/_search/scroll", Failure(404), Outcome.REGISTER_FAULT),
        # Asked for again, the register would give the page after the lost one.
        ("/_search/scroll", BrokenOff(told=True), Outcome.REGISTER_UNAVAILABLE),
    ],
    ids=["failed shard of a search", "failed shard of a scroll", "expired scroll", "lost page"],
)
async def test_documents_of_a_failed_page_are_read_by_the_next_pass(
    world: World, path: str, fault: Fault, outcome: Outcome
) -> None:
    world.served.faults.plan(path, fault)

    outcomes = await world.outcomes(DK_COMPANIES, DK_COMPANIES)

    stored = await world.contents()
    assert outcomes == [outcome, Outcome.DONE]
    assert len(stored["companies"]) == 25
    assert stored["outbox"] == [], "it was still the first load"


async def test_a_register_without_documents_is_not_loaded(world: World) -> None:
    sound = dict(world.registers.dk.companies.documents)
    world.registers.dk.companies.documents.clear()

    empty = await world.outcomes(DK_COMPANIES)
    loaded = await world.is_loaded(DK_COMPANIES)
    world.registers.dk.companies.documents.update(sound)
    full = await world.outcomes(DK_COMPANIES)

    assert (empty, loaded, full) == ([Outcome.REGISTER_FAULT], False, [Outcome.DONE])
    assert await world.events() == []


async def test_a_change_that_moves_only_the_time_of_loading_is_stored_and_published(
    world: World,
) -> None:
    await world.sync(*DENMARK)
    world.clock.advance(timedelta(days=2))
    world.registers.dk.count_employees(COMPANY, TODAY, 17)
    world.registers.dk.rename_participant(HOLDING, "Andet Navn")
    world.clock.advance(timedelta(hours=2))

    await world.sync(*DENMARK, *DENMARK)

    company = await world.stored_company(COMPANY, country="dk")
    assert company["employees"]["exact"] == 17
    assert sorted(await world.events()) == [
        ("company.updated", f"dk:{COMPANY}"),
        ("owners.changed", f"dk:{HOLDING}"),
    ]


async def test_documents_without_a_time_of_loading_are_read_by_that_of_their_change(
    world: World,
) -> None:
    def without_times(*names: str) -> Callable[[Document], None]:
        def edit(company: Document) -> None:
            company["navne"][-1]["navn"] = "Uden Tid ApS"
            company.update(dict.fromkeys(names))

        return edit

    await world.sync(*DENMARK)
    companies = world.registers.dk.companies
    companies.change(COMPANY, lambda _: None)
    without_times("sidstIndlaest")(companies.content(COMPANY))
    without_times("sidstIndlaest", "sidstOpdateret")(companies.content(HOLDING))
    before = await world.cursor(DK_COMPANIES)

    await world.sync(*DENMARK, *DENMARK)

    names = [await world.name_of(number, country="dk") for number in (COMPANY, HOLDING)]
    assert names == ["Uden Tid ApS"] * 2
    assert sorted(await world.events()) == [
        ("company.updated", f"dk:{COMPANY}"),
        ("company.updated", f"dk:{HOLDING}"),
    ]
    assert (await world.cursor(DK_COMPANIES)).position.at > before.position.at


async def test_a_document_without_a_time_of_loading_does_not_let_the_cursor_pass_others(
    world: World,
) -> None:
    """The search for others fails after the first one has been answered."""
    await world.sync(DK_COMPANIES)
    companies = world.registers.dk.companies
    world.registers.dk.rename(HOLDING, "Holdingselskabet ApS", TODAY)
    world.clock.advance(timedelta(days=1))
    companies.change(COMPANY, lambda _: None)
    companies.content(COMPANY)["sidstIndlaest"] = None
    before = await world.cursor(DK_COMPANIES)
    world.served.faults.plan("/virksomhed/_search", Slow(0), Failure(404))

    outcomes = await world.outcomes(DK_COMPANIES)
    stands = await world.cursor(DK_COMPANIES)
    await world.sync(DK_COMPANIES)

    assert (outcomes, stands.position) == ([Outcome.REGISTER_FAULT], before.position)
    assert await world.events() == [("company.updated", f"dk:{HOLDING}")]


async def test_a_cursor_of_the_earlier_release_misses_nothing(world: World) -> None:
    """It stands at the time of a change, which is never later than that of its loading."""
    await world.sync(DK_COMPANIES)
    cursor = await world.cursor(DK_COMPANIES)
    changed = world.clock()
    world.clock.advance(timedelta(hours=3))
    world.registers.dk.rename(HOLDING, "Holdingselskabet ApS", TODAY)
    world.registers.dk.companies.content(HOLDING)["sidstOpdateret"] = changed.isoformat()
    await world.wiring.stores.cursors.move(
        DK_COMPANIES.name, replace(cursor, position=Position(changed + timedelta(hours=2)))
    )

    await world.sync(DK_COMPANIES)

    assert await world.events() == [("company.updated", f"dk:{HOLDING}")]
