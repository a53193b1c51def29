"""Records are matched in requests of a hundred, in order, at the pace of the rate limit."""

from collections.abc import Sequence
from typing import Any

import pytest

from company_registry import InvalidResponse, MatchRecord, MatchResult, RateLimited, Retries
from company_registry.columns import recognised
from company_registry.http import Outcome, Response, Unanswered
from company_registry.matching import match
from company_registry.streams import Pace, Rate
from tests.builders.answers import a_problem
from tests.fakes.client import FakeTransport, answer, problem

RECORDS = [MatchRecord(str(number), name=f"Prøve {number} ApS") for number in range(250)]
CANDIDATE = {"country": "dk", "vat": "12345674", "name": "Prøve ApS", "status": "active"}


def matched(
    records: Sequence[MatchRecord], *, left: int = 1000, quota: int = 1200, **result: Any
) -> Response:
    found = {"decision": "match", "candidates": [{**CANDIDATE, "score": 0.99}], **result}
    return answer(
        {"results": [{"id": each.id, **found} for each in records]},
        ratelimit_policy=f'"key";q={quota};w=60',
        ratelimit=f'"key";r={left};t=17',
    )


def results_of(transport: FakeTransport, records: Sequence[MatchRecord]) -> list[MatchResult]:
    return list(transport.iterate(match(Retries(), records)))


def sizes(transport: FakeTransport) -> list[int]:
    return [len(request.body["records"]) for request in transport.requests]


def test_a_request_has_only_what_is_known() -> None:
    transport = FakeTransport([matched(RECORDS[:1])])

    results_of(transport, [MatchRecord("1", country="dk", name="Prøve", city="")])

    assert transport.requests[0].body == {
        "records": [{"id": "1", "country": "dk", "name": "Prøve"}],
        "limit": 5,
    }


@pytest.mark.parametrize("left, slept", [(400, []), (399, [17])])
def test_a_part_of_the_rate_is_left_to_others(left: int, slept: list[float]) -> None:
    transport = FakeTransport(
        [matched(RECORDS[:100], left=left), matched(RECORDS[100:200], left=1000)]
    )

    list(transport.iterate(match(Retries(), RECORDS[:200], share=0.75)))

    assert transport.slept == slept


def test_the_pace_is_told_before_each_wait_and_each_further_request() -> None:
    limit = {"ratelimit-policy": '"key";q=1200;w=60', "ratelimit": '"key";r=0;t=17'}
    answers: list[Outcome] = [
        Response(429, {**limit, "retry-after": "9"}, b"{}"),
        matched(RECORDS[:100], left=0),
        Unanswered("it is closed", sent=True),
        matched(RECORDS[100:200], left=0),
    ]
    told: list[Pace] = []

    transport = FakeTransport(answers)
    list(transport.iterate(match(Retries(), RECORDS[:200], on_pace=told.append)))

    assert [each.rate for each in told] == [Rate("key", 1200, 60)] * 6
    assert [(each.wait, each.is_outage) for each in told] == [
        (9, False),
        (0, False),
        (17, False),
        (0, False),
        (transport.slept[2], True),
        (0, False),
    ]


def test_a_refusal_that_no_smaller_request_helps_is_raised() -> None:
    transport = FakeTransport([problem("rate_limited", 429)])

    with pytest.raises(RateLimited):
        list(transport.iterate(match(Retries(attempts=1), RECORDS[:1])))


def test_a_late_record_is_repeated_alone_and_one_that_is_too_long_fails_alone() -> None:
    late = {"id": "1", "problem": a_problem("lookup_timeout", 504)}
    found = {"id": "0", "decision": "none", "candidates": []}
    transport = FakeTransport(
        [
            problem("body_too_large", 413),
            answer({"results": [found, late]}),
            problem("body_too_large", 413),
            matched(RECORDS[1:2]),
        ]
    )

    results = results_of(transport, RECORDS[:3])

    assert sizes(transport) == [3, 2, 1, 1]
    assert [each.record for each in results] == RECORDS[:3]
    assert [each.decision for each in results] == ["none", "match", None]
    assert results[2].error is not None


def test_the_problem_of_a_record_is_its_result() -> None:
    refused = {"id": "1", "problem": a_problem("invalid_parameter")}
    transport = FakeTransport([answer({"results": [refused]})])

    [result] = results_of(transport, RECORDS[:1])

    assert (result.decision, result.candidates) == (None, ())
    assert result.error is not None
    assert result.error.code == "invalid_parameter"


@pytest.mark.parametrize(
    "code, status, is_fault",
    [
        ("service_unavailable", 503, True),
        ("lookup_timeout", 504, True),
        ("rate_limited", 429, True),
        ("internal_error", 500, True),
        ("invalid_parameter", 400, False),
        ("company_removed", 410, False),
    ],
)
def test_a_record_whose_search_failed_is_not_searched(
    code: str, status: int, *, is_fault: bool
) -> None:
    failed = {"id": "1", "problem": a_problem(code, status)}
    transport = FakeTransport([answer({"results": [failed]})] * 4)

    [result] = results_of(transport, RECORDS[:1])

    assert result.decision == ("not_searched" if is_fault else None)


