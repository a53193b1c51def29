"""Secret and personal data of a register's documents are neither stored nor logged."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import orjson
import pytest

from tests.syncing.world import DENMARK, NORWAY, World

pytestmark = pytest.mark.integration

TODAY = date(2026, 11, 2)


def contacts(document: Any, *, secret: bool) -> Iterator[str]:
    """Contact data, either those marked secret or the others."""
    if isinstance(document, dict):
        if "kontaktoplysning" in document and document.get("hemmelig", False) is secret:
            yield document["kontaktoplysning"]
        for part in document.values():
            yield from contacts(part, secret=secret)
    elif isinstance(document, list):
        for part in document:
            yield from contacts(part, secret=secret)


def birth_dates(roles: Any) -> set[str]:
    return {
        role["person"]["fodselsdato"]
        for held in roles.values()
        for group in held["rollegrupper"]
        for role in group["roller"]
        if "person" in role
    }


async def test_no_secret_is_stored_or_published(world: World) -> None:
    await world.sync(*NORWAY, *DENMARK)
    dk, no = world.registers.dk, world.registers.no
    for number in dk.companies.documents:
        dk.companies.change(number, hide_a_contact)
        dk.rename(number, f"Hemmeligheden {number} ApS", TODAY)
    for unit in dk.units.documents:
        dk.units.change(unit, hide_a_contact)
        dk.rename_unit(unit, f"Hemmeligheden {unit}", TODAY)
    for company in list(no.roles):
        no.tell_roles(company)
    world.change_a_lot()

    await world.sync(*NORWAY, *DENMARK)

    documents = [*dk.companies.documents.values(), *dk.units.documents.values()]
    secrets = set(contacts(documents, secret=True)) - set(contacts(documents, secret=False))
    events = await world.told()
    stored = await world.contents()
    found = orjson.dumps(events).decode() + str(stored)
    assert len(events) > 2 * len(dk.companies.documents)
    assert {"99887766", "hemmelig@example.com"} <= secrets
    assert [secret for secret in secrets if secret in found] == []
    assert [day for day in birth_dates(no.roles) if f'"{day}"' in found] == []


def hide_a_contact(document: dict[str, Any]) -> None:
    period = {"gyldigFra": "2026-01-01", "gyldigTil": None}
    for kind, value in (("telefonNummer", "99887766"), ("elektroniskPost", "hemmelig@example.com")):
        contact = {"kontaktoplysning": value, "hemmelig": True, "periode": period}
        document.setdefault(kind, []).append(contact)
