"""Records matched with companies as clients see them: fields, decisions, problems; over a fake."""

from math import exp, log
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import Country
from common.contracts.failures import FailureCode
from common.contracts.match import MatchEvidence, WeighedCompany, WeighedRecord
from gateway.access.keys import Rate
from gateway.problems import ServiceUnavailable
from tests.fakes.gateway import Gateway, problem_of
from tests.fakes.gateway import gateway as a_gateway

PATH = "/api/match"
NAMED = {"id": "1", "name": "Prøvefabrikken"}


def weighed(vat: str, odds: float, **evidence: float) -> WeighedCompany:
    return WeighedCompany(
        vat=vat,
        name=f"Nr {vat}",
        status="active",
        evidence=MatchEvidence(**evidence),
        log_odds=log(odds),
    )


async def post(gateway: Gateway, *records: Any, **fields: Any) -> ClientResponse:
    body = {"records": list(records), **fields}
    return await gateway.client.post(PATH, json=body, headers=gateway.issue())


async def results(gateway: Gateway, *records: Any, **fields: Any) -> list[dict[str, Any]]:
    answer = await post(gateway, *records, **fields)
    assert answer.status == 200, await answer.text()
    found: list[dict[str, Any]] = orjson.loads(await answer.read())["results"]
    return found


async def test_the_candidates_of_both_registers_share_one_probability(gateway: Gateway) -> None:
    gateway.matches.of = {
        (Country.DK, "1"): WeighedRecord(candidates=(weighed("10000001", 6, name=97.1),)),
        (Country.NO, "1"): WeighedRecord(candidates=(weighed("800000001", 2),), other_odds=1),
    }

    [result] = await results(gateway, NAMED)

    first, second = result["candidates"]
    assert (first["country"], first["vat"], first["score"]) == ("dk", "10000001", 0.6)
    assert (second["country"], second["vat"], second["score"]) == ("no", "800000001", 0.2)
    assert (first["evidence"], second["evidence"]) == ({"name": 97.1}, {})
    assert (result["id"], result["decision"]) == ("1", "review")


@pytest.mark.parametrize(
    "odds, decision", [(exp(8), "match"), (1.0, "review"), (0.01, "none"), (None, "none")]
)
async def test_a_decision_depends_on_the_probability(
    gateway: Gateway, odds: float | None, decision: str
) -> None:
    candidates = () if odds is None else (weighed("10000001", odds),)
    gateway.matches.of = {(Country.DK, "1"): WeighedRecord(candidates=candidates)}

    [result] = await results(gateway, {**NAMED, "country": "DK"})

    assert result["decision"] == decision
    assert [request.country for request in gateway.matches.asked] == [Country.DK]


async def test_two_namesakes_are_for_a_person_to_decide(gateway: Gateway) -> None:
    namesakes = (weighed("10000001", 1000), weighed("10000002", 1000))
    gateway.matches.of = {(Country.DK, "1"): WeighedRecord(candidates=namesakes)}

    [result] = await results(gateway, NAMED)

    assert result["decision"] == "review"
    assert [one["vat"] for one in result["candidates"]] == ["10000001", "10000002"]


async def test_no_more_candidates_than_wanted_are_shown(gateway: Gateway) -> None:
    both = (weighed("10000001", 3), weighed("10000002", 1))
    gateway.matches.of = {(Country.DK, "1"): WeighedRecord(candidates=both)}

    [result] = await results(gateway, NAMED, limit=1)

    assert [(one["vat"], one["score"]) for one in result["candidates"]] == [("10000001", 0.6)]
    assert {request.limit for request in gateway.matches.asked} == {1}


async def test_a_hundred_records_are_asked_in_parts_and_answered_in_order(
    gateway: Gateway,
) -> None:
    records = [{"id": str(n), "name": f"Nr {n}"} for n in range(100)]

    found = await results(gateway, *records)

    assert [one["id"] for one in found] == [str(n) for n in range(100)]
    assert max(len(request.records) for request in gateway.matches.asked) == 8
    assert sum(len(request.records) for request in gateway.matches.asked) == 200


@pytest.mark.parametrize(
    "record, parameter",
    [
        ({"id": "1", "nmae": "x"}, "records[1].nmae"),
        ({"name": "x"}, "records[1].id"),
        ({"id": 7, "name": "x"}, "records[1].id"),
        ({"id": "1", "name": 5}, "records[1].name"),
        ({"id": "1", "name": "x" * 301}, "records[1].name"),
        ({"id": "1", "name": "x", "country": 47}, "records[1].country"),
        (7, "records[1]"),
    ],
)
async def test_an_invalid_record_has_a_problem_that_names_its_field(
    gateway: Gateway, record: Any, parameter: str
) -> None:
    good, refused = await results(gateway, NAMED, record)

    assert good["decision"] == "none"
    assert refused["problem"]["code"] == "invalid_parameter"
    assert [each["parameter"] for each in refused["problem"]["errors"]] == [parameter]
    assert "decision" not in refused


