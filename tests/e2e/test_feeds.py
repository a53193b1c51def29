"""A change in a register, from its own interface to a signed delivery, for every kind of event."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import count
from typing import Any

import pytest

from common.contracts.events import EventType
from register_samples import companies_dk, units_dk
from register_samples.server import Registers
from tests.delivery.receiver import Receiver
from tests.e2e.client import Client
from tests.e2e.conftest import COMPANIES, Running
from tests.e2e.feed import followed
from tests.e2e.register import a_unit, an_entity, owned_by

pytestmark = pytest.mark.e2e

TODAY = date(2026, 11, 2)

Json = dict[str, Any]
#: Something that happens in a register, and the kinds of events that tell of it.
Happening = tuple[Callable[[], object], set[EventType]]


@dataclass
class Ear:
    """The events that a webhook's receiver gets, by type."""

    receiver: Receiver
    path: str
    told: dict[str, Json] = field(default_factory=dict)
    _heard: int = 0

    async def hears(self, kinds: set[EventType]) -> None:
        """Returns once these came, one event of each; fails when others come before them."""
        came = set()
        for _ in kinds:
            self._heard += 1
            received = await self.receiver.next(self.path, number=self._heard)
            assert received.genuine
            self.told[received.event["type"]] = received.event
            came.add(received.event["type"])
        assert came == kinds

    def changed(self, kind: EventType) -> dict[str, tuple[Any, Any]]:
        """Old and new values by field."""
        changes = self.told[kind]["data"]["changes"]
        return {change["field"]: (change["old"], change["new"]) for change in changes}


@pytest.fixture
def registers() -> Registers:
    """The companies that the system has been loaded with."""
    return Registers(companies=COMPANIES)


async def follow_all(
    running: Running, registers: Registers, ear: Ear, happenings: Iterator[Happening]
) -> None:
    """Makes the changes one by one, each after the event of the previous one."""
    async with followed(running.system, registers, "all"):
        for happen, kinds in happenings:
            happen()
            await ear.hears(kinds)


async def test_each_change_of_a_norwegian_company_is_delivered(
    running: Running, owner: Client, receiver: Receiver, registers: Registers
) -> None:
    number, unit = "310998885", "310998893"
    webhook = await owner.subscribe(receiver, "/no", filter={"companies": [f"no:{number}"]})
    ear = Ear(receiver, "/no")
    no, directory = registers.no, registers.directory
    entity, place = an_entity(number, "PRØVESTRØMMEN AS"), a_unit(unit, number)
    roles = owned_by(number, "Kari", "Prøvesen")["rollegrupper"]

    def is_listed() -> None:
        directory.register("0192", number, holder=number, country="no", on=TODAY)
        directory.publish()

    happenings: list[Happening] = [
        (lambda: no.entities.add(entity), {EventType.COMPANY_CREATED}),
        (lambda: no.units.add(place), {EventType.PRODUCTION_UNIT_CREATED}),
        (lambda: no.set_roles(number, roles), {EventType.OWNERS_CHANGED}),
        (is_listed, {EventType.EINVOICING_CHANGED}),
        (
            lambda: no.entities.change(number, {"navn": "PRØVEELVEN AS"}),
            {EventType.COMPANY_UPDATED},
        ),
        (lambda: no.go_bankrupt(number, TODAY), {EventType.COMPANY_STATUS_CHANGED}),
        (
            lambda: no.units.change(unit, {"epostadresse": "elven@unit.example"}),
            {EventType.PRODUCTION_UNIT_UPDATED},
        ),
        (lambda: no.units.delete(unit, TODAY), {EventType.PRODUCTION_UNIT_ENDED}),
        (lambda: no.entities.remove(number), {EventType.COMPANY_REMOVED}),
    ]

    await follow_all(running, registers, ear, iter(happenings))
    await owner.test(webhook)
    await ear.hears({EventType.WEBHOOK_TEST})

    of_webhooks = {EventType.WEBHOOK_FAILING, EventType.WEBHOOK_DISABLED}
    assert ear.told.keys() == set(EventType) - of_webhooks
    created = ear.told[EventType.COMPANY_CREATED]
    assert (created["country"], created["vat"], created["revision"]) == ("no", number, 1)
    assert created["data"]["company"]["name"] == "PRØVESTRØMMEN AS"
    assert ear.changed(EventType.COMPANY_UPDATED)["name"] == ("PRØVESTRØMMEN AS", "PRØVEELVEN AS")
    assert ear.changed(EventType.COMPANY_STATUS_CHANGED)["status"] == ("active", "bankrupt")
    [[_, [kari]]] = ear.changed(EventType.OWNERS_CHANGED).values()
    assert kari["name"] == "Kari Prøvesen"
    [[_, [entry]]] = ear.changed(EventType.EINVOICING_CHANGED).values()
    assert entry["identifier"] == f"0192:{number}"
    assert ear.changed(EventType.PRODUCTION_UNIT_UPDATED)["email"] == (None, "elven@unit.example")
    assert ear.changed(EventType.PRODUCTION_UNIT_ENDED)["ended"] == (None, "2026-11-02")
    assert ear.told[EventType.COMPANY_REMOVED]["data"] == {"company": None, "changes": []}


