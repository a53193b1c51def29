"""The forms of docs/lookups.md mean the same on every surface."""

import csv
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlencode

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.match import MatchReason, MatchRecord
from common.domain.numbers import parse_registration_number
from common.domain.written import read_country
from company_registry.matching import REASONS
from company_registry.spreadsheets import COUNTRIES
from lookup.search.match.record import read_record
from portal.domain.pasted import companies_in, countries_of
from tests.builders.forms import Form, forms
from tests.contract.test_client_command import Shell, shell
from tests.fakes.gateway import Gateway
from tests.fakes.portal import Portal
from tests.fakes.portal import portal as a_portal
from webhook_registry.watchlist_bodies import read_watched_changes

__all__ = ["shell"]

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "lookups.md"
#: The search type of each kind of value, and the field of a record.
TYPES: Final = {
    "registration number": "vat",
    "production unit": "produ",
    "GLN": "ean",
    "phone": "phone",
    "name": "name",
}
FIELDS: Final = {
    "registration number": "number",
    "production unit": "number",
    "phone": "phone",
    "e-mail": "email",
    "postal code": "postal_code",
    "country": "country",
    "name": "name",
}
NUMBERS: Final = forms("registration number")
SEARCHED: Final = forms(*TYPES)
RECORDS: Final = forms(*FIELDS)


def name_of(form: Form) -> str:
    return f"{form.kind}-{form.written!a}"


def the_record(form: Form) -> dict[str, str]:
    """A record with this value, and what else it needs."""
    is_alone = form.kind in ("registration number", "production unit", "phone")
    named = {} if is_alone else {"name": "P"}
    return {"country": form.country, **named, FIELDS[form.kind]: form.written}


def read_value(record: MatchRecord, form: Form) -> str:
    """The value that the lookup service reads from the field of a form."""
    read = read_record(record, Country(form.country))
    assert read.unread == ()
    return {
        "registration number": read.number,
        "production unit": read.unit,
        "phone": next(iter(read.phones), ""),
        "e-mail": read.contacts.mailbox,
        "postal code": read.postal_code,
        "country": str(record.country),
        "name": record.name or "",
    }[form.kind]


def test_the_table_has_every_kind_and_both_countries() -> None:
    listed = {(form.kind, form.country) for form in forms(*TYPES, *FIELDS)}

    assert {kind for kind, _ in listed} == {*TYPES, *FIELDS}
    assert {("registration number", each) for each in Country} <= listed


@pytest.mark.parametrize("form", SEARCHED, ids=name_of)
async def test_a_form_is_read_by_lookups_and_batches(gateway: Gateway, form: Form) -> None:
    type_, headers = TYPES[form.kind], gateway.issue()
    lookup = {"country": form.country, type_: form.written}

    answers = [
        await gateway.client.get("/api", params=lookup, headers=headers),
        await gateway.client.get(
            f"/api/{type_}", params={"country": form.country, "q": form.written}, headers=headers
        ),
        await gateway.client.post("/api/batch", json={"lookups": [lookup]}, headers=headers),
    ]

    assert [answer.status for answer in answers] == [200] * 3
    assert gateway.lookups.terms() == [[(type_, form.value)]] * 3


@pytest.mark.parametrize("form", SEARCHED, ids=name_of)
async def test_a_form_is_recognised_in_a_search(gateway: Gateway, form: Form) -> None:
    params = {"country": form.country, "search": form.written}

    answer = await gateway.client.get("/api", params=params, headers=gateway.issue())

    assert answer.status == 200
    [questions] = gateway.lookups.terms()
    assert (TYPES[form.kind], form.value) in questions
    # No other number than the value's, in whatever type.
    assert {term for type_, term in questions if type_ != "name"} <= {form.value, digits(form)}


def digits(form: Form) -> str:
    return "".join(filter(str.isdigit, form.written))


@pytest.mark.parametrize("form", RECORDS, ids=name_of)
async def test_a_form_is_read_in_a_record_to_be_matched(gateway: Gateway, form: Form) -> None:
    body = {"records": [{"id": "1", **the_record(form)}]}

    answer = await gateway.client.post("/api/match", json=body, headers=gateway.issue())

    assert answer.status == 200
    [asked] = gateway.matches.asked
    assert asked.country == form.country
    assert read_value(asked.records[0], form) == form.value


