"""A group of Norwegian companies, from the register's answer to every surface that shows owners."""

import json
from typing import Any

import aiohttp
import pytest

from tests.delivery.receiver import Receiver
from tests.delivery.waiting import eventually
from tests.e2e.client import Client
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

TOP, DAUGHTER, PARTLY = "310987018", "310987026", "310987034"
NAMES = {TOP: "KONSERNPRØVEN AS", DAUGHTER: "KONSERNDATTEREN AS", PARTLY: "KONSERNDELEN AS"}
LINKS = {"KDAT": "Konsern datter", "KGRL": "Konsern grunnlag"}


def a_member(number: str, basis: str, kind: str = "KDAT", *children: Any) -> dict[str, Any]:
    return {
        "nivaa": 1,
        "knytningsform": {"kode": kind, "beskrivelse": LINKS[kind]},
        "navn": NAMES[number],
        "organisasjonsnummer": number,
        "grunnlag": basis,
        "dato": "2021-10-01",
        **({"children": list(children)} if children else {}),
    }


def a_group(share: str) -> dict[str, Any]:
    part = a_member(PARTLY, "33,33%", "KGRL")
    return {
        "organisasjonsnummer": TOP,
        "navn": NAMES[TOP],
        "children": [a_member(DAUGHTER, share, "KDAT", part)],
    }


async def got(client: aiohttp.ClientSession, path: str, **query: str) -> dict[str, Any]:
    async with client.get(path, params=query) as answer:
        body: dict[str, Any] = await answer.json()
        assert answer.status == 200, body
        return body


async def listed(client: aiohttp.ClientSession, owner: str) -> list[str]:
    owned = {"country": "no", "owned_by": f"no:{owner}", "status": "any"}
    found = await got(client, "/api/companies", **owned)
    return [one["vat"] for one in found["companies"]]


async def test_the_links_of_a_group_are_owners_on_every_surface(
    client: aiohttp.ClientSession, owner: Client, receiver: Receiver, register: Register
) -> None:
    # One by one: a file with less than half of the companies of the one before is refused.
    for number, name in NAMES.items():
        await register.load("no-enheter", an_entity(number, name, erIKonsern=True))
    companies = [f"no:{DAUGHTER}", f"no:{PARTLY}"]
    webhook = await owner.subscribe(
        receiver, "/groups", events=["owners.changed"], filter={"companies": companies}
    )
    await register.load("no-konsern", a_group("99,99%"))
    await register.load("no-konsern", a_group("100%"))
    await owner.until_listed(webhook, 3, "?status=succeeded")
    await eventually(lambda: listed(client, DAUGHTER), lambda seen: seen == [PARTLY])

    daughter = await got(client, "/api", country="no", vat=DAUGHTER, include="owners,subsidiaries")
    group = await got(client, f"/api/companies/no/{PARTLY}/group")
    history = await got(client, f"/api/companies/no/{DAUGHTER}/history")
    async with client.get(
        "/api/export", params={"country": "no", "owned_by": f"no:{TOP}"}
    ) as lines:
        exported = [json.loads(line) for line in (await lines.text()).splitlines()]

    [above], [below] = daughter["owners"], daughter["subsidiaries"]
    assert (above["vat"], above["role"], above["source"]) == (TOP, "parent_company", "no-konsern")
    assert (above["share"], below["share"]["min"]) == ({"min": "100", "max": "100"}, "33.33")
    assert (below["vat"], below["role"], below["source"]) == (PARTLY, "shareholder", "no-konsern")
    assert await listed(client, TOP) == [one["vat"] for one in exported] == [DAUGHTER]
    levels = {one["vat"]: one["level"] for one in group["companies"]}
    assert levels == {PARTLY: 0, DAUGHTER: -1, TOP: -2}
    assert {one["source"] for one in group["links"]} == {"no-konsern"}
    [ultimate] = group["ultimate_owners"]
    assert (ultimate["vat"], ultimate["share"]) == (TOP, {"min": "33.33", "max": "33.33"})
    seen = [one for one in history["history"] if not one["dated"]]
    changes = [change for one in seen for change in one["changes"] if change["field"] == "owners"]
    shares = [
        [[one["share"]["min"] for one in change[side] or ()] for side in ("old", "new")]
        for change in changes
    ]
    assert shares == [[["99.99"], ["100"]], [[], ["99.99"]]]
