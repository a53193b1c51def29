"""Files of customers that the portal keeps, over the real gateway and registry on MongoDB."""

import csv
import io
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from common.contracts.lookup import LookupReply
from common.mongo import Database
from portal.adapters import reading
from tests.builders.openapi import example
from tests.builders.webhooks import NOON, secret_keys
from tests.contract.test_portal_customers import matched, read_here, upload
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.portal import Portal
from tests.fakes.portal import portal as a_portal
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar
from webhook_store.customer_files import reseal_files
from webhook_store.removals import OwnerRemoval

pytestmark = pytest.mark.integration

COMPANY = example("Company")
CHOICE = f"{COMPANY['country']}:{COMPANY['vat']}"


@dataclass
class Service:
    portal: Portal
    gateway: Gateway
    key: str
    database: Database

    async def sign_in(self, person: str = "Ada") -> None:
        await self.portal.sign_in(self.key, person=person)

    async def post(self, path: str, fields: Mapping[str, str] | None = None) -> str:
        """Sends a form, and follows where it leads."""
        response = await self.portal.post(path, fields)
        assert response.status == 303, await response.text()
        return await self.portal.shown(response.headers["Location"])

    async def stored(self) -> dict[str, list[dict[str, Any]]]:
        names = ("customer_files", "customer_file_parts", "customer_file_decisions")
        return {name: await self.database[name].find().to_list() for name in names}


@pytest.fixture
async def service(
    empty_webhooks_db: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Service]:
    monkeypatch.setattr(reading, "_read", read_here)
    registrar = Registrar(World(empty_webhooks_db))
    async with a_gateway(registrar=registrar) as gateway:
        key = gateway.issue(owner="acme", name="tests")["X-API-Key"]
        gateway.lookups.answer = LookupReply(
            body=orjson.dumps(COMPANY), tag="1", vat=COMPANY["vat"]
        )
        url = str(gateway.client.make_url("")).rstrip("/")
        async with a_portal(registry_url=url) as portal:
            service = Service(portal, gateway, key, empty_webhooks_db)
            await service.sign_in()
            yield service


async def test_a_decision_survives_the_sign_out_and_says_who_when_and_why(
    service: Service,
) -> None:
    await upload(service.portal)
    await matched(service.portal)
    row = await service.portal.shown("/customers/rows/1?q=pr%C3%B8ve")
    assert f'value="{CHOICE}"' in row
    fields = {"row": "1", "choice": CHOICE, "why": "called them"}
    decided = await service.post("/customers/decide", fields)
    assert f"Row 3 → {COMPANY['name']}." in decided
    assert "Undo" in decided

    await service.portal.post("/sign-out")
    await service.sign_in("Bo")
    [file] = (await service.stored())["customer_files"]
    listed = await service.portal.shown("/customers")
    assert "kunder.csv" in listed
    await service.post("/customers/open", {"file": file["_id"]})
    again = await service.portal.shown("/customers/rows/1")
    content = await (await service.portal.get("/customers.csv")).text()

    assert "called them" in again
    assert "by Ada (" in again
    _, _, row_of_it, *_ = csv.reader(io.StringIO(content))
    assert row_of_it[2:4] == [COMPANY["country"].upper(), COMPANY["vat"]]
    assert row_of_it[7] == "match (by hand)"
    assert row_of_it[10].startswith("Ada (")
    assert row_of_it[11:] == ["2026-03-02T12:00:00.000Z", "called them"]


async def test_a_decision_is_undone_for_every_session(service: Service) -> None:
    await upload(service.portal)
    await matched(service.portal)
    await service.post("/customers/decide", {"row": "0", "choice": CHOICE})
    [file] = (await service.stored())["customer_files"]
    url = str(service.gateway.client.make_url("")).rstrip("/")
    async with a_portal(registry_url=url) as other:
        await other.sign_in(service.key)
        await other.post("/customers/open", {"file": file["_id"]})
        before = await other.shown("/customers?pile=matched")
        undone = await service.post("/customers/undo", {"number": "1"})
        after = await other.shown("/customers?pile=matched")

    twice = await service.post("/customers/undo", {"number": "1"})
    assert COMPANY["name"] in before
    assert "is taken back" in undone
    assert COMPANY["name"] not in after
    assert "was taken back before" in twice


