"""The invented registers of annual accounts answer as the real ones do, faults included."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from register_samples.danish_accounts import HOST
from register_samples.norwegian_accounts import ERRORS
from register_samples.server import Registers, Served, serving
from register_samples.server.regnskap import TooManyInside

#: Of the showcase: a group, and a sole proprietor without accounts.
GROUP, NONE = "310345679", "310345717"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving(Registers(companies=30)) as running:
        yield running


async def _get(served: Served, number: str) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(served.norwegian_accounts / number) as response,
    ):
        return response.status, await response.read()


async def test_norway_gives_three_years_of_company_and_group(served: Served) -> None:
    found = served.registers.no_accounts.accounts[GROUP]

    status, _ = await _get(served, GROUP)

    kinds = [(each["regnskapstype"], each["regnskapsperiode"]["tilDato"][:4]) for each in found]
    assert status == 200
    assert len(set(kinds)) == len(kinds) == 6
    assert len({each["journalnr"] for each in found}) == 3


async def test_norway_has_no_accounts_of_some_and_none_to_give_of_banks(served: Served) -> None:
    errors = served.registers.no_accounts.errors

    answers = [await _get(served, number) for number in errors]

    assert await _get(served, NONE) == (404, b"")
    assert {status for status, _ in answers} == {500}
    assert set(errors.values()) == set(ERRORS)


async def test_norway_answers_too_many_requests_with_200(served: Served) -> None:
    served.faults.plan(GROUP, TooManyInside())

    assert await _get(served, GROUP) == (200, b"Too many requests")


async def test_a_refiling_has_the_year_of_the_one_before(served: Served) -> None:
    number = next(
        n for n, found in served.registers.no_accounts.accounts.items() if len(found) == 3
    )
    before = {each["id"] for each in served.registers.no_accounts.accounts[number]}

    served.registers.no_accounts.refile(number)

    after = served.registers.no_accounts.accounts[number]
    [new] = [each for each in after if each["id"] not in before]
    assert (len(after), new["regnskapsperiode"]["tilDato"]) == (3, "2025-12-31")


async def test_addresses_of_danish_documents_lead_to_the_server(served: Served) -> None:
    times = {"gte": "2025-01-01T00:00:00.000Z", "lt": "2027-01-01T00:00:00.000Z"}
    body = {
        "size": 5,
        "sort": [{"sidstOpdateret": "asc"}],
        "query": {"bool": {"filter": [{"range": {"sidstOpdateret": times}}]}},
    }

    async with (
        aiohttp.ClientSession() as session,
        session.post(served.filings / "_search", json=body) as response,
    ):
        hits = (await response.json())["hits"]

    assert hits["total"] > len(hits["hits"]) == 5
    assert HOST not in str(hits)
