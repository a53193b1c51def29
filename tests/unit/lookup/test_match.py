"""Records of customers: how they are read, compared with companies, and found in the index."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from common.contracts.company import Address, Company, Country, LegalForm, Status
from common.contracts.match import (
    MatchDecision,
    MatchRecord,
    MatchReply,
    MatchRequest,
    WeighedRecord,
)
from common.domain.contacts import Contacts, read_contacts
from gateway.lookups.match import decided
from lookup.answers.searches import AnswerMatches
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import indexed_core
from lookup.search.match.record import ReadRecord, read_record
from register_store.canonical_json import dump
from register_store.documents import CompanyRow
from tests.builders.companies import a_company
from tests.builders.indexed import filled
from tests.fakes.lookup import DirectSearches, FakeRegister

DK, NO = Country.DK, Country.NO


def read(fields: Mapping[str, str], register: Country = DK) -> ReadRecord:
    return read_record(MatchRecord.model_validate({"id": "1", **fields}), register)


# Reading


@pytest.mark.parametrize(
    "fields",
    [
        {"postal_code": "8000", "city": "Aarhus C"},
        {"postal_code": "DK-8000", "city": "aarhus c"},
        {"city": "8000 Aarhus C"},
        {"postal_code": "8000 Aarhus C"},
        {"postal_code": "Aarhus C", "city": "8000"},
        {"address": "Prøvevej 5, 8000 Aarhus C"},
    ],
)
def test_a_postal_code_and_its_town_are_found_in_either_column(fields: dict[str, str]) -> None:
    record = read({"name": "Nordlys", **fields})

    assert (record.postal_code, record.town) == ("8000", "arhus c")


def test_a_street_in_the_column_of_the_town_is_the_address() -> None:
    record = read({"address": "Aarhus C", "city": "Prøvevej 5", "postal_code": "8000"})

    [address] = record.addresses
    assert (address.street.key, address.postal_code, address.towns) == (
        "provevej",
        "8000",
        ("arhus c",),
    )


def test_a_number_and_a_phone_number_may_have_changed_places() -> None:
    record = read({"country": "dk", "number": "33 44 55 66", "phone": "DK 12345674"})

    assert (record.number, record.phones) == ("12345674", ("33445566",))


@pytest.mark.parametrize("number", ["ukendt", "1234567", "12345675"])
def test_without_a_country_a_number_counts_where_its_check_digit_fits(number: str) -> None:
    assert read({"number": number}).number == ""
    assert read({"number": "12345674"}).number == "12345674"
    assert read({"number": "12345674"}, NO).number == ""
    assert read({"number": "NO 310 345 679 MVA"}, NO).number == "310345679"


@pytest.mark.parametrize(
    "email, website, contacts",
    [
        ("Post@Firma.Example.com ", None, Contacts("post@example.com", "example.com", "")),
        ("anna@gmail.com", None, Contacts("anna@gmail.com", "", "")),
        (None, "https://www.example.com/en?a=1", Contacts("", "", "example.com")),
        (None, "facebook.com/firma", Contacts()),
        ("Anna <anna@example.com>", None, Contacts("anna@example.com", "example.com", "")),
        ("ingen", "ingen", Contacts()),
        ("a b@example.com", "127.0.0.1", Contacts()),
    ],
)
def test_contacts_are_domains_of_ones_own(
    email: str | None, website: str | None, contacts: Contacts
) -> None:
    assert read_contacts(email, website) == contacts


@pytest.mark.parametrize(
    "fields, number, phones, unread",
    [
        ({"number": "CVR-nr. 12345674", "phone": "tlf. 33445566"}, "12345674", 1, ()),
        ({"number": "12345674.0", "phone": "33445566 / 11223344"}, "12345674", 2, ()),
        ({"number": "4,10000E+07"}, "", 0, ("number",)),
        ({"number": "NO 310 345 679 MVA"}, "", 0, ("number",)),
        ({"number": "12345675", "phone": "33445566"}, "12345675", 1, ()),
        ({"number": "P-nr. 1012345670"}, "", 0, ()),
        ({"number": "33445566 / 11223344"}, "", 2, ()),
        ({"number": "se faktura", "phone": "12345674"}, "12345674", 1, ("number",)),
        ({"number": "12345674", "phone": "ring", "email": "spørg"}, "12345674", 0,
         ("phone", "email")),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_read_is_named(
    fields: dict[str, str], number: str, phones: int, unread: tuple[str, ...]
) -> None:
    record = read({"country": "dk", **fields})

    assert (record.number, len(record.phones), record.unread) == (number, phones, unread)


def test_a_lost_zero_is_assumed_where_the_check_digit_fits() -> None:
    records = [read({"number": text}) for text in ("5501431.0", "05501431", "5501432")]

    assert [(one.number, one.is_assumed) for one in records] == [
        ("05501431", True), ("05501431", False), ("", False),
    ]  # fmt: skip


def test_a_postal_code_without_its_zeros_is_that_of_the_country() -> None:
    given = {"name": "Nordlys", "postal_code": "159.0", "city": "Oslo"}

    assert [(read(given, each).postal_code, read(given, each).town) for each in (NO, DK)] == [
        ("0159", "oslo"), ("", "oslo"),
    ]  # fmt: skip


def test_a_foreign_postal_code_is_kept_as_text() -> None:
    record = read({"name": "Nordlys", "postal_code": "SE-111 57", "city": "Stockholm"})

    assert (record.postal_code, record.foreign_code) == ("", "se11157")


# Matching


def company(vat: str, name: str, **fields: Any) -> Company:
    return a_company(**{"vat": vat, "name": name, "address": None, **fields})


def at(street: str, postal_code: str, city: str) -> Address:
    text = f"{street}, {postal_code} {city}"
    return Address(street=street, postal_code=postal_code, city=city, country="DK", text=text)


REGISTER = [
    company("10000001", "Nordlys Kaffe ApS", address=at("Havnegade 4", "8000", "Aarhus C")),
    company("10000002", "Nordlys Kaffe ApS", address=at("Skovvej 9", "5000", "Odense C")),
    company("10000003", "Nordlys Kaffe ApS", address=at("Torvet 1", "5000", "Odense C")),
    company("10000004", "Fjordblik Byg A/S", status=Status.ENDED),
    company("10000005", "Fjordblik Byg A/S", address=at("Kajen 2", "9000", "Aalborg")),
    company("10000006", "Svane & Holm", email="post@svaneholm.example", phone="33445566"),
    company("10000007", "Ulven Invest 2 ApS", address=at("Ulvevej 7", "4000", "Roskilde")),
    company("10000008", "Ulven Invest 3 ApS", address=at("Ulvevej 7", "4000", "Roskilde")),
    company(
        "10000010",
        "Granviken AB",
        form=LegalForm(code="UTLA"),
        address=Address(street="Storgatan 1", country="SE", text="Storgatan 1, SE-111 57 Orsa"),
    ),
    company("20000011", "Granviken AB", form=LegalForm(code="NUF")),
    company("10000009", "Brinkens Tømrer", website="https://brinkens.example/", phone="11223344"),
]


async def matched(index: SearchIndex, *records: MatchRecord) -> Sequence[WeighedRecord]:
    cores = {one.vat: dump(one) for one in REGISTER}
    indexed = {vat: indexed_core(core) for vat, core in cores.items()}
    filled(index, *indexed.values())
    rows = {one.key: CompanyRow(1, cores[vat], b"[]", b"[]", None) for vat, one in indexed.items()}
    phones = {f"dk:{one.phone}": [indexed[one.vat].key] for one in REGISTER if one.phone}
    answer = AnswerMatches(DirectSearches(index), FakeRegister(rows, phones))
    request = MatchRequest(country=DK, records=records, limit=5)
    [reply] = await answer([request])
    assert isinstance(reply, MatchReply)
    return reply.records


async def ranked(index: SearchIndex, **fields: str) -> list[str]:
    """The last digits of the candidates' numbers, the likeliest first."""
    [record] = await matched(index, MatchRecord.model_validate({"id": "1", **fields}))
    return [one.vat[-1] for one in record.candidates if one.log_odds > 0]