async def test_nothing_of_a_file_can_be_read_in_the_database_or_a_log(service: Service) -> None:
    with capture_logs() as logs:
        await upload(service.portal)
        await matched(service.portal)
        await service.post("/customers/decide", {"row": "0", "choice": CHOICE, "why": "Fru Hansen"})

    stored = str(await service.stored())
    for text in ("kunder.csv", "Prøve ApS", "Andre", "Fru Hansen", COMPANY["name"]):
        assert text not in stored
        assert text not in str(logs)


async def test_a_file_is_deleted_with_all_that_is_kept_of_it(service: Service) -> None:
    await upload(service.portal)
    await matched(service.portal)
    await service.post("/customers/decide", {"row": "0", "choice": "none"})

    await service.post("/customers/forget")

    assert not any((await service.stored()).values())
    assert "Files that are kept" not in await service.portal.shown("/customers")


async def test_a_file_of_another_owner_is_not_found(service: Service) -> None:
    await upload(service.portal)
    await matched(service.portal)
    [file] = (await service.stored())["customer_files"]
    other = service.gateway.issue(owner="globex")["X-API-Key"]
    await service.portal.post("/sign-out")
    await service.portal.sign_in(other)

    opened = await service.portal.post("/customers/open", {"file": file["_id"]})
    deleted = await service.portal.post("/customers/delete", {"file": file["_id"]})

    assert (opened.status, deleted.status) == (404, 404)
    assert (await service.stored())["customer_files"] == [file]


async def test_a_decision_that_is_not_kept_is_none(service: Service) -> None:
    await upload(service.portal)
    await matched(service.portal)
    await service.database["customer_files"].update_one({}, {"$set": {"decisions": 200_000}})

    refused = await service.portal.post("/customers/decide", {"row": "0", "choice": "none"})

    assert refused.status == 409
    assert "By " not in await service.portal.shown("/customers?pile=missing")


async def test_rows_are_searched_again_with_other_columns(service: Service) -> None:
    await upload(service.portal)
    await matched(service.portal)
    form = await service.portal.shown("/customers/again")
    none = await service.portal.post("/customers/again", {"what": "matched", "column-0": "name"})
    no_column = await service.portal.post("/customers/again", {"what": "all"})
    before = len(service.gateway.matches.asked)

    await service.portal.post("/customers/again", {"what": "missing", "column-0": "website"})
    await matched(service.portal)

    assert "Not found" in form
    assert (none.status, no_column.status) == (400, 400)
    asked = service.gateway.matches.asked[before:]
    records = {record.id: record.website for each in asked for record in each.records}
    # The third says only that nothing is known, which needs no search.
    assert records == {"0": "Prøve ApS", "1": "Andre"}


async def test_files_are_sealed_with_a_newer_key_and_go_with_their_owner(
    service: Service,
) -> None:
    await upload(service.portal)
    await matched(service.portal)
    await service.post("/customers/decide", {"row": "0", "choice": CHOICE})
    counts = [len(found) for found in (await service.stored()).values()]

    done, failed = await reseal_files(service.database, secret_keys("k2", "k1"))
    again, _ = await reseal_files(service.database, secret_keys("k2", "k1"))
    closed = await reseal_files(service.database, secret_keys("k3"))
    keys = {each["key_id"] for found in (await service.stored()).values() for each in found}
    removed = await OwnerRemoval(service.database, "acme").run(at=NOON)

    assert (done, failed, again) == (sum(counts), [], 0)
    assert (closed[0], len(closed[1])) == (0, sum(counts))
    assert keys == {"k2"}
    assert removed.files == 1
    assert not any((await service.stored()).values())
