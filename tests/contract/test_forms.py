"""The forms of docs/lookups.md mean the same on every surface."""

import csv
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlencode

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.match import MatchReason, MatchRecord
from common.domain.numbers import parse_registration_number
from common.domain.written import read_country
from company_registry.matching import REASONS
from company_registry.spreadsheets import COUNTRIES
from lookup.search.match import read_record
from portal.domain.pasted import companies_in, countries_of
from tests.contract.test_client_command import Shell, shell
from tests.fakes.gateway import Gateway
from tests.fakes.portal import Portal
from tests.fakes.portal import portal as a_portal
from webhook_registry.watchlists.watchlist_bodies import read_watched_changes

__all__ = ["shell"]

DOCUMENT: Final = (Path(__file__).parents[2] / "docs" / "lookups.md").read_text()
ROW: Final = re.compile(r"\| ([a-zA-Z -]+)(?:, (dk|no))? \| `([^|]+)` \| (`.+`) \|")
CODE: Final = re.compile("⟨([0-9A-F]+)⟩")
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


class Form(NamedTuple):
    """A value as somebody writes it, and as it is read."""

    kind: str
    #: The first one for a value of both countries.
    country: str
    value: str
    written: str


def forms(*kinds: str) -> list[Form]:
    """The forms of these kinds of values, as the document lists them for people."""
    text = DOCUMENT.partition("## How values are read\n")[2].partition("\n## ")[0]
    return [
        Form(kind, country or "dk", value, CODE.sub(lambda code: chr(int(code[1], 16)), written))
        for kind, country, value, listed in ROW.findall(text)
        if kind in kinds
        for written in listed.strip("`").split("` · `")
    ]


NUMBERS: Final = forms("registration number")
SEARCHED: Final = forms(*TYPES)
RECORDS: Final = forms(*FIELDS)


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


async def test_a_form_is_read_by_lookups_and_batches(gateway: Gateway) -> None:
    headers = gateway.issue()
    for form in SEARCHED:
        type_ = TYPES[form.kind]
        lookup = {"country": form.country, type_: form.written}
        typed = {"country": form.country, "q": form.written}
        gateway.lookups.asked.clear()

        answers = [
            await gateway.client.get("/api", params=lookup, headers=headers),
            await gateway.client.get(f"/api/{type_}", params=typed, headers=headers),
            await gateway.client.post("/api/batch", json={"lookups": [lookup]}, headers=headers),
        ]

        assert (form, [answer.status for answer in answers]) == (form, [200] * 3)
        assert (form, gateway.lookups.terms()) == (form, [[(type_, form.value)]] * 3)


async def test_a_form_is_recognised_in_a_search(gateway: Gateway) -> None:
    headers = gateway.issue()
    for form in SEARCHED:
        params = {"country": form.country, "search": form.written}
        gateway.lookups.asked.clear()

        answer = await gateway.client.get("/api", params=params, headers=headers)

        assert (form, answer.status) == (form, 200)
        [questions] = gateway.lookups.terms()
        assert (form, (TYPES[form.kind], form.value) in questions) == (form, True)
        # No other number than the value's, in whatever type.
        numbers = {term for type_, term in questions if type_ != "name"}
        assert (form, numbers - {form.value, digits(form)}) == (form, set())


def digits(form: Form) -> str:
    return "".join(filter(str.isdigit, form.written))


async def test_a_form_is_read_in_a_record_to_be_matched(gateway: Gateway) -> None:
    headers = gateway.issue()
    for form in RECORDS:
        body = {"records": [{"id": "1", **the_record(form)}]}
        gateway.matches.asked.clear()

        answer = await gateway.client.post("/api/match", json=body, headers=headers)

        assert (form, answer.status) == (form, 200)
        [asked] = gateway.matches.asked
        assert (form, asked.country) == (form, form.country)
        assert (form, read_value(asked.records[0], form)) == (form, form.value)


async def test_a_form_is_read_in_reconciliation(gateway: Gateway) -> None:
    headers = gateway.issue()
    for form in (each for each in RECORDS if each.kind != "country"):
        is_query = form.kind in ("registration number", "production unit", "e-mail", "name")
        field = {"pid": FIELDS[form.kind], "v": form.written}
        query = {"query": form.written} if is_query else {"query": "P", "properties": [field]}
        data = {"queries": orjson.dumps({"q": query}).decode()}
        path = f"/reconcile/{form.country}"
        gateway.matches.asked.clear()

        answer = await gateway.client.post(path, data=data, headers=headers)

        assert (form, answer.status) == (form, 200)
        [asked] = gateway.matches.asked
        assert (form, read_value(asked.records[0], form)) == (form, form.value)


def test_a_form_is_read_in_a_watchlist() -> None:
    for form in NUMBERS:
        [pasted] = companies_in(form.written) if "," not in form.written else [form.written]
        for written in (form.written, f"{form.country}:{form.written}", pasted):
            added = read_watched_changes(orjson.dumps({"add": [written]})).add
            assert (form, added) == (form, (f"{form.country}:{form.value}",))


async def test_the_command_line_sends_the_forms_that_the_service_reads(shell: Shell) -> None:
    fields = list(dict.fromkeys(["country", *FIELDS.values()]))
    rows = [[the_record(form).get(name, "") for name in fields] for form in RECORDS]
    header = ["cvr" if name == "number" else name for name in fields]
    (shell.home / "k.csv").write_text(written([header, *rows]))
    none = {"id": "1", "decision": "none", "candidates": [], "reason": "not_found"}
    sizes = [100] * (len(RECORDS) // 100) + [len(RECORDS) % 100]
    shell.answers["/api/match"] = [{"results": [none] * size} for size in sizes]
    (shell.home / "w.csv").write_text(
        written([["land", "cvr"], *([form.country, form.written] for form in NUMBERS)])
    )
    change = {"added": 0, "present": 0, "removed": 0, "size": 0, "unknown": [], "invalid": []}
    shell.answers["/api/watchlists/wl_1/companies"] = [change]

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


def test_the_client_knows_the_countries_that_the_service_reads_and_no_others() -> None:
    known = {form.written: COUNTRIES.get(form.written.lower()) for form in forms("country")}

    assert known == {form.written: form.value for form in forms("country")}
    assert {name: read_country(name) for name in COUNTRIES} == COUNTRIES


def test_every_reason_is_explained_and_has_words() -> None:
    text = DOCUMENT.partition("## Why a row has no company\n")[2].partition("\n## ")[0]
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
