"""Many companies at once, and suggestions while a name is typed, through the whole system."""

from typing import Any

import aiohttp
import pytest

from tests.e2e.test_lookup import QUESTIONS

pytestmark = pytest.mark.e2e

#: In any spelling, with a legal form begun, with a typo, by a former name, in another order.
TYPED = [
    ("dk", "Prøvefab", "12345674"),
    ("dk", "proevefabrikken a", "12345674"),
    ("dk", "PRØVEFABRIK", "12345674"),
    ("dk", "prøvefabirk", "12345674"),
    ("dk", "kbil 17", "12345674"),
    ("no", "norg prøvefab", "310345679"),
    ("no", "fjordprøv", "310345679"),
]


async def batch(client: aiohttp.ClientSession, *lookups: dict[str, Any]) -> list[dict[str, Any]]:
    async with client.post("/api/batch", json={"lookups": lookups}) as answer:
        body: dict[str, Any] = await answer.json()
        assert answer.status == 200, body
        results: list[dict[str, Any]] = body["results"]
        return results


async def suggestions(client: aiohttp.ClientSession, **query: str) -> list[dict[str, Any]]:
    async with client.get("/api/suggest", params=query) as answer:
        body: dict[str, Any] = await answer.json()
        assert answer.status == 200, body
        found: list[dict[str, Any]] = body["suggestions"]
        return found


async def test_a_batch_has_the_companies_that_lookups_by_themselves_have(
    client: aiohttp.ClientSession,
) -> None:
    lookups = [{"country": country, kind: term} for country, kind, term, _ in QUESTIONS]
    singly = []
    for lookup in lookups:
        async with client.get("/api", params={**lookup, "include": "owners"}) as answer:
            singly.append(await answer.json())

    results = await batch(client, *({**lookup, "include": ["owners"]} for lookup in lookups))

    assert [result["company"] for result in results] == singly
    assert [result["company"]["vat"] for result in results] == [vat for *_, vat in QUESTIONS]


async def test_a_hundred_names_are_answered_or_late_each_for_itself(
    client: aiohttp.ClientSession,
) -> None:
    results = await batch(client, *[{"country": "dk", "name": "Prøvefabrikken"}] * 100)

    companies = [result["company"]["vat"] for result in results if "company" in result]
    problems = [result["problem"]["code"] for result in results if "problem" in result]
    assert len(results) == 100
    assert set(companies) == {"12345674"}
    assert set(problems) <= {"lookup_timeout"}


@pytest.mark.parametrize("country, typed, vat", TYPED)
async def test_a_company_is_suggested_while_its_name_is_typed(
    client: aiohttp.ClientSession, country: str, typed: str, vat: str
) -> None:
    found = await suggestions(client, country=country, q=typed)

    assert vat in [one["vat"] for one in found]
