"""Many companies at once, and suggestions while a name is typed, through the whole system."""

import asyncio
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.contracts.company import Country
from common.contracts.topology import lookup_queue
from tests.delivery.waiting import eventually
from tests.e2e.conftest import Running
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


async def messages_sent(running: Running, queue: str) -> float:
    """The number of lookup messages that the gateway has sent to a queue."""
    gateway = running.system.services["gateway"]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{gateway.admin_url}/metrics") as answer,
    ):
        text = await answer.text()
    samples = (s for family in text_string_to_metric_families(text) for s in family.samples)
    return sum(
        sample.value
        for sample in samples
        if sample.name == "rpc_request_batch_size_count" and sample.labels["queue"] == queue
    )


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


async def test_a_faulty_lookup_and_one_that_finds_nothing_leave_the_others_alone(
    client: aiohttp.ClientSession,
) -> None:
    good = {"country": "dk", "vat": "12345674"}

    found, faulty, missing, again = await batch(
        client, good, {"country": "dk", "vat": "1"}, {"country": "dk", "vat": "99999999"}, good
    )

    assert found["company"]["vat"] == "12345674"
    assert found == again
    assert (faulty["problem"]["status"], faulty["problem"]["code"]) == (400, "invalid_parameter")
    assert (missing["problem"]["status"], missing["problem"]["code"]) == (404, "company_not_found")


async def test_a_hundred_numbers_share_a_few_messages(
    client: aiohttp.ClientSession, running: Running
) -> None:
    before = await messages_sent(running, lookup_queue(Country.DK))

    results = await batch(client, *[{"country": "dk", "vat": "12345674"}] * 100)

    sent = await messages_sent(running, lookup_queue(Country.DK)) - before
    assert [result["company"]["vat"] for result in results] == ["12345674"] * 100
    assert 1 <= sent <= 3


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


@pytest.mark.chaos
async def test_without_a_lookup_process_both_say_so_once_its_queues_are_gone(
    client: aiohttp.ClientSession, running: Running
) -> None:
    await asyncio.to_thread(running.system.services["lookup"].process.stop)
    results = await eventually(
        lambda: batch(client, *[{"country": "dk", "vat": "12345674"}] * 5),
        lambda found: found[0]["problem"]["code"] != "lookup_timeout",
    )
    async with client.get("/api/suggest", params={"country": "dk", "q": "ab"}) as answer:
        status = answer.status

    restarted = running.system.start("lookup")
    await asyncio.to_thread(restarted.wait_until_ready)

    assert [result["problem"]["code"] for result in results] == ["service_unavailable"] * 5
    assert status == 503
