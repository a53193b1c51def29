"""Synchronisation of the Peppol Directory, over its export and into MongoDB."""

from datetime import date, timedelta

import pytest

from ingest.following.passes import Outcome
from ingest.registers.cvr.sync import DK_COMPANIES
from ingest.registers.peppol.sync import PEPPOL
from register_samples.numbers import gln
from register_samples.server import Failure
from tests.syncing.world import World

pytestmark = pytest.mark.integration

COMPANY = "12345674"
GLN = "5790000099997"
TODAY = date(2026, 11, 2)
HOUR = timedelta(hours=1)


def exports(world: World) -> int:
    """The number of downloads of the export."""
    return sum("/export/" in request for request in world.served.requests)


async def test_a_new_identifier_is_published_by_the_next_days_pass(world: World) -> None:
    await world.sync(DK_COMPANIES, PEPPOL)
    world.registers.directory.register("0088", GLN, holder=COMPANY, country="dk", on=TODAY)
    world.registers.publish()
    world.clock.advance(25 * HOUR)

    await world.sync(PEPPOL)

    assert await world.events() == [("einvoicing.changed", f"dk:{COMPANY}")]


async def test_the_export_is_downloaded_once_a_day_regardless_of_passes(world: World) -> None:
    for _ in range(3):
        await world.sync(PEPPOL)
    once = exports(world)
    world.clock.advance(25 * HOUR)
    await world.sync(PEPPOL)

    assert (once, exports(world)) == (1, 2)


async def test_an_unchanged_export_is_not_downloaded(world: World) -> None:
    await world.sync(PEPPOL)
    before = await world.contents()
    world.clock.advance(25 * HOUR)
    world.served.requests.clear()

    [result] = await world.sync(PEPPOL)

    assert result.outcome is Outcome.DONE
    assert await world.contents() == before
    assert world.clock() - (await world.cursor(PEPPOL)).until < HOUR


async def test_a_failed_download_is_retried_sooner_within_the_limit(
    world: World,
) -> None:
    # Each attempt fails, retries included.
    world.served.faults.plan("/export/businesscards-json", *[Failure(404)] * 9)

    asked = []
    for _ in range(24):
        await world.sync(PEPPOL)
        asked.append(exports(world))
        world.clock.advance(HOUR)

    assert asked[0] == 1
    assert asked[9] == 2
    assert asked[-1] == 3, "the directory allows three a day"


async def test_an_identifier_missing_from_the_export_is_dropped_and_published(
    world: World,
) -> None:
    directory = world.registers.directory
    pid = directory.register("0088", GLN, holder=COMPANY, country="dk", on=TODAY)
    directory.publish()
    await world.sync(DK_COMPANIES, PEPPOL)
    before = (await world.contents())["participants"]
    directory.withdraw(pid)
    directory.publish()
    world.clock.advance(25 * HOUR)

    await world.sync(PEPPOL)

    left = (await world.contents())["participants"]
    assert {found["_id"] for found in before} - {found["_id"] for found in left} == {f"0088:{GLN}"}
    assert await world.events() == [("einvoicing.changed", f"dk:{COMPANY}")]
    [event] = await world.told()
    [change] = event["data"]["changes"]
    assert f"0088:{GLN}" in {entry["identifier"] for entry in change["old"]}
    assert f"0088:{GLN}" not in {entry["identifier"] for entry in change["new"]}


async def test_an_export_with_far_fewer_identifiers_fails_the_pass(world: World) -> None:
    directory = world.registers.directory
    for index in range(110):
        directory.register("0088", gln("5790", index), holder=COMPANY, country="dk", on=TODAY)
    directory.publish()
    await world.sync(DK_COMPANIES, PEPPOL)
    before = (await world.contents())["participants"]
    directory.cards.clear()
    directory.publish()
    world.clock.advance(25 * HOUR)

    [result] = await world.sync(PEPPOL)

    assert result.outcome is Outcome.REGISTER_FAULT
    assert (await world.contents())["participants"] == before


async def test_a_holder_of_many_identifiers_has_small_events(world: World) -> None:
    directory = world.registers.directory
    await world.sync(DK_COMPANIES, PEPPOL)
    pids = [
        directory.register("0088", gln("5790", place), holder=COMPANY, country="dk", on=TODAY)
        for place in range(50_000, 51_500)
    ]
    directory.publish()
    world.clock.advance(25 * HOUR)
    [registered] = await world.sync(PEPPOL)
    for pid in pids[:700]:
        directory.withdraw(pid)
    directory.publish()
    world.clock.advance(25 * HOUR)
    [withdrawn] = await world.sync(PEPPOL)

    assert [registered.outcome, withdrawn.outcome] == [Outcome.DONE, Outcome.DONE]
    changes = [change for event in await world.told() for change in event["data"]["changes"]]
    assert all(change["partial"] for change in changes)
    shown = [entry["identifier"] for change in changes for entry in change["new"]]
    gone = [entry["identifier"] for change in changes for entry in change["old"]]
    assert sorted(shown) == sorted(pid.partition("::")[2] for pid in pids)
    assert sorted(gone) == sorted(pid.partition("::")[2] for pid in pids[:700])
    sizes = [len(row["body"]) async for row in world.database["outbox"].find()]
    assert max(sizes) < 100 * 1024