async def test_each_change_of_a_danish_company_is_delivered(
    running: Running, owner: Client, receiver: Receiver, registers: Registers
) -> None:
    index, number, unit = a_danish_newcomer()
    await owner.subscribe(receiver, "/dk", filter={"companies": [f"dk:{number}"]})
    ear = Ear(receiver, "/dk")
    dk, directory = registers.dk, registers.directory

    def is_listed() -> None:
        directory.register("0184", number, holder=number, country="dk", on=TODAY)
        directory.publish()

    happenings: list[Happening] = [
        (
            lambda: dk.add_company(index),
            {EventType.COMPANY_CREATED, EventType.PRODUCTION_UNIT_CREATED},
        ),
        (lambda: dk.rename(number, "Prøveåen ApS", TODAY), {EventType.COMPANY_UPDATED}),
        (lambda: dk.set_owner(number, "12345712", "0.25", TODAY), {EventType.OWNERS_CHANGED}),
        (lambda: dk.rename_unit(unit, "Åbredden", TODAY), {EventType.PRODUCTION_UNIT_UPDATED}),
        (is_listed, {EventType.EINVOICING_CHANGED}),
        (
            lambda: dk.set_status(number, "UNDER KONKURS", TODAY),
            {EventType.COMPANY_STATUS_CHANGED},
        ),
        (lambda: dk.close_unit(unit, TODAY), {EventType.PRODUCTION_UNIT_ENDED}),
    ]

    await follow_all(running, registers, ear, iter(happenings))

    assert set(EventType) - ear.told.keys() == {
        EventType.COMPANY_REMOVED,
        EventType.WEBHOOK_TEST,
        EventType.WEBHOOK_FAILING,
        EventType.WEBHOOK_DISABLED,
    }
    assert ear.changed(EventType.COMPANY_UPDATED)["name"][1] == "Prøveåen ApS"
    assert ear.changed(EventType.COMPANY_STATUS_CHANGED)["status"] == ("active", "bankrupt")
    assert ear.changed(EventType.PRODUCTION_UNIT_UPDATED)["name"][1] == "Åbredden"
    [[before, after]] = ear.changed(EventType.OWNERS_CHANGED).values()
    assert len(after) == len(before) + 1


def a_danish_newcomer() -> tuple[int, str, str]:
    """The position, number and unit of an active company that the system has not been loaded with.

    It has one unit, which is open.
    """
    # Registers that change by themselves, in another test, begin with the first such company.
    for index in count(COMPANIES + 100):
        [company] = (found["Vrvirksomhed"] for found in companies_dk(1, start=index))
        units = [found["VrproduktionsEnhed"] for found in units_dk(1, start=index)]
        if company["virksomhedMetadata"]["sammensatStatus"] == "NORMAL" and [
            unit["produktionsEnhedMetadata"]["sammensatStatus"] for unit in units
        ] == ["Aktiv"]:
            break
    return index, f"{company['cvrNummer']:08}", str(units[0]["pNummer"])
