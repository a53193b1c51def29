"""Records of customers: how they are read, compared with companies, and found in the index."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.contracts.company import Address, Company, Country, LegalForm, Status
from common.contracts.match import MatchRecord, MatchReply, MatchRequest, WeighedRecord
from gateway.lookups.match import decided
from lookup.answers.searches import AnswerMatches
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import indexed_core
from lookup.search.match import read_record
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow, dump
from tests.builders.companies import a_company
from tests.builders.indexed import filled
from tests.fakes.lookup import FakeRegister
from tests.tables import check

DK = Country.DK


def a_record(text: str) -> MatchRecord:
    """From `name: Nordlys; city: Odense`."""
    fields = dict(part.split(": ", 1) for part in text.split("; "))
    return MatchRecord.model_validate({"id": "1", **fields})


def read(given: Sequence[str], text: str) -> str:
    record = read_record(a_record(text), Country(given[0]))
    street = record.addresses[0].street.words if record.addresses else ""
    parts = {
        **record._asdict(),
        **record.contacts._asdict(),
        "street": street,
        "phones": ",".join(record.phones),
        "unread": ",".join(record.unread),
    }
    hidden = ("name", "contacts", "addresses")
    return " ".join(f"{k}={v}" for k, v in parts.items() if v and k not in hidden) or "-"


def test_records_are_read_as_in_the_table() -> None:
    check(Path(__file__).with_name("records.txt"), read)


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
    company("10000009", "Brinkens Tømrer", website="https://brinkens.example/", phone="11223344"),
    company(
        "10000010",
        "Granviken AB",
        form=LegalForm(code="UTLA"),
        address=Address(street="Storgatan 1", country="SE", text="Storgatan 1, SE-111 57 Orsa"),
    ),
    company("10000011", "Granviken AB", form=LegalForm(code="NUF")),
]


def answers(index: SearchIndex, searches: IndexSearches, companies: list[Company]) -> AnswerMatches:
    cores = {one.vat: dump(one) for one in companies}
    indexed = {vat: indexed_core(core) for vat, core in cores.items()}
    filled(index, *indexed.values())
    rows = {one.key: CompanyRow(1, cores[vat], b"[]", b"[]", None) for vat, one in indexed.items()}
    phones = {f"dk:{one.phone}": [indexed[one.vat].key] for one in companies if one.phone}
    return AnswerMatches(searches, FakeRegister(rows, phones))


async def matched(
    answer: AnswerMatches, *records: MatchRecord, limit: int = 5
) -> Sequence[WeighedRecord]:
    [reply] = await answer([MatchRequest(country=DK, records=records, limit=limit)])
    assert isinstance(reply, MatchReply)
    return reply.records


async def test_records_match_the_companies_of_the_table(
    index: SearchIndex, searches: IndexSearches
) -> None:
    table = Path(__file__).with_name("matches.txt")
    queries = [
        line.rsplit("  ", 1)[-1].strip()
        for line in table.read_text().splitlines()
        if line[:1] == " "
    ]
    records = [a_record(query) for query in queries]
    found = await matched(answers(index, searches, REGISTER), *records)

    def result(_given: Sequence[str], query: str) -> str:
        place = queries.index(query)
        result = decided(records[place], {DK: found[place]}, 5)
        candidates = (f"{int(c.vat[3:])} {c.log_odds:.1f}" for c in found[place].candidates[:3])
        said = " ".join((result.decision, ", ".join(candidates))).strip()
        two = result.conflict and (result.conflict.number, result.conflict.name)
        return f"{said}: {' or '.join(str(int(c.vat[3:])) for c in two)}" if two else said

    check(table, result)


async def test_evidence_is_of_the_fields_that_both_have(
    index: SearchIndex, searches: IndexSearches
) -> None:
    asked = MatchRecord(id="1", name="Svane & Holm", phone="33445567", city="Odense")

    [record] = await matched(answers(index, searches, REGISTER), asked)

    assert record.candidates[0].evidence.model_dump(exclude_none=True) == {
        "name": 100.0,
        "phone": 0.0,
    }


async def test_the_odds_beyond_the_limit_are_summed(
    index: SearchIndex, searches: IndexSearches
) -> None:
    same = [company(f"2000000{n}", "Ens Navn ApS") for n in range(4)]
    answer = answers(index, searches, same)

    [few] = await matched(answer, MatchRecord(id="1", name="Ens Navn"), limit=1)
    [all_] = await matched(answer, MatchRecord(id="1", name="Ens Navn"), limit=5)

    assert few.other_odds > 0 == all_.other_odds
    assert (len(few.candidates), len(all_.candidates)) == (1, 4)
