"""The test server speaks the registers' interfaces as they are documented, and nothing else."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import aiohttp
import orjson
import pytest

from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from register_samples.server import Registers, Served, serving
from register_samples.server.changing import Changes
from tests.builders.companies import parsed

COMPANY, UNIT, ENDED = "310345679", "310345687", "310345792"
TODAY = date(2026, 11, 2)


CHANGED, LOADED = "Vrvirksomhed.sidstOpdateret", "Vrvirksomhed.sidstIndlaest"
BEGINNING = "1990-01-01T00:00:00Z"


def since(at: str, *, size: int = 100, field: str = LOADED) -> dict[str, Any]:
    return {"query": {"range": {field: {"gte": at}}}, "sort": [{field: "asc"}], "size": size}


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

    async def search(self, index: str, body: Any) -> tuple[int, Any]:
        return await self.post(f"{self.served.cvr_permanent}/{index}/_search?scroll=1m", body)

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
    "path",
    [
        "enheter?telefon=22334455",
        "enheter?organisasjonsnummer=12",
        "enheter?size=0",
        "enheter/12",
        f"enheter/{COMPANY}?size=1",
        "oppdateringer/enheter?size=10001",
        "oppdateringer/enheter?page=2",
        "oppdateringer/enheter?dato=2026-01-01T00:00:00",
        "oppdateringer/roller?oppdateringsid=1",
        "enheter/lastned?size=1",
    ],
)
async def test_undocumented_requests_are_refused(interface: Interface, path: str) -> None:
    status, problem = await interface.get(path)

    assert (status, problem["status"]) == (400, 400)


async def test_lists_by_number_omit_ended_and_removed_entries(interface: Interface) -> None:
    interface.served.registers.no.entities.remove("310345717")
    numbers = f"{COMPANY},{ENDED},310345717,987654321"

    _, found = await interface.get(f"enheter?organisasjonsnummer={numbers}")

    [entity] = found["_embedded"]["enheter"]
    assert parsed(NO_ENTITIES, entity).key == f"no:{COMPANY}"  # type: ignore[union-attr]


async def test_deleted_gone_and_unknown_are_three_answers(interface: Interface) -> None:
    interface.served.registers.no.entities.remove(COMPANY)

    deleted, told = await interface.get(f"enheter/{ENDED}")
    gone, least = await interface.get(f"enheter/{COMPANY}")
    unknown, _ = await interface.get("enheter/987654321")

    assert (deleted, gone, unknown) == (200, 410, 404)
    assert told.pop("navn")
    assert told.pop("_links")
    assert least.pop("_links")
    assert told == {
        "respons_klasse": "SlettetEnhet",
        "organisasjonsnummer": ENDED,
        "organisasjonsform": {"kode": "AS", "beskrivelse": "Aksjeselskap", "links": []},
        "slettedato": "2023-11-27",
    }
    assert least == {"organisasjonsnummer": COMPANY, "slettedato": "2026-11-02"}


async def test_a_group_has_one_answer_and_a_company_in_none_no_body(interface: Interface) -> None:
    refused, daughter, alone = ENDED, "310345784", "310345733"
    interface.served.registers.no.entities.refused.add(refused)

    async def asked(number: str) -> tuple[int, Any]:
        return await interface.get(f"konsernstruktur/{number}")

    status, group = await asked(COMPANY)

    assert (status, group["organisasjonsnummer"]) == (200, COMPANY)
    assert await asked(daughter) == (200, group)
    assert await asked(alone) == (404, b"")
    assert [(await asked(one))[0] for one in (refused, "31034567")] == [400, 400]


async def test_the_feed_starts_at_an_id_or_a_time(
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
    _, page = await interface.search("virksomhed", since(BEGINNING, size=15))
    seen = []
    while page["hits"]["hits"]:
        seen += [hit["_source"]["Vrvirksomhed"] for hit in page["hits"]["hits"]]
        _, page = await interface.scroll(page["_scroll_id"])

    assert len({company["cvrNummer"] for company in seen}) == len(seen) == 37
    times = [datetime.fromisoformat(company["sidstIndlaest"]) for company in seen]
    assert times == sorted(times)


async def test_a_scroll_is_forgotten_after_its_time(interface: Interface) -> None:
    _, page = await interface.search("virksomhed", since(BEGINNING, size=5))
    interface.clock.now += timedelta(minutes=2)

    assert (await interface.scroll(page["_scroll_id"]))[0] == 404


async def test_a_range_finds_changes_since_a_time(interface: Interface) -> None:
    interface.served.registers.dk.rename("12345674", "Nyt Navn ApS", TODAY)

    _, found = await interface.search("virksomhed", since("2026-11-01T00:00:00Z"))

    assert [hit["_source"]["Vrvirksomhed"]["cvrNummer"] for hit in found["hits"]["hits"]] == [
        12345674
    ]


ABSENT = [{"bool": {"must_not": {"exists": {"field": field}}}} for field in (LOADED, CHANGED)]


@pytest.mark.parametrize(
    "query,count",
    [
        ({"match_all": {}}, 40),
        ({"range": {LOADED: {"gte": BEGINNING}}}, 37),
        ({"range": {LOADED: {"gte": BEGINNING, "lt": BEGINNING}}}, 0),
        ({"exists": {"field": CHANGED}}, 39),
        (ABSENT[0], 3),
        ({"bool": {"must": ABSENT}}, 1),
        ({"bool": {"should": ABSENT}}, 3),
        ({"bool": {"should": ABSENT, "minimum_should_match": 2}}, 1),
        ({"bool": {"filter": {"match_all": {}}, "should": ABSENT}}, 40),
    ],
)
async def test_queries_find_what_elasticsearch_finds(
    interface: Interface, query: dict[str, Any], count: int
) -> None:
    _, found = await interface.search("virksomhed", {"query": query, "size": 100})

    assert found["hits"]["total"] == count


@pytest.mark.parametrize("missing,place", [("_first", 0), ("_last", -1)])
async def test_documents_without_a_time_are_first_or_last(
    interface: Interface, missing: str, place: int
) -> None:
    order = {CHANGED: {"order": "asc", "missing": missing}}

    _, found = await interface.search("virksomhed", {"sort": [order], "size": 100})

    hits = [hit["_source"]["Vrvirksomhed"]["sidstOpdateret"] for hit in found["hits"]["hits"]]
    assert (hits[place], hits.count(None)) == (None, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"query": {"match": {"Vrvirksomhed.navne.navn": "x"}}},
        {"query": {"range": {CHANGED: {"after": "2026-01-01T00:00:00Z"}}}},
        {"query": {"range": {"sidstOpdateret": {"gte": "2026-01-01T00:00:00Z"}}}},
        {"query": {"range": {CHANGED: {"gte": "i fjor"}}}},
        {"query": {"exists": {"field": "Vrvirksomhed.navne"}}},
        {"query": {"bool": {"none": []}}},
        {"sort": [{CHANGED: "up"}]},
        {"sort": [{CHANGED: {"order": "asc", "mode": "min"}}]},
        {"aggs": {}},
        {"size": 3001},
    ],
)
async def test_any_other_search_is_refused(interface: Interface, body: Any) -> None:
    assert (await interface.search("virksomhed", {**since(BEGINNING), **body}))[0] == 400


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
            parsed(kind, document)


def test_a_recreated_register_changes_differently_under_higher_numbers() -> None:
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


def test_there_are_newcomers_however_long_ago_counting_began() -> None:
    registers = Registers(companies=1, newcomers=10**9)

    norwegian, danish = registers.add_companies()

    assert (len(norwegian), len(danish)) == (9, 8)


def test_registers_without_a_company_for_a_change_make_the_other_changes() -> None:
    registers = Registers(companies=12)
    changes = Changes(registers)

    said = [changes.make() for _ in range(200)]

    assert len(said) == 200
    assert any("was removed" in change for change in said)