@pytest.mark.parametrize("body", [{}, {"results": []}, {"results": [{"id": "0"}]}, []])
def test_an_answer_that_is_not_one_result_per_record_is_an_error(body: object) -> None:
    with pytest.raises(InvalidResponse):
        results_of(FakeTransport([answer(body)]), RECORDS[:1])


FIELDS = {
    "name": ["Firmanavn", "Virksomhed", "Kundenavn"],
    "number": ["Org.nr.", "CVR-nummer", "P-nummer"],
    "address": ["Postadresse", "Adresselinje 1", "Gade"],
    "postal_code": ["Postnr."],
    "city": ["By", "Bynavn", "Poststed", "Postnr./by"],
    "email": ["E-post"],
    "website": ["Hjemmeside"],
    "phone": ["Telefon"],
    "country": ["Land"],
}


def test_a_column_is_recognised_by_its_header() -> None:
    headers = {header: [field] for field, names in FIELDS.items() for header in names}
    headers |= {"Saldo": [], "Kundenr": [], "Kunde": ["name"], "Firmanavn 2": ["name"]}
    headers |= {"E-mailadresse": ["email"], "CVR/P-nr": ["number"], "E-post (firma)": ["email"]}
    headers |= {"Postnr / By": ["city"], "Tlf./E-mail": []}

    assert {header: list(recognised([header]).places) for header in headers} == headers


@pytest.mark.parametrize(
    "header, row, fields",
    [
        (
            "Husnr;Vejnavn;Etage;Dør;Bogstav",
            "12;Nørregade;2;tv;B",
            {"address": "Nørregade 12 B 2 tv"},
        ),
        ("Adresse;Vejnavn;Husnr", "Nørregade 12;Nørregade;12", {"address": "Nørregade 12"}),
        ("Adresse;Husnr", "Nørregade;12", {"address": "Nørregade 12"}),
        ("Postadresse;Besøksadresse", "Postboks 1;Storgata 2", {"address": "Storgata 2"}),
        ("Adresselinje 2;Adresselinje 1", "2. sal;Gade 1", {"address": "Gade 1 2. sal"}),
        ("Etage", "2", {}),
        ("Navn;Firma", "Ane Prøve;Nordlys", {"name": "Nordlys"}),
        ("P-nummer;CVR-nr", "1012345670;12345674", {"number": "12345674"}),
        ("P-nummer;CVR-nr", "1012345670;", {"number": "1012345670"}),
        ("Telefon;Mobil", ";20304050", {"phone": "20304050"}),
        ("CVR;Orgnr", "-;310345679", {"number": "310345679"}),
        ("CVR;Orgnr", "-;ukendt", {"number": "-"}),
        ("Telefon;Mobil", "N / A;20304050", {"phone": "20304050"}),
    ],
)
def test_columns_that_make_one_value_are_joined_and_the_best_of_others_counts(
    header: str, row: str, fields: dict[str, str]
) -> None:
    columns = recognised(header.split(";"))

    assert columns.record("1", row.split(";")).fields == {"id": "1", **fields}


#: Headers of exports of registers and of bookkeeping programs.
EXPORTS = {
    "organisasjonsnummer;navn;organisasjonsform.kode;forretningsadresse.adresse;"
    "forretningsadresse.postnummer;forretningsadresse.poststed;hjemmeside": {
        "name": "navn",
        "number": "organisasjonsnummer",
        "address": "forretningsadresse.adresse",
        "postal_code": "forretningsadresse.postnummer",
        "city": "forretningsadresse.poststed",
        "website": "hjemmeside",
    },
    "innf_hist;Orgnr;Navn;Forretningsadresse;Fadr postnr;Fadr poststed;Postadresse;Padr postnr": {
        "name": "Navn",
        "number": "Orgnr",
        "address": "Forretningsadresse",
        "postal_code": "Fadr postnr",
        "city": "Fadr poststed",
    },
    "Kontaktnavn;Adresse;Postnummer;By;Landekode;CVR-nummer;EAN-nummer;Telefon;E-mail;Att.": {
        "country": "Landekode",
        "name": "Kontaktnavn",
        "number": "CVR-nummer",
        "address": "Adresse",
        "postal_code": "Postnummer",
        "city": "By",
        "phone": "Telefon",
        "email": "E-mail",
    },
    "Ordrenr;Virksomhedsnavn;CVR;Attention;Faktura adresse;Faktura postnr.;Faktura by": {
        "name": "Virksomhedsnavn",
        "number": "CVR",
        "address": "Faktura adresse",
        "postal_code": "Faktura postnr.",
        "city": "Faktura by",
    },
}


@pytest.mark.parametrize("header, fields", EXPORTS.items(), ids=["1", "2", "3", "4"])
def test_the_columns_of_usual_exports_are_recognised(header: str, fields: dict[str, str]) -> None:
    names = header.split(";")

    found = recognised(names).places

    assert {field: names[place] for field, (place, *_) in found.items()} == fields


def test_columns_that_are_not_used_are_named() -> None:
    header = ["Kundenr", "Firma", "Saldo", "Husnr", "Gade"]

    assert recognised(header).unused(header) == ["Kundenr", "Saldo"]
