"""Groups of Norwegian companies, over the register's own interface and into MongoDB."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from ingest.following.passes import Outcome
from ingest.registers.brreg.group_sync import NO_GROUPS
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES
from register_samples.groups import GroupLink
from register_samples.norway import group
from register_samples.server import BrokenOff, TooManyRequests
from tests.syncing.world import World

pytestmark = pytest.mark.integration

#: The group of the showcase: its top company, a daughter, and one with two owners.
TOP, DAUGHTER, SHARED = "310345679", "310345806", "310345784"
#: A partnership of which the top company is a partner, and another company.
PARTNERSHIP, OTHER = "310345695", "310345733"
A_MONTH = timedelta(days=31)
FORM = {"code": "AS", "text": "Aksjeselskap"}


async def synced(world: World) -> World:
    await world.sync(NO_ENTITIES, NO_ROLES, NO_GROUPS)
    return world


async def owners(world: World, number: str) -> list[tuple[str | None, str, str | None]]:
    """Number, source and share of each owner."""
    company = await world.found("companies", f"no:{number}")
    assert company is not None
    return [
        (one["vat"], one.get("source", "no-roller"), one["share"] and one["share"]["min"])
        for one in orjson.loads(company["owners"] or b"null") or ()
    ]


async def changes_of_owners(world: World) -> list[tuple[str, Any, Any]]:
    """Company, old and new owners of each event, by number and share."""

    def shown(listed: Any) -> Any:
        return listed and [(one["vat"], one["share"] and one["share"]["min"]) for one in listed]

    return [
        (one["data"]["company"]["vat"], shown(change["old"]), shown(change["new"]))
        for one in await world.told()
        if one["type"] == "owners.changed"
        for change in one["data"]["changes"]
    ]


def asked(world: World) -> list[str]:
    """The numbers of which a group was asked for."""
    return [one[-9:] for one in world.served.requests if "konsernstruktur" in one]


async def test_each_group_is_asked_for_once_and_its_links_are_owners(world: World) -> None:
    await synced(world)

    assert await owners(world, DAUGHTER) == [(TOP, "no-konsern", "99.99")]
    assert await owners(world, SHARED) == [
        (DAUGHTER, "no-konsern", "33.33"),
        (TOP, "no-konsern", None),
    ]
    assert await owners(world, TOP) == []
    assert await changes_of_owners(world) == []
    assert await world.is_loaded(NO_GROUPS)
    assert len(asked(world)) == len(set(asked(world))) <= 3


async def test_a_link_that_comes_goes_or_changes_its_share_is_one_event(world: World) -> None:
    await synced(world)
    links = world.registers.no.groups.links
    links[:] = [
        GroupLink(TOP, DAUGHTER, "100%"),
        GroupLink(TOP, OTHER, "60%"),
        *(one for one in links if one.owned not in (DAUGHTER, SHARED)),
    ]
    world.clock.advance(A_MONTH)

    await world.sync(NO_GROUPS)
    again = await world.sync(NO_GROUPS)

    assert again[0].outcome is Outcome.DONE
    assert sorted(await changes_of_owners(world)) == sorted(
        [
            (DAUGHTER, [(TOP, "99.99")], [(TOP, "100")]),
            (OTHER, None, [(TOP, "60")]),
            (SHARED, [(DAUGHTER, "33.33"), (TOP, None)], None),
        ]
    )


async def test_a_link_that_is_registered_again_without_a_change_is_stored_and_not_told(
    world: World,
) -> None:
    await synced(world)
    links = world.registers.no.groups.links
    links[:] = [replace(link, date="2025-11-12") for link in links]
    world.clock.advance(A_MONTH)

    await world.sync(NO_GROUPS)

    company = await world.found("companies", f"no:{DAUGHTER}")
    assert company is not None
    assert [one["since"] for one in orjson.loads(company["owners"])] == ["2025-11-12"]
    assert await changes_of_owners(world) == []


async def test_a_changed_member_makes_its_group_be_read_again(world: World) -> None:
    await synced(world)
    world.registers.no.groups.links[:] = [GroupLink(TOP, DAUGHTER, "51%")]
    await world.sync(NO_GROUPS)
    before = await owners(world, DAUGHTER)
    world.rename(SHARED, "MØNSTERBAKERIET NYE AS")

    await world.sync(NO_ENTITIES, NO_GROUPS)

    assert before == [(TOP, "no-konsern", "99.99")]
    assert await owners(world, DAUGHTER) == [(TOP, "no-konsern", "51")]
    assert await owners(world, SHARED) == []


async def test_a_group_that_splits_keeps_the_links_of_both_parts_without_a_gap(
    world: World,
) -> None:
    await synced(world)
    links = world.registers.no.groups.links
    links[:] = [one for one in links if one.owner != TOP]
    world.clock.advance(A_MONTH)

    await world.sync(NO_GROUPS)

    # That of the daughter and its own stays, and is not told of.
    assert sorted(await changes_of_owners(world)) == sorted(
        [
            (DAUGHTER, [(TOP, "99.99")], None),
            (SHARED, [(DAUGHTER, "33.33"), (TOP, None)], [(DAUGHTER, "33.33")]),
        ]
    )


async def test_a_group_that_is_gone_ends_all_of_its_links(world: World) -> None:
    await synced(world)
    links = world.registers.no.groups.links
    links[:] = [one for one in links if one.owner not in (TOP, DAUGHTER)]
    world.clock.advance(A_MONTH)

    await world.sync(NO_GROUPS)

    assert sorted(company for company, _, new in await changes_of_owners(world) if not new) == [
        SHARED,
        DAUGHTER,
    ]
    assert await owners(world, DAUGHTER) == await owners(world, SHARED) == []


async def members(world: World) -> set[str]:
    """The numbers of all companies that are in a stored group."""
    groups = await world.database["groups"].find().to_list(None)
    return {key.removeprefix("no:") for group in groups for key in group["members"]}


@pytest.mark.parametrize("removed", [TOP, DAUGHTER])
async def test_a_removed_company_leaves_its_group(world: World, removed: str) -> None:
    await synced(world)
    before = await members(world)
    links = world.registers.no.groups.links
    world.registers.no.entities.remove(removed)

    # The register of groups has it for a while longer.
    await world.sync(NO_ENTITIES, NO_GROUPS)
    at_once = await members(world)
    links[:] = [one for one in links if removed not in (one.owner, one.owned)]
    world.clock.advance(A_MONTH)
    await world.sync(NO_GROUPS)

    assert {TOP, DAUGHTER, SHARED} <= before
    assert removed not in at_once - {TOP}
    assert removed not in await members(world)
    assert SHARED in await members(world)
    left = (
        [(TOP, "no-konsern", None)] if removed == DAUGHTER else [(DAUGHTER, "no-konsern", "33.33")]
    )
    assert await owners(world, SHARED) == left


async def test_the_role_registers_owners_and_the_groups_stand_beside_each_other(
    world: World,
) -> None:
    world.registers.no.groups.links[:] = [
        GroupLink(TOP, PARTNERSHIP, "60%"),
        GroupLink(TOP, DAUGHTER),
        GroupLink(DAUGHTER, PARTNERSHIP, "40%", "KGRL"),
    ]
    world.registers.no.entities.change(PARTNERSHIP, {"erIKonsern": True})
    await synced(world)
    both = await owners(world, PARTNERSHIP)
    world.registers.no.set_roles(PARTNERSHIP, [])

    await world.sync(NO_ROLES)

    assert both[-2:] == [(TOP, "no-konsern", "60"), (DAUGHTER, "no-konsern", "40")]
    assert (TOP, "no-roller", None) in both
    assert await owners(world, PARTNERSHIP) == both[-2:]
    assert [company for company, _, _ in await changes_of_owners(world)] == [PARTNERSHIP]


def a_partner(share: str | None) -> list[Any]:
    """The roles of a partnership whose only partner is the top company of the group."""
    part = {"part": share}
    return [group("DELT", [("DTPR", {"number": TOP, "name": "TOPPEN AS", "form": FORM} | part)])]


async def test_an_owner_that_both_registers_name_is_told_once_until_they_contradict_each_other(
    world: World,
) -> None:
    links = world.registers.no.groups.links
    links[:] = [GroupLink(TOP, PARTNERSHIP, "60%"), GroupLink(TOP, DAUGHTER)]
    world.registers.no.entities.change(PARTNERSHIP, {"erIKonsern": True})
    world.registers.no.roles[PARTNERSHIP]["rollegrupper"] = a_partner("60%")
    world.registers.no.publish()
    await synced(world)
    agreed = await owners(world, PARTNERSHIP)

    links[0] = GroupLink(TOP, PARTNERSHIP, "40%")
    world.clock.advance(A_MONTH)
    await world.sync(NO_GROUPS)
    contradicted = await owners(world, PARTNERSHIP)
    world.registers.no.set_roles(PARTNERSHIP, a_partner("40%"))
    await world.sync(NO_ROLES)

    assert agreed == [(TOP, "no-roller", "60")]
    assert contradicted == [(TOP, "no-roller", "60"), (TOP, "no-konsern", "40")]
    assert await owners(world, PARTNERSHIP) == [(TOP, "no-roller", "40")]
    assert await changes_of_owners(world) == [
        (PARTNERSHIP, [(TOP, "60")], [(TOP, "60"), (TOP, "40")]),
        (PARTNERSHIP, [(TOP, "60"), (TOP, "40")], [(TOP, "40")]),
    ]


async def test_a_number_that_the_register_refuses_holds_up_nothing_and_is_asked_for_a_day_later(
    world: World,
) -> None:
    await synced(world)
    before = await owners(world, DAUGHTER)
    world.registers.no.entities.refused.add(TOP)
    world.registers.no.entities.change(OTHER, {"erIKonsern": True})
    world.clock.advance(A_MONTH)

    [_, refused] = await world.sync(NO_ENTITIES, NO_GROUPS)
    world.registers.no.entities.refused.clear()
    world.registers.no.groups.links[0] = GroupLink(TOP, DAUGHTER, "51%")
    await world.sync(NO_GROUPS)
    at_once = await owners(world, DAUGHTER)
    world.clock.advance(timedelta(hours=25))
    await world.sync(NO_GROUPS)

    assert refused.outcome is Outcome.REFUSED
    assert OTHER in asked(world)
    assert before == at_once == [(TOP, "no-konsern", "99.99")]
    assert await owners(world, DAUGHTER) == [(TOP, "no-konsern", "51")]


async def test_a_company_that_is_in_no_group_is_remembered_for_a_month(world: World) -> None:
    world.registers.no.entities.change(OTHER, {"erIKonsern": True})
    await synced(world)
    await world.sync(NO_GROUPS)
    once = asked(world).count(OTHER)
    world.clock.advance(A_MONTH)

    await world.sync(NO_GROUPS)

    assert (once, asked(world).count(OTHER)) == (1, 2)
    assert await owners(world, OTHER) == []


async def test_one_broken_answer_does_not_hold_up_the_others(world: World) -> None:
    world.registers.no.entities.change(OTHER, {"erIKonsern": True})
    world.served.faults.plan(f"konsernstruktur/{TOP}", *[BrokenOff()] * 5)

    await world.sync(NO_ENTITIES)
    first = await world.outcomes(NO_GROUPS)
    second = await world.outcomes(NO_GROUPS)
    others = set(asked(world))
    world.clock.advance(timedelta(hours=2))
    await world.sync(NO_GROUPS)

    assert (first, second) == ([Outcome.REGISTER_UNAVAILABLE], [Outcome.DONE])
    assert OTHER in others
    assert await owners(world, DAUGHTER) == [(TOP, "no-konsern", "99.99")]


async def test_a_first_load_goes_on_where_it_was_when_the_register_asks_to_wait(
    world: World,
) -> None:
    world.registers.no.entities.change(OTHER, {"erIKonsern": True})
    world.served.faults.plan(f"konsernstruktur/{OTHER}", TooManyRequests(retry_after=3600))
    await world.sync(NO_ENTITIES)

    [result] = await world.sync(NO_GROUPS)
    is_loaded = await world.is_loaded(NO_GROUPS)
    await world.sync(NO_GROUPS)

    assert (result.outcome, result.wait) == (Outcome.REGISTER_UNAVAILABLE, timedelta(hours=1))
    assert (is_loaded, await world.is_loaded(NO_GROUPS)) == (False, True)
    assert asked(world).count(TOP) == 1
    assert await changes_of_owners(world) == []


class NotHere:
    """The answer of a server that has no such path."""

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        return web.json_response({"status": 404, "error": "Not Found"}, status=404)


async def test_a_404_with_a_body_says_nothing_about_a_company(world: World) -> None:
    await synced(world)
    before = await owners(world, DAUGHTER)
    world.served.faults.plan(f"konsernstruktur/{TOP}", NotHere())
    world.clock.advance(A_MONTH)

    assert await world.outcomes(NO_GROUPS) == [Outcome.REFUSED]

    assert await owners(world, DAUGHTER) == before
    assert await changes_of_owners(world) == []


async def test_groups_wait_for_the_companies(world: World) -> None:
    assert await world.outcomes(NO_GROUPS) == [Outcome.DONE]

    assert asked(world) == []
    assert not await world.is_loaded(NO_GROUPS)
