"""Feeds with unreadable entries: they neither move a cursor nor hide a later change."""

from typing import Any

import pytest
from prometheus_client import REGISTRY

from ingest.following.passes import Outcome
from ingest.records.source import RegisterSource
from ingest.registers.brreg.sync import NO_ENTITIES
from tests.syncing.world import World

pytestmark = pytest.mark.integration

COMPANY, OTHER = "310345679", "310345806"
SOURCE = NO_ENTITIES


def an_entry(sequence: Any, **fields: Any) -> dict[str, Any]:
    return {
        "oppdateringsid": sequence,
        "dato": "2026-11-02T09:00:00.000Z",
        "organisasjonsnummer": OTHER,
        "endringstype": "Endring",
        **fields,
    }


def unreadable_entries(source: RegisterSource) -> float | None:
    return REGISTRY.get_sample_value("sync_unreadable_entries", {"source": source.name})


@pytest.fixture
async def following(world: World) -> World:
    """Its feed of entities was read up to an entry."""
    await world.sync(SOURCE)
    world.rename(COMPANY, "FØRSTE NAVN AS")
    await world.sync(SOURCE)
    return world


async def test_an_unreadable_entry_neither_moves_the_cursor_nor_hides_later_changes(
    following: World,
) -> None:
    entities = following.registers.no.entities
    entries = [
        an_entry(9_000_000_000_000_000_000, dato="not a time"),
        an_entry(9_000_000_000_000_000_000),
        an_entry(2**63),
        an_entry(2**64 - 1),
        an_entry(9_000_000_000_000_000_000, dato="0001-01-01T00:00:00+14:00"),
    ]
    for number, entry in enumerate(entries):
        before = await following.cursor(SOURCE)
        entities.updates.append(entry)

        [refused] = await following.sync(SOURCE)
        stands = await following.cursor(SOURCE)
        following.rename(COMPANY, f"NAVN {number} AS")
        await following.sync(SOURCE)

        assert refused.outcome is Outcome.REFUSED
        assert stands.position.sequence == before.position.sequence
        assert await following.name_of(COMPANY) == f"NAVN {number} AS"
        last_sound = entities.updates[-1]["oppdateringsid"]
        assert (await following.cursor(SOURCE)).position.sequence == last_sound


async def test_the_age_of_a_cursor_before_an_unreadable_entry_grows_until_it_is_passed(
    following: World,
) -> None:
    entities = following.registers.no.entities
    until = (await following.cursor(SOURCE)).until
    entities.tell(OTHER, "Endring")["dato"] = "not a time"

    outcomes = [(await following.sync(SOURCE))[0].outcome for _ in range(2)]
    old, counted = (await following.cursor(SOURCE)).until, unreadable_entries(SOURCE)
    following.rename(COMPANY, "ANDRE NAVN AS")
    outcomes += [(await following.sync(SOURCE))[0].outcome for _ in range(2)]

    assert outcomes == [Outcome.REFUSED] * 3 + [Outcome.DONE]
    assert (old, counted) == (until, 1)
    assert (await following.cursor(SOURCE)).until > until
    assert unreadable_entries(SOURCE) == 0


async def test_an_unreadable_entry_with_a_number_is_fetched(following: World) -> None:
    entities = following.registers.no.entities
    following.rename(OTHER, "NYTT NAVN AS")
    entities.updates[-1]["dato"] = "not a time"

    await following.sync(SOURCE)

    assert await following.name_of(OTHER) == "NYTT NAVN AS"


async def test_a_page_of_unreadable_entries_does_not_hold_up_the_feed(
    following: World,
) -> None:
    entities = following.registers.no.entities
    for _ in range(25):
        entities.tell("987654321", "Endring")["organisasjonsnummer"] = "no number"
    following.rename(COMPANY, "ANDRE NAVN AS")

    [result] = await following.sync(SOURCE)

    assert result.outcome is Outcome.REFUSED
    assert await following.name_of(COMPANY) == "ANDRE NAVN AS"