@pytest.mark.parametrize(
    "record, reason",
    [
        ({"name": "Prøvefabrikken", "country": "Sverige"}, "country_not_covered"),
        ({"name": "Prøvefabrikken", "country": "SE"}, "country_not_covered"),
        ({"name": "Prøvefabrikken", "country": "?"}, "country_not_covered"),
        ({"city": "Oslo"}, "empty"),
        ({"name": " \ufeff"}, "empty"),
        ({"name": "?", "number": "N/A", "city": "Oslo"}, "placeholder"),
        ({"name": "Privatkunde", "country": "dk"}, "person"),
        ({"name": "Prøven", "number": "010170-1234"}, "person"),
    ],
)
async def test_a_record_that_can_be_no_company_says_why(
    gateway: Gateway, record: dict[str, str], reason: str
) -> None:
    good, none = await results(gateway, NAMED, {"id": "2", **record})

    assert none == {
        "id": "2",
        "decision": "none",
        "reason": reason,
        "candidates": [],
        "unread": [],
        "assumed": {},
    }
    assert good["reason"] == "not_found"
    assert {each.id for asked in gateway.matches.asked for each in asked.records} == {"1"}


@pytest.mark.parametrize(
    "record, unread, reason",
    [
        ({"name": "Prøvefabrikken", "number": "se faktura"}, ["number"], "not_found"),
        ({"name": "Anne Prøve Hansen", "number": "?"}, [], "person"),
        ({"number": "4,10000E+07", "city": "Oslo"}, ["number"], "unreadable"),
        ({"number": "4,10000E+07", "phone": "ring"}, ["number", "phone"], "unreadable"),
    ],
)
async def test_a_record_without_a_company_names_what_could_not_be_read(
    gateway: Gateway, record: dict[str, str], unread: list[str], reason: str
) -> None:
    gateway.matches.of = {
        (country, "1"): WeighedRecord(unread=tuple(unread)) for country in Country
    }

    [result] = await results(gateway, {"id": "1", **record})

    assert (result["decision"], result["reason"], result["unread"]) == ("none", reason, unread)


async def test_a_number_that_one_register_reads_is_read(gateway: Gateway) -> None:
    gateway.matches.of = {
        (Country.DK, "1"): WeighedRecord(unread=("number", "phone")),
        (Country.NO, "1"): WeighedRecord(candidates=(weighed("310345679", exp(8)),)),
        (Country.DK, "2"): WeighedRecord(unread=("number",)),
        (Country.NO, "2"): WeighedRecord(
            candidates=(weighed("310345679", exp(8)),), unread=("number",)
        ),
    }

    first, second = await results(gateway, NAMED, {**NAMED, "id": "2"})

    assert (first["decision"], first["reason"], first["unread"]) == ("match", None, [])
    assert (second["decision"], second["unread"]) == ("match", ["number"])


async def test_a_byte_order_mark_before_the_records_is_skipped(gateway: Gateway) -> None:
    headers = {**gateway.issue(), "Content-Type": "application/json"}
    data = b"\xef\xbb\xbf" + orjson.dumps({"records": [NAMED]})

    answer = await gateway.client.post(PATH, data=data, headers=headers)

    assert answer.status == 200


async def test_an_assumed_number_is_for_review(gateway: Gateway) -> None:
    gateway.matches.of = {
        (Country.DK, "1"): WeighedRecord(
            candidates=(weighed("05501431", exp(20), name=100, number=100),),
            assumed_number="05501431",
        )
    }

    [result] = await results(gateway, {**NAMED, "number": "5501431.0"})

    assert (result["decision"], result["assumed"]) == ("review", {"number": "05501431"})


@pytest.mark.parametrize(
    "body, parameter",
    [
        ({}, "records"),
        ({"records": []}, "records"),
        ({"records": [NAMED] * 101}, "records"),
        ({"records": [NAMED], "limit": 21}, "limit"),
        ({"records": [NAMED], "limit": True}, "limit"),
        ({"records": [NAMED], "max": 2}, "max"),
    ],
)
async def test_a_body_without_records_is_refused(
    gateway: Gateway, body: Any, parameter: str
) -> None:
    answer = await gateway.client.post(PATH, json=body, headers=gateway.issue())

    problem = await problem_of(answer)
    assert (answer.status, problem["code"]) == (400, "invalid_body")
    assert [each["parameter"] for each in problem["errors"]] == [parameter]
    assert gateway.matches.asked == []


async def test_an_empty_field_counts_as_absent(gateway: Gateway) -> None:
    await results(gateway, {**NAMED, "country": "", "phone": None, "city": "  ", "email": "?"})

    [record] = gateway.matches.asked[0].records
    assert (record.country, record.phone, record.city, record.email) == (None,) * 4


async def test_a_record_that_takes_too_long_fails_alone(gateway: Gateway) -> None:
    gateway.matches.of = {
        (Country.NO, "2"): WeighedRecord(failure=FailureCode.DEADLINE_EXCEEDED),
    }

    found, late = await results(gateway, NAMED, {"id": "2", "name": "Langsom"})

    assert found["decision"] == "none"
    assert late["problem"]["code"] == "lookup_timeout"


async def test_without_one_register_there_is_no_decision(gateway: Gateway) -> None:
    gateway.matches.answer = ServiceUnavailable()

    [result] = await results(gateway, NAMED)

    assert (result["id"], result["problem"]["code"]) == ("1", "service_unavailable")


async def test_a_request_counts_by_its_records() -> None:
    async with a_gateway(key_rate=Rate(40, 60)) as limited:
        answer = await post(limited, *[NAMED] * 30)

        assert answer.headers["RateLimit"] == '"key";r=10;t=60'