@pytest.mark.parametrize(
    "fields, first",
    [
        ({"name": "nordlys kaffe", "postal_code": "8000"}, "1"),
        ({"name": "Nordlys Kafe", "address": "Torvet 1", "postal_code": "5000"}, "3"),
        ({"name": "Nordlys Kaffe Aps", "address": "Skovvej 9, 5000 Odense C"}, "2"),
        ({"name": "Fjordblik Byg"}, "5"),
        ({"name": "Svane og Holm v/Anna", "email": "anna@svaneholm.example"}, "6"),
        ({"name": "Tømrermester Brink", "website": "www.brinkens.example"}, "9"),
        ({"name": "Brinkens", "phone": "+45 11 22 33 44"}, "9"),
        ({"name": "Brinkens afd. 2", "phone": "+45 11 22 33 44"}, "9"),
        ({"name": "Ulven Invest 3", "postal_code": "4000"}, "8"),
        ({"number": "DK 10000007", "country": "dk"}, "7"),
        ({"phone": "33 44 55 66"}, "6"),
        ({"name": "Granviken"}, "1"),
    ],
)
async def test_the_company_that_is_meant_is_the_likeliest(
    index: SearchIndex, fields: dict[str, str], first: str
) -> None:
    assert (await ranked(index, **fields))[:1] == [first]


