"""The test server speaks the registers' interfaces as they are documented, and nothing else."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import aiohttp
import orjson
import pytest

from lookup.ingest.reading import parse
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
from register_samples.server import Registers, Served, serving
from register_samples.server.changing import Changes

COMPANY, UNIT, ENDED = "310345679", "310345687", "310345792"
TODAY = date(2026, 11, 2)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Interface:
    served: Served
    session: aiohttp.ClientSession
    clock: Clock

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """Status and JSON of an answer of the Norwegian register."""
        url = f"{self.served.brreg}/{path}"
        async with self.session.get(url, headers=headers) as answer:
            body = await answer.read()
        is_json = answer.content_type == "application/json"
        return answer.status, orjson.loads(body) if is_json and body else body

    async def search(self, index: str, body: Any, query: str = "") -> tuple[int, Any]:
        return await self.post(f"{self.served.cvr_permanent}/{index}/_search{query}", body)

    async def scroll(self, scroll_id: str) -> tuple[int, Any]:
        body = {"scroll": "1m", "scroll_id": scroll_id}
        return await self.post(f"{self.served.url}/_search/scroll", body)

    async def post(self, url: str, body: Any, user: str = "sample") -> tuple[int, Any]:
        headers = {"Authorization": aiohttp.encode_basic_auth(user, "sample")}
        async with self.session.post(url, json=body, headers=headers) as answer:
            text = await answer.read()
        return answer.status, orjson.loads(text) if answer.status != 401 else None


@pytest.fixture
async def interface() -> AsyncIterator[Interface]:
    clock = Clock()
    async with (
        serving(Registers(companies=40, now=clock)) as served,
        aiohttp.ClientSession() as session,
    ):
        yield Interface(served, session, clock)


@pytest.mark.parametrize(
    "query",
    [
        "konkurs=false",
        "underAvvikling=true",
        "navn=pr%C3%B8vefabrikken",
        "organisasjonsform=AS,ENK",
        "naeringskode=62",
        "kommunenummer=0301",
        "fraAntallAnsatte=5&tilAntallAnsatte=500",
        "fraStiftelsesdato=2010-01-01&tilStiftelsesdato=2020-12-31",
        "fraRegistreringsdatoEnhetsregisteret=2015-01-01",
        "registrertIMvaregisteret=true",
        "forretningsadresse.postnummer=0159",
        "forretningsadresse.poststed=oslo",
        "postadresse.landkode=NO",
        "institusjonellSektorkode=2100",
        "sisteInnsendteAarsregnskap=2025",
        "hjemmeside=example",
    ],
)
async def test_every_search_parameter_holds_some_back(interface: Interface, query: str) -> None:
    _, everything = await interface.get("enheter?size=100")

    status, found = await interface.get(f"enheter?size=100&{query}")

    assert status == 200
    total = everything["page"]["totalElements"]
    assert 0 <= found["page"]["totalElements"] < total


@pytest.mark.parametrize(
    "path",
    [
        "enheter?telefon=22334455",
        "enheter?konkurs=kanskje",
        "enheter?organisasjonsnummer=12",
        "enheter?size=1000&page=11",
        "enheter?size=0",
        "enheter?fraStiftelsesdato=i%20fjor",
        "enheter/12",
        f"enheter/{COMPANY}?size=1",
        "underenheter?konkurs=true",
        "oppdateringer/enheter?size=10001",
        "oppdateringer/enheter?page=2",
        "oppdateringer/enheter?dato=2026-01-01T00:00:00",
        "oppdateringer/roller?oppdateringsid=1",
        "enheter/lastned?size=1",
    ],
)
async def test_what_is_not_documented_is_refused(interface: Interface, path: str) -> None:
    status, problem = await interface.get(path)

    assert (status, problem["status"]) == (400, 400)


async def test_lists_by_number_leave_out_what_has_ended_or_is_gone(interface: Interface) -> None:
    interface.served.registers.no.entities.remove("310345717")
    numbers = f"{COMPANY},{ENDED},310345717,987654321"

    _, found = await interface.get(f"enheter?organisasjonsnummer={numbers}")

    [entity] = found["_embedded"]["enheter"]
    assert parse(NO_ENTITIES.parse, entity).key == f"no:{COMPANY}"  # type: ignore[union-attr]


async def test_pages_link_to_the_next_and_hold_each_entity_once(interface: Interface) -> None:
    seen: list[str] = []
    for page in range(10):
        _, found = await interface.get(f"enheter?size=10&page={page}&sort=navn.norwegian,ASC")
        seen += [each["organisasjonsnummer"] for each in found["_embedded"]["enheter"]]
        if "next" not in found["_links"]:
            break

    assert len(seen) == len(set(seen)) == found["page"]["totalElements"]


async def test_deleted_gone_and_unknown_are_three_answers(interface: Interface) -> None:
    interface.served.registers.no.entities.remove(COMPANY)

    assert await interface.get(f"enheter/{ENDED}") == (
        410,
        {"organisasjonsnummer": ENDED, "slettedato": "2023-11-27"},
    )
    assert await interface.get(f"enheter/{COMPANY}") == (410, {"organisasjonsnummer": COMPANY})
    assert (await interface.get("enheter/987654321"))[0] == 404


async def test_the_feed_is_asked_by_id_or_time_or_number_and_tells_changes_on_demand(
    interface: Interface,
) -> None:
    entities = interface.served.registers.no.entities
    entities.change(COMPANY, {"navn": "FØRSTE AS"})
    interface.clock.now += timedelta(hours=1)
    entities.change(COMPANY, {"navn": "ANDRE AS"})
    entities.delete("310345806", TODAY)
    last = entities.updates[-1]["oppdateringsid"]

    async def told(query: str) -> list[Any]:
        _, found = await interface.get(f"oppdateringer/enheter?{query}")
        return [
            (each["endringstype"], each["oppdateringsid"] - last)
            for each in found.get("_embedded", {}).get("oppdaterteEnheter", [])
        ]

    assert await told("") == [("Endring", -2), ("Endring", -1), ("Sletting", 0)]
    assert await told(f"oppdateringsid={last}") == [("Sletting", 0)]
    assert await told(f"oppdateringsid={last + 1}") == []
    assert await told("dato=2026-11-02T10:00:00.000Z") == [("Endring", -1), ("Sletting", 0)]
    assert await told("size=1") == [("Endring", -2)]
    assert await told(f"organisasjonsnummer={COMPANY}&oppdateringsid={last - 1}") == [
        ("Endring", -1)
    ]
    _, changes = await interface.get("oppdateringer/enheter?size=1&includeChanges=true")
    [update] = changes["_embedded"]["oppdaterteEnheter"]
    assert update["endringer"] == [{"op": "replace", "path": "/navn", "value": "FØRSTE AS"}]


async def test_a_whole_file_is_given_once_and_its_etag_after_that(interface: Interface) -> None:
    url = f"{interface.served.brreg}/enheter/lastned"
    async with interface.session.get(url) as answer:
        body, etag = await answer.read(), answer.headers["ETag"]
        modified = answer.headers["Last-Modified"]

    status, _ = await interface.get("enheter/lastned", **{"If-None-Match": etag})
    interface.served.registers.no.entities.change(COMPANY, {"navn": "NYE AS"})
    unpublished, _ = await interface.get("enheter/lastned", **{"If-None-Match": etag})
    interface.served.registers.publish()
    published, _ = await interface.get("enheter/lastned", **{"If-None-Match": etag})

    entities = orjson.loads(gzip.decompress(body))
    assert modified == "Mon, 02 Nov 2026 09:00:00 GMT"
    assert ENDED not in {entity["organisasjonsnummer"] for entity in entities}
    assert {entity["links"] is not None and "_links" not in entity for entity in entities} == {True}
    assert (status, unpublished, published) == (304, 304, 200)


async def test_the_danish_register_asks_for_a_password(interface: Interface) -> None:
    url = f"{interface.served.cvr_permanent}/virksomhed/_search"

    assert (await interface.post(url, {}, user="somebody"))[0] == 401


async def test_scrolling_gives_every_document_once_and_in_order(interface: Interface) -> None:
    field = "Vrvirksomhed.sidstOpdateret"
    body = {"sort": [{field: "asc"}], "size": 15}
    _, page = await interface.search("virksomhed", body, "?scroll=1m")
    seen = []
    while page["hits"]["hits"]:
        seen += [hit["_source"]["Vrvirksomhed"] for hit in page["hits"]["hits"]]
        _, page = await interface.scroll(page["_scroll_id"])

    assert len({company["cvrNummer"] for company in seen}) == len(seen) == 40
    times = [datetime.fromisoformat(company["sidstOpdateret"]) for company in seen]
    assert times == sorted(times)


async def test_a_scroll_is_forgotten_after_its_time(interface: Interface) -> None:
    _, page = await interface.search("virksomhed", {"size": 5}, "?scroll=1m")
    interface.clock.now += timedelta(minutes=2)

    assert (await interface.scroll(page["_scroll_id"]))[0] == 404


async def test_a_range_finds_what_changed_since(interface: Interface) -> None:
    interface.served.registers.dk.rename("12345674", "Nyt Navn ApS", TODAY)
    since = {"range": {"Vrvirksomhed.sidstOpdateret": {"gte": "2026-11-01T00:00:00Z"}}}

    _, found = await interface.search("virksomhed", {"query": {"bool": {"must": [since]}}})

    assert [hit["_source"]["Vrvirksomhed"]["cvrNummer"] for hit in found["hits"]["hits"]] == [
        12345674
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"query": {"match": {"Vrvirksomhed.navne.navn": "x"}}},
        {"query": {"range": {"Vrvirksomhed.sidstOpdateret": {"after": "2026-01-01"}}}},
        {"query": {"range": {"sidstOpdateret": {"gte": "2026-01-01"}}}},
        {"query": {"range": {"Vrvirksomhed.sidstOpdateret": {"gte": "i fjor"}}}},
        {"sort": [{"Vrvirksomhed.sidstOpdateret": "up"}]},
        {"aggs": {}},
        {"size": "all"},
    ],
)
async def test_what_is_no_part_of_the_query_language_is_refused(
    interface: Interface, body: Any
) -> None:
    assert (await interface.search("virksomhed", body))[0] == 400


async def test_a_window_that_is_too_large_is_an_error_of_the_register(
    interface: Interface,
) -> None:
    status, answer = await interface.search("virksomhed", {"from": 2500, "size": 501})

    assert status == 500
    assert "Result window is too large" in answer["error"]["reason"]


async def test_the_export_can_be_downloaded_three_times_a_day(interface: Interface) -> None:
    async def download(**headers: str) -> tuple[int, str | None]:
        url = interface.served.url / "export/businesscards-json"
        async with interface.session.get(url, headers=headers) as answer:
            await answer.read()
            return answer.status, answer.headers.get("Retry-After")

    made = [await download() for _ in range(4)]
    interface.clock.now += timedelta(hours=24)

    assert [status for status, _ in made] == [200, 200, 200, 429]
    assert made[3][1] == "86401"
    assert await download() == (200, None)


def test_registers_that_change_by_themselves_keep_the_showcase_and_their_formats() -> None:
    registers = Registers(companies=40)
    shown = dict(list(registers.no.entities.documents.items())[:10])
    changes = Changes(registers)

    said = [changes.make() for _ in range(34)]

    assert len(set(said)) == 34
    assert shown.items() <= registers.no.entities.documents.items()
    for kind, documents in (
        (NO_ENTITIES, registers.no.entities.documents),
        (NO_UNITS, registers.no.units.documents),
        (NO_ROLES, registers.no.roles),
        (DK_COMPANIES, registers.dk.companies.documents),
        (DK_UNITS, registers.dk.units.documents),
        (PEPPOL, registers.directory.cards),
    ):
        for document in documents.values():
            parse(kind.parse, document)


def test_a_register_that_is_made_anew_changes_in_other_ways_under_higher_numbers() -> None:
    clock = Clock()
    before = Registers(companies=40, now=clock)
    clock.now += timedelta(minutes=1)
    after = Registers(companies=40, newcomers=3, now=clock)

    (renamed, _, founded), (renamed_after, _, founded_after) = (
        [changes.make() for _ in range(3)]
        for changes in (Changes(before), Changes(after, first=60))
    )

    assert renamed != renamed_after
    assert founded != founded_after
    last, first = before.no.entities.updates[-1], after.no.entities.updates[0]
    assert last["oppdateringsid"] < first["oppdateringsid"]


def test_registers_in_which_nobody_is_left_for_a_change_go_on_with_the_others() -> None:
    registers = Registers(companies=12)
    changes = Changes(registers)

    said = [changes.make() for _ in range(400)]

    assert len(said) == 400
    assert any("was removed" in change for change in said)
