"""Passes: leases, broken files, and unavailable registers."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import orjson
import pytest

from common.leases import LEASES, StoredLeases
from ingest.following.passes import Outcome, follow
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor
from ingest.registers import table
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES
from ingest.registers.peppol.sync import PEPPOL
from ingest.registers.table import sources
from register_samples.server import BrokenOff, Failure, Slow, TooManyRequests
from register_samples.server.messages import Snapshot
from tests.syncing.world import DENMARK, NORWAY, World

pytestmark = pytest.mark.integration

COMPANY = "310345679"


async def test_of_two_concurrent_syncs_one_runs_the_pass_and_releases_its_lease_at_once(
    world: World,
) -> None:
    other = replace(world.wiring, leases=StoredLeases(world.database, holder="another"))
    both = [table.passes(each, NO_ENTITIES) for each in (world.wiring, other)]
    world.served.faults.plan("/enheter/lastned", Slow(0.2))

    results = await asyncio.gather(*(each.once() for each in both))
    afterwards = [(await each.once()).outcome for each in both]

    assert {result.outcome for result in results} == {Outcome.DONE, Outcome.BUSY}
    assert sum("/lastned" in request for request in world.served.requests) == 1
    assert afterwards == [Outcome.DONE] * 2


async def test_the_first_pass_loads_everything_without_events_and_reading_again_changes_nothing(
    world: World,
) -> None:
    kinds = (*NORWAY, *DENMARK)
    first = await world.outcomes(*kinds)
    loaded, stored = [await world.is_loaded(kind) for kind in kinds], await world.contents()
    world.change_a_lot()
    await world.sync(*kinds)
    before = await world.contents()

    for kind in kinds:
        await world.rewind(kind)
        again = await world.outcomes(kind)

        assert again == [Outcome.DONE]
        assert await world.contents() == before, kind.name
    assert (first, loaded) == ([Outcome.DONE] * 5, [True] * 5)
    assert len(stored["companies"]) + len(stored["production_units"]) > 40
    assert stored["outbox"] == []


async def test_a_truncated_first_file_fails_the_pass(world: World) -> None:
    paths = {
        NO_ENTITIES: "/enheter/lastned",
        NO_UNITS: "/underenheter/lastned",
        NO_ROLES: "/totalbestand",
        PEPPOL: "/stored-exports/businesscards-json",
    }
    for path in paths.values():
        world.served.faults.plan(path, BrokenOff())

    broken = await world.outcomes(*paths)
    loaded = [await world.is_loaded(kind) for kind in paths]
    world.clock.advance(timedelta(hours=9))
    whole = await world.outcomes(*paths)

    assert (broken, loaded) == ([Outcome.REGISTER_FAULT] * 4, [False] * 4)
    assert whole == [Outcome.DONE] * 4
    assert all([await world.is_loaded(kind) for kind in paths])
    assert (await world.contents())["outbox"] == []


async def test_nothing_counts_as_absent_from_a_truncated_file(world: World) -> None:
    await world.sync(NO_ENTITIES)
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    await world.sync(NO_ENTITIES)
    before = await world.contents()
    world.publish_a_week_later()
    world.served.faults.plan("/enheter/lastned", BrokenOff(0.6))
    world.served.requests.clear()

    [result] = await world.sync(NO_ENTITIES)

    assert result.outcome is Outcome.REGISTER_FAULT
    assert await world.contents() == before
    assert not any("organisasjonsnummer=" in request for request in world.served.requests)


async def test_transient_errors_delay_a_pass_without_changing_its_result(world: World) -> None:
    await world.sync(*sources().values())
    world.change_a_lot()
    faults = world.served.faults
    faults.plan("/oppdateringer/enheter", Failure(500), BrokenOff(), TooManyRequests())
    faults.plan("/oppdateringer/underenheter", BrokenOff(told=True), Failure(503))
    faults.plan("/api/enheter", Failure(502), BrokenOff())
    faults.plan("/roller", TooManyRequests(), Failure(500))
    faults.plan("/virksomhed/_search", Failure(500), BrokenOff())

    results = await world.sync(*NORWAY, DK_COMPANIES)
    events = await world.events()
    await world.sync(*NORWAY, DK_COMPANIES)

    assert {result.outcome for result in results} == {Outcome.DONE}
    assert faults.pending == 0
    assert len(events) > 10
    assert await world.events() == events


async def test_an_unavailable_register_is_reported_and_retried_later(world: World) -> None:
    await world.sync(NO_ENTITIES)
    world.rename(COMPANY, "NYE PRØVEFABRIKKEN AS")
    world.served.faults.plan("/oppdateringer/enheter", TooManyRequests(retry_after=3600))

    [away] = await world.sync(NO_ENTITIES)
    [back] = await world.sync(NO_ENTITIES)

    assert (away.outcome, away.wait) == (Outcome.REGISTER_UNAVAILABLE, timedelta(hours=1))
    assert back.outcome is Outcome.DONE
    assert len(await world.events()) == 1


async def test_no_other_process_asks_a_register_before_the_wait_that_it_requested(
    world: World,
) -> None:
    world.served.faults.plan("/enheter/lastned", TooManyRequests(retry_after=3600))
    begun = datetime.now(UTC)

    lane = [table.passes(world.wiring, kind) for kind in (NO_UNITS, NO_ENTITIES)]
    until = list[datetime]()

    async def wait(_seconds: float) -> None:
        async for lease in world.database[LEASES].find({"holder": "test"}):
            until.append(lease["until"])
        raise EndOfTest

    with pytest.raises(EndOfTest):
        await follow(lane, timedelta(seconds=1), lambda: iter((20.0,)), sleep=wait)

    assert len(until) == 2
    assert min(until) > begun + timedelta(hours=1)


async def test_a_followed_source_is_read_repeatedly_with_the_requested_waits(
    world: World,
) -> None:
    lane = [table.passes(world.wiring, kind) for kind in (NO_ENTITIES, NO_UNITS)]
    world.served.faults.plan("/oppdateringer/enheter", Failure(404))
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        world.rename(COMPANY, f"NAVN {len(waited)} AS")
        if len(waited) == 4:
            raise EndOfTest

    with pytest.raises(EndOfTest):
        await follow(lane, timedelta(seconds=3), lambda: iter((20.0, 40.0)), sleep=wait)

    assert waited == [20.0, 3.0, 3.0, 3.0]
    assert len(await world.events()) == 3


async def test_an_unexpected_error_fails_only_the_pass_of_its_source(
    world: World,
) -> None:
    async def broken(_tally: Tally) -> Cursor:
        raise OverflowError("a library's own words")

    lane = [table.passes(world.wiring, kind) for kind in (NO_ENTITIES, NO_UNITS)]
    lane[0] = replace(lane[0], sync=broken)
    rounds = 0

    async def wait(_seconds: float) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 2:
            raise EndOfTest

    with pytest.raises(EndOfTest):
        await follow(lane, timedelta(seconds=1), lambda: iter((1.0, 2.0)), sleep=wait)

    assert (await lane[0].once()).outcome is Outcome.CRASHED
    assert await world.wiring.stores.states.is_loaded(NO_UNITS.name)


class EndOfTest(Exception):
    """Seen enough."""


async def test_a_file_with_far_fewer_records_than_the_last_fails_the_pass(world: World) -> None:
    await world.sync(NO_ENTITIES)
    before, cursor = await world.contents(), await world.cursor(NO_ENTITIES)
    few = orjson.dumps(list(islice(world.registers.no.entities.standing(), 3)))
    for body in (b"[]", few, b"<html>503</html>"):
        world.clock.advance(timedelta(days=7))
        replace_file(world, body)
        world.served.requests.clear()

        [result] = await world.sync(NO_ENTITIES)

        assert result.outcome is Outcome.REGISTER_FAULT
        assert await world.contents() == before
        assert (await world.cursor(NO_ENTITIES)).etag == cursor.etag
        assert not any("organisasjonsnummer=" in request for request in world.served.requests)


async def test_an_empty_first_file_fails_the_pass(world: World) -> None:
    replace_file(world, b"[]")

    assert await world.outcomes(NO_ENTITIES) == [Outcome.REGISTER_FAULT]
    assert not await world.is_loaded(NO_ENTITIES)


def replace_file(world: World, body: bytes) -> None:
    """The register's whole file of entities has this content now."""
    files = world.registers.no.snapshots
    files["enheter"] = Snapshot(body, world.clock(), "application/json")