#: A record of another company than Ulven Invest 2, 3, with evidence that sister companies share.
ULVEN_4 = {
    "name": "Ulven Invest 4 ApS",
    "address": "Ulvevej 7",
    "postal_code": "4000",
    "city": "Roskilde",
}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "Ulven Invest 4"},
        ULVEN_4,
        {**ULVEN_4, "number": "DK 10000017", "country": "dk"},
        {"name": "Svane & Holm 2", "phone": "33445566", "email": "post@svaneholm.example"},
        {"name": "Svane & Holm V", "phone": "33445566"},
        {"name": "Brinkens Tømrer B", "website": "brinkens.example", "phone": "11223344"},
    ],
)
async def test_a_company_with_another_figure_in_its_name_is_a_candidate_and_no_match(
    index: SearchIndex, fields: dict[str, str]
) -> None:
    asked = MatchRecord.model_validate({"id": "1", **fields})

    [record] = await matched(index, asked)

    result = decided(asked, {DK: record}, 5)
    assert result.candidates
    assert result.decision is not MatchDecision.MATCH
    assert await ranked(index, **{**fields, "number": "10000007", "country": "dk"}) == ["7"]


async def test_another_town_with_the_same_name_lowers(index: SearchIndex) -> None:
    here, elsewhere = await matched(
        index,
        MatchRecord(id="1", name="Fjordblik Byg", postal_code="9000", city="Aalborg"),
        MatchRecord(id="2", name="Fjordblik Byg", postal_code="1000", city="København K"),
    )

    best = [max(one.log_odds for one in record.candidates) for record in (here, elsewhere)]
    assert best[0] > best[1] + 2


async def test_evidence_is_of_the_fields_that_both_have(index: SearchIndex) -> None:
    [record] = await matched(
        index, MatchRecord(id="1", name="Svane & Holm", phone="33445567", city="Odense")
    )

    assert record.candidates[0].evidence.model_dump(exclude_none=True) == {
        "name": 100.0,
        "phone": 0.0,
    }


async def test_a_record_that_resembles_no_company_has_no_likely_candidate(
    index: SearchIndex,
) -> None:
    assert await ranked(index, name="Ganske Andet Firma", postal_code="5000") == []
    assert await ranked(index, email="hej@gmail.com") == []


async def test_the_odds_beyond_the_limit_are_summed(index: SearchIndex) -> None:
    cores = [dump(company(f"2000000{n}", "Ens Navn ApS")) for n in range(4)]
    filled(index, *map(indexed_core, cores))
    rows = {
        one.key: CompanyRow(1, core, b"[]", b"[]", None)
        for core in cores
        for one in [indexed_core(core)]
    }
    answer = AnswerMatches(DirectSearches(index), FakeRegister(rows))
    records = (MatchRecord(id="1", name="Ens Navn"),)

    [few] = await answer([MatchRequest(country=DK, records=records, limit=1)])
    [all_] = await answer([MatchRequest(country=DK, records=records, limit=5)])

    assert few.records[0].other_odds > 0
    assert (len(few.records[0].candidates), len(all_.records[0].candidates)) == (1, 4)
    assert all_.records[0].other_odds == 0
