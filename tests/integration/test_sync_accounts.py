"""Annual accounts of Denmark are followed: the index by HTTP, documents from one host, MongoDB."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from common.mongo import Database
from ingest.following.passes import Outcome
from ingest.registers import table
from ingest.registers.cvr.accounts_sync import DK_ACCOUNTS
from ingest.registers.cvr.sync import DK_COMPANIES
from register_samples.danish_accounts import HOST, Filing, Stored, bomb, filings
from register_samples.server.serving import Failure, ShardFailed, TooManyRequests
from register_samples.showcase import SIZE
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

#: Of the showcase: a company, and a group that files by ESEF with a stub.
COMPANY, GROUP = 0, 4


@pytest.fixture
async def world(mongo_url: str, register_db: Database) -> AsyncIterator[World]:
    async with a_world(mongo_url, register_db.name, companies=20) as made:
        yield made


def documents_of(world: World) -> list[str]:
    return [each for each in world.served.requests if each.startswith("GET /regnskaber/")]


async def accounts_of(world: World, index: int) -> list[dict[str, Any]]:
    number = next(filings(index)).hit["_source"]["cvrNummer"]
    key = f"dk:{number:08}/"
    found = world.database["accounts"].find({"_id": {"$regex": f"^{key}"}, "current": True})
    return [orjson.loads(each["body"]) async for each in found.sort("_id", -1)]


def a_filing(index: int, *, year: int = 2026, content: Stored | None = None) -> Filing:
    """Of a company, for a later year, with a document of its last one unless another is given."""
    last = list(filings(index))[-1]
    path, stored = next(iter(last.documents.items()))
    period = {"startDato": f"{year}-01-01", "slutDato": f"{year}-12-31"}
    other = path.replace(".xml", f"{year}.xml")
    document = {
        "dokumentType": "AARSRAPPORT",
        "dokumentMimeType": "application/xml",
        "dokumentUrl": f"http://{HOST}{other}",
    }
    source = {
        **last.hit["_source"],
        "regnskab": {"regnskabsperiode": period},
        "dokumenter": [document],
    }
    hit = {**last.hit, "_id": f"{last.hit['_id']}{year}", "_source": source}
    return Filing(hit, {other: content or stored})


async def test_accounts_follow_the_companies(world: World) -> None:
    [waiting] = await world.outcomes(DK_ACCOUNTS)
    before = await world.found("cursors", DK_ACCOUNTS.name)

    outcomes = await world.outcomes(DK_COMPANIES, DK_ACCOUNTS)

    assert (waiting, before) == (Outcome.DONE, None)
    assert outcomes == [Outcome.DONE, Outcome.DONE]
    assert await world.is_loaded(DK_ACCOUNTS)
    [last, *_] = await accounts_of(world, COMPANY)
    assert (last["period"]["end"], last["scope"], last["basis"]) == (
        "2025-12-31",
        "company",
        "filed",
    )
    assert [each for _, each in await world.events() if "accounts" in each] == []


async def test_a_group_with_esef_has_the_auditor_of_its_stub(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)

    [last, *_] = await accounts_of(world, GROUP)

    assert (last["scope"], last["standard"], last["audit"]["type"]) == ("group", "ifrs", "audit")
    assert last["figures"]["revenue"] is not None


#: By the last digit of a company's position, beyond the showcase: warnings, and figures.
FAULTS: dict[int, tuple[list[str], dict[str, Any]]] = {
    0: (["conflict:profit"], {"profit": None}),
    1: (["employees_unit"], {"employees": None}),
    2: ([], {}),
    3: (["document_unreadable"], {"profit": None, "equity": None}),
    4: (["document_unreadable"], {"profit": None, "equity": None}),
    5: ([], {"profit": None, "equity": None}),
    6: ([], {"tax": "1"}),
    7: ([], {}),
    8: ([], {}),
}


async def test_each_fault_of_the_invented_register_is_read_as_what_it_is(
    mongo_url: str, register_db: Database
) -> None:
    positions = {
        index % 10: index for index in range(99, SIZE - 1, -1) if len(list(filings(index))) > 1
    }
    assert positions.keys() >= FAULTS.keys()
    async with a_world(mongo_url, register_db.name, companies=100) as world:
        await world.sync(DK_COMPANIES, DK_ACCOUNTS)

        for digit, (warnings, figures) in FAULTS.items():
            [last, *_] = found = await accounts_of(world, positions[digit])
            ends = [each["period"]["end"] for each in found]
            assert (digit, last["warnings"]) == (digit, warnings)
            assert figures.items() <= last["figures"].items()
            # Nothing else is lost to the fault.
            told = [name for name in ("profit", "equity", "employees") if name not in figures]
            assert all(last["figures"][name] is not None for name in told) or digit in (3, 4, 5)
            # The second filing of a day replaces the first.
            assert ends == sorted(set(ends), reverse=True)
            assert last["correction"] is (digit == 6)


async def test_a_new_filing_is_published_once(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    world.registers.dk_filings.file(a_filing(COMPANY))

    await world.sync(DK_ACCOUNTS, DK_ACCOUNTS)

    number = f"dk:{next(filings(COMPANY)).hit['_source']['cvrNummer']:08}"
    assert await world.events_of(number) == ["company.accounts_published"]


async def test_documents_are_not_fetched_again(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    world.registers.dk_filings.file(a_filing(COMPANY))
    passes = table.passes(world.wiring, DK_ACCOUNTS)
    await passes.once()
    before = len(documents_of(world))

    await passes.once()

    assert len(documents_of(world)) == before


@pytest.mark.parametrize(
    "content",
    [
        Stored(bomb()),
        Stored(bomb(), "gzip"),
        Stored(b"", location="http://filer.example.com/accounts.xml"),
        Stored(b'<!DOCTYPE a SYSTEM "http://filer.example.com/a"><a/>'),
        Stored(b"%PDF-1.7"),
    ],
    ids=["bomb", "bomb told", "redirect", "document type", "PDF"],
)
async def test_an_unreadable_document_is_noted_and_passed(world: World, content: Stored) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    world.registers.dk_filings.file(a_filing(COMPANY, content=content))

    [outcome] = await world.outcomes(DK_ACCOUNTS)

    [last, *_] = await accounts_of(world, COMPANY)
    assert outcome is Outcome.DONE
    assert (last["period"]["end"], last["warnings"]) == ("2026-12-31", ["document_unreadable"])
    assert set(last["figures"].values()) == {None}


async def test_a_document_on_another_host_is_not_fetched(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    filing = a_filing(COMPANY)
    filing.hit["_source"]["dokumenter"][0]["dokumentUrl"] = "http://filer.example.com/a.xml"
    world.registers.dk_filings.file(filing)
    before = len(documents_of(world))

    await world.sync(DK_ACCOUNTS)

    [last, *_] = await accounts_of(world, COMPANY)
    assert last["warnings"] == ["document_unreadable"]
    assert not any("a.xml" in each for each in documents_of(world)[before:])


@pytest.mark.parametrize("fault", [Failure(503), Failure(403), TooManyRequests()])
async def test_a_fault_is_no_fact_about_a_document(
    world: World, fault: Failure | TooManyRequests
) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    world.registers.dk_filings.file(a_filing(COMPANY))
    world.served.faults.plan("2026.xml", *[fault] * 5)

    [outcome] = await world.outcomes(DK_ACCOUNTS)
    world.served.faults.clear()
    during = await accounts_of(world, COMPANY)
    [healed] = await world.outcomes(DK_ACCOUNTS)

    assert (outcome, healed) == (Outcome.REGISTER_UNAVAILABLE, Outcome.DONE)
    assert during[0]["source"]["id"][-4:] != "2026"
    [last, *_] = await accounts_of(world, COMPANY)
    assert (last["source"]["id"][-4:], last["warnings"]) == ("2026", [])


async def test_a_document_without_an_answer_for_a_day_is_passed(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    world.registers.dk_filings.file(a_filing(COMPANY))
    passes = table.passes(world.wiring, DK_ACCOUNTS)
    world.served.faults.plan("2026.xml", *[Failure(503)] * 10)

    first = await passes.once()
    world.clock.advance(timedelta(days=2))
    second = await passes.once()

    assert (first.outcome, second.outcome) == (Outcome.REGISTER_UNAVAILABLE, Outcome.DONE)
    [last, *_] = await accounts_of(world, COMPANY)
    assert last["warnings"] == ["document_unreadable"]


async def test_a_filing_on_paper_is_stored_without_figures(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    filing = a_filing(COMPANY)
    filing.hit["_source"]["dokumenter"][0]["dokumentMimeType"] = "image/tiff"
    world.registers.dk_filings.file(filing)

    await world.sync(DK_ACCOUNTS)

    [last, *_] = await accounts_of(world, COMPANY)
    assert (last["period"]["end"], last["warnings"], last["currency"]) == ("2026-12-31", [], None)


async def test_a_refiling_is_a_correction(world: World) -> None:
    await world.sync(DK_COMPANIES, DK_ACCOUNTS)
    filing = a_filing(COMPANY, year=2025)
    filing.hit["_source"]["omgoerelse"] = True
    world.registers.dk_filings.file(filing)

    await world.sync(DK_ACCOUNTS)

    [last, *_] = await accounts_of(world, COMPANY)
    assert (last["correction"], last["source"]["id"]) == (True, filing.hit["_id"])


async def test_an_interrupted_first_load_goes_on(world: World) -> None:
    await world.sync(DK_COMPANIES)
    path = next(iter(list(filings(COMPANY))[-1].documents))
    world.served.faults.plan(path, *[Failure(503)] * 5)

    [outcome] = await world.outcomes(DK_ACCOUNTS)

    assert outcome is Outcome.REGISTER_UNAVAILABLE
    assert not await world.is_loaded(DK_ACCOUNTS)
    assert await world.outcomes(DK_ACCOUNTS) == [Outcome.DONE]


async def test_a_partial_answer_of_the_index_is_refused(world: World) -> None:
    await world.sync(DK_COMPANIES)
    world.served.faults.plan("/offentliggoerelser/_search", ShardFailed())

    [outcome] = await world.outcomes(DK_ACCOUNTS)

    assert outcome is Outcome.REGISTER_UNAVAILABLE
    assert await world.found("cursors", DK_ACCOUNTS.name) is None