@pytest.mark.parametrize("form", [each for each in RECORDS if each.kind != "country"], ids=name_of)
async def test_a_form_is_read_in_reconciliation(gateway: Gateway, form: Form) -> None:
    is_query = form.kind in ("registration number", "production unit", "e-mail", "name")
    field = {"pid": FIELDS[form.kind], "v": form.written}
    query = {"query": form.written} if is_query else {"query": "P", "properties": [field]}
    data = {"queries": orjson.dumps({"q": query}).decode()}

    answer = await gateway.client.post(
        f"/reconcile/{form.country}", data=data, headers=gateway.issue()
    )

    assert answer.status == 200
    [asked] = gateway.matches.asked
    assert read_value(asked.records[0], form) == form.value


@pytest.mark.parametrize("form", NUMBERS, ids=name_of)
def test_a_form_is_read_in_a_watchlist(form: Form) -> None:
    key = f"{form.country}:{form.value}"
    for written in (form.written, f"{form.country}:{form.written}"):
        body = orjson.dumps({"add": [written]})
        assert read_watched_changes(body).add == (key,)
    [pasted] = companies_in(form.written) if "," not in form.written else [form.written]
    assert read_watched_changes(orjson.dumps({"add": [pasted]})).add == (key,)


async def test_the_command_line_sends_the_forms_that_the_service_reads(shell: Shell) -> None:
    fields = list(dict.fromkeys(["country", *FIELDS.values()]))
    rows = [[the_record(form).get(name, "") for name in fields] for form in RECORDS]
    header = ["cvr" if name == "number" else name for name in fields]
    (shell.home / "k.csv").write_text(written([header, *rows]))
    none = {"id": "1", "decision": "none", "candidates": [], "reason": "not_found"}
    shell.answers["/api/match"] = [{"results": [none] * 100}, {"results": [none] * 100}]
    (shell.home / "w.csv").write_text(
        written([["land", "cvr"], *([form.country, form.written] for form in NUMBERS)])
    )
    change = {"added": 0, "present": 0, "removed": 0, "size": 0, "unknown": [], "invalid": []}
    shell.answers["/api/watchlists/wl_1/companies"] = [change]
    shell.answers["/api/match"][-1]["results"] = [none] * (len(RECORDS) % 100)

    await shell.run("match", "k.csv")
    await shell.run("watchlists", "add", "wl_1", "--file", "w.csv")

    *matched, watched = shell.bodies
    sent = [each for body in matched for each in body["records"]]
    for form, record in zip(RECORDS, sent, strict=True):
        country = read_country(record.pop("country"))
        asked = MatchRecord.model_validate({**record, "country": country})
        assert (form, country) == (form, form.country)
        if form.kind not in ("country", "name"):
            assert (form, read_value(asked, form)) == (form, form.value)
    keys = read_watched_changes(orjson.dumps(watched)).add
    assert set(keys) == {f"{form.country}:{form.value}" for form in NUMBERS}


def written(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows(rows)
    return text.getvalue()


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        portal.api.fail("/api", 404, "company_not_found")
        portal.api.give("/api/suggest", {"suggestions": [], "cursor": None})
        await portal.sign_in()
        yield portal


async def test_the_portal_sends_the_forms_that_the_service_reads(portal: Portal) -> None:
    numbers = [form for form in SEARCHED if form.kind != "name"]

    for form in numbers:
        assert (form, form.country in countries_of(form.written)) == (form, True)
        await portal.get(f"/?{urlencode({'q': form.written})}")

    asked = {unquote(query) for query in portal.api.queries if query.startswith("search=")}
    assert asked == {f"search={form.written.strip()}" for form in numbers}


@pytest.mark.parametrize("form", forms("country"), ids=name_of)
def test_the_client_knows_the_countries_that_the_service_reads(form: Form) -> None:
    assert COUNTRIES[form.written.lower()] == read_country(form.written) == form.value


def test_the_client_knows_no_country_that_the_service_does_not_read() -> None:
    assert {name: read_country(name) for name in COUNTRIES} == COUNTRIES


def test_every_reason_is_explained_and_has_words() -> None:
    text = DOCUMENT.read_text().partition("## Why a row has no company\n")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)

    assert sorted(explained) == sorted(MatchReason) == sorted(REASONS)


@pytest.mark.parametrize(
    "record, expected",
    [
        ({"number": "5501431.0"}, ("05501431", True, ())),
        ({"number": "4,10000E+07"}, ("", False, ("number",))),
        ({"number": "NO 310 345 679 MVA"}, ("", False, ("number",))),
    ],
)
def test_what_the_document_refuses_is_refused(
    record: dict[str, str], expected: tuple[Any, ...]
) -> None:
    given = MatchRecord.model_validate({"id": "1", "country": "dk", **record})

    read = read_record(given, Country.DK)

    assert (read.number, read.is_assumed, read.unread) == expected
    assert parse_registration_number("05501431", Country.DK) == "05501431"
