"""Syncs that are killed and run again: what has happened before each."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ingest.following.passes import Outcome
from ingest.records.source import RegisterSource
from ingest.registers import table
from ingest.registers.brreg.group_sync import NO_GROUPS
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from ingest.registers.table import sources
from register_samples.groups import GroupLink
from register_samples.server.brreg import innehaver
from tests.syncing.crashing import Steps
from tests.syncing.world import NORWAY, World

#: Longer than the Peppol Directory is left alone after a download that came to nothing.
LATER = timedelta(hours=9)
#: Far more than there are; a story without an end would be a fault of the test.
MAX_STEPS = 200
#: Of the registers and the sync: small, and a download whenever a killed sync needs one again.
SETTINGS: dict[str, Any] = {
    "companies": 20,
    "sync_page_size": 8,
    "peppol_max_downloads_per_day": MAX_STEPS,
}


async def first_of_all(_world: World) -> None:
    """Nothing is stored yet."""


async def a_day_later(world: World) -> None:
    """All was synced, and then the registers went on."""
    await world.sync(*sources().values())
    world.change_a_lot()
    world.registers.publish()
    world.clock.advance(timedelta(hours=25))


async def a_day_later_with_companies(world: World) -> None:
    """The companies are up to date already, so that nothing is done about them on the way."""
    await a_day_later(world)
    await world.sync(NO_ENTITIES, DK_COMPANIES)


async def a_new_company_later(world: World) -> None:
    """An entity that is stored before its units and its owners."""
    await world.sync(*sources().values())
    norwegian, _ = world.registers.add_companies()
    world.registers.no.units.add(
        {**world.registers.no.units.documents["310345687"], "overordnetEnhet": norwegian}
    )
    world.registers.no.set_roles(norwegian, innehaver("Kari", "Testesen", "1970-01-01"))


async def companies_of_groups(world: World) -> None:
    """Their flags are known, and no group is."""
    await world.sync(NO_ENTITIES)


async def another_group_a_month_later(world: World) -> None:
    """A share changes, a company leaves, and another one comes in."""
    await world.sync(NO_ENTITIES, NO_GROUPS)
    links = world.registers.no.groups.links
    links[:] = [GroupLink(TOP, "310345806", "51%"), GroupLink(TOP, "310345733", "60%")]
    world.registers.no.entities.change("310345733", {"erIKonsern": True})
    await world.sync(NO_ENTITIES)
    world.clock.advance(timedelta(days=31))


async def a_missed_week_later(world: World) -> None:
    """As before, but the feeds have no entry of the change."""
    await a_day_later(world)
    world.forget_feeds()
    world.clock.advance(timedelta(days=7))


async def a_missed_week_later_with_companies(world: World) -> None:
    await a_missed_week_later(world)
    await world.sync(NO_ENTITIES)


@dataclass(frozen=True)
class Story:
    before: Callable[[World], Awaitable[None]]
    #: Each of them begins with what has happened before.
    kinds: Sequence[RegisterSource]

    def __str__(self) -> str:
        return self.before.__name__


COMPANIES = (NO_ENTITIES, DK_COMPANIES)
OF_COMPANIES = (NO_UNITS, NO_ROLES, DK_UNITS)
#: The top company of the group of the showcase.
TOP = "310345679"
#: They ask about stored companies, so they have stories or tests of their own.
LATER_ON = {"no-konsern", "no-regnskap", "dk-regnskab"}
STORIES = [
    Story(first_of_all, tuple(each for each in sources().values() if each.name not in LATER_ON)),
    Story(a_day_later, (*COMPANIES, PEPPOL)),
    Story(a_day_later_with_companies, OF_COMPANIES),
    Story(a_new_company_later, OF_COMPANIES),
    Story(a_missed_week_later, (NO_ENTITIES,)),
    Story(a_missed_week_later_with_companies, NORWAY[1:]),
    Story(companies_of_groups, (NO_GROUPS,)),
    Story(another_group_a_month_later, (NO_GROUPS,)),
]


async def run(world: World, kind: RegisterSource, steps: Steps) -> Outcome:
    return (await table.passes(steps.of(world.wiring), kind).once()).outcome
