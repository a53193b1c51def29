"""The formats of the files of the Norwegian register, and documents of what is deleted."""

from dataclasses import replace
from datetime import date
from io import StringIO
from typing import Any

import orjson
import pytest

from common.contracts.company import (
    Company,
    Country,
    ProductionUnit,
    Status,
    UnitKey,
)
from ingest.records.records import CompanyRecord, FileRecord, RecordRejected, SourceVersion
from ingest.records.source import RegisterSource
from ingest.records.tables import csv_records
from ingest.registers.brreg.documents import from_row
from ingest.registers.brreg.sync import NO_ENTITIES, NO_UNITS
from register_samples import as_of_2022, companies_no, units_no, write_table
from tests.builders.companies import MONDAY, TUESDAY, company_in, contents, parsed
from tests.builders.planning import PlannedRegister

Raw = dict[str, Any]


def rows(table: str, documents: list[Raw]) -> list[Raw]:
    """The documents of a CSV file with these columns."""
    return [dict(from_row(row.content or {})) for row in table_rows(table, documents)]


def table_rows(table: str, documents: list[Raw]) -> list[FileRecord]:
    file = StringIO()
    write_table(file, table, documents)
    return list(csv_records(iter([file.getvalue().encode()]), "utf-8", ","))


#: No file has deleted companies, and older ones do not tell which are under reconstruction.
COMPANIES = [
    one
    for one in companies_no(400)
    if one.keys().isdisjoint(("slettedato", "underRekonstruksjonsforhandlingDato"))
]
UNITS = list(units_no(400))
#: A day on which all of their dates have passed.
LATER = date(2026, 7, 1)
#: Fields that a file of each kind cannot tell, of companies and of units.
UNTOLD_OF_2022 = {
    *("former_names", "phone", "phones", "email", "capital", "shares", "purpose", "activity"),
    *("audit_waived", "articles_dated", "vat_registered_since", "registrations", "in_group"),
    *("home_register", "remarks", "voluntary_vat", "dissolution"),
}
UNTOLD_OF_2024 = {
    *("former_names", "phone", "phones", "email", "capital", "shares", "audit_waived"),
    *("vat_registered_since", "registrations", "in_group", "home_register", "remarks"),
    "voluntary_vat",
}
UNTOLD_UNITS = {
    *("former_names", "phone", "phones", "email", "voluntary_vat"),
    "vat_registered_since",
}


@pytest.mark.parametrize(
    "table,untold",
    [
        ("entities_json_2022", UNTOLD_OF_2022),
        ("entities_2026", {"former_names"}),
        ("entities_2024", UNTOLD_OF_2024),
        ("units_json_2022", UNTOLD_UNITS),
        ("units_2026", {"former_names"}),
        ("units_2024", UNTOLD_UNITS),
    ],
)
def test_each_format_tells_its_fields_like_the_present_one(table: str, untold: set[str]) -> None:
    is_units = table.startswith("units")
    present, model = (UNITS, ProductionUnit) if is_units else (COMPANIES, Company)
    source = NO_UNITS if is_units else NO_ENTITIES
    is_json = table.endswith("json_2022")
    documents = [as_of_2022(one) for one in present] if is_json else rows(table, present)

    for written, now in zip(documents, present, strict=True):
        told, full = (contents(parsed(source, one, LATER)) for one in (written, now))
        # Only that there are remarks is in a CSV file; a status without its date may have one.
        always = told.unknown - {"remarks", "status_since"}
        assert always == untold - {"remarks"}
        assert told.odd == full.odd == ()
        assert full.unknown <= {"remarks", "status_since"}
        # The count of employees has been withheld, and dated, only since 2025.
        fields = {*model.model_fields} - told.unknown - {"employees"}
        assert {name: getattr(told, name) for name in fields} == {
            name: getattr(full, name) for name in fields
        }


def test_activities_with_quotation_marks_are_read_and_counted() -> None:
    quoting = [one for one in COMPANIES if '"' in str(one.get("aktivitet"))]

    repaired = [row.content for row in table_rows("entities_2026", COMPANIES) if row.is_repaired]

    assert len(quoting) > 1
    assert [row and row["aktivitet"] for row in repaired] == [
        " ".join(one["aktivitet"]) for one in quoting
    ]


def read(source: RegisterSource, raw: Raw, version: SourceVersion) -> Any:
    record: Any = parsed(source, raw, LATER)
    return replace(record, version=version)


def test_what_a_deleted_document_lacks_stays_as_it_was_stored() -> None:
    full = next(one for one in COMPANIES if {"telefon", "kapital", "historiskeNavn"} <= one.keys())
    stub = {
        "organisasjonsnummer": full["organisasjonsnummer"],
        "navn": full["navn"],
        "organisasjonsform": full["organisasjonsform"],
        "slettedato": "2026-06-30",
        "respons_klasse": "SlettetEnhet",
        "_links": {},
    }
    older = {name: value for name, value in stub.items() if name != "respons_klasse"}
    register = PlannedRegister.of(read(NO_ENTITIES, full, MONDAY))

    register.take(read(NO_ENTITIES, stub, TUESDAY))

    fields = {change["field"] for event in register.events for change in event["data"]["changes"]}
    assert {"status", "ended"} <= fields <= {"status", "status_text", "status_since", "ended"}
    assert parsed(NO_ENTITIES, stub, LATER) == parsed(NO_ENTITIES, older, LATER)


def test_a_deleted_unit_stays_with_its_company_and_is_found_by_its_phone() -> None:
    full = next(one for one in UNITS if {"telefon"} <= one.keys() and "slettedato" not in one)
    number = full["organisasjonsnummer"]
    stub = {
        "organisasjonsnummer": number,
        "navn": full["navn"],
        "organisasjonsform": full["organisasjonsform"],
        "slettedato": "2026-06-30",
        "respons_klasse": "SlettetUnderEnhet",
        "_links": {},
    }
    register = PlannedRegister.of(read(NO_UNITS, full, MONDAY))
    before = register.known.units[UnitKey(Country.NO, number)]

    register.take(read(NO_UNITS, stub, TUESDAY))

    after = register.known.units[UnitKey(Country.NO, number)]
    assert (after.company, after.phones) == (before.company, before.phones)
    assert orjson.loads(after.core) == orjson.loads(before.core) | {
        "status": "ended",
        "ended": "2026-06-30",
    }


def test_columns_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(RecordRejected, match=r"form\.kode"):
        from_row({"form": "AS", "form.kode": "AS"})


@pytest.mark.parametrize("table", ["entities_2026", "entities_2024"])
def test_a_table_after_the_json_changes_nothing(table: str) -> None:
    companies = [one for one in COMPANIES if "historiskeNavn" in one or one["paategninger"]]
    # Since then the count of employees has a date, which makes it another count.
    companies = [one for one in companies if not one["harRegistrertAntallAnsatte"]]
    register = PlannedRegister.of(*(read(NO_ENTITIES, one, MONDAY) for one in companies))

    for row in rows(table, companies):
        register.take(read(NO_ENTITIES, row, TUESDAY))

    assert companies
    assert register.events == []


@pytest.mark.parametrize("answer, status", [("J", Status.BANKRUPT), ("N", Status.ACTIVE)])
def test_a_word_of_one_letter_is_an_answer_only_where_one_is_expected(
    answer: str, status: Status
) -> None:
    row = from_row({"organisasjonsnummer": "310345679", "navn": answer, "konkurs": answer})

    record = parsed(NO_ENTITIES, row)

    assert isinstance(record, CompanyRecord)
    company = company_in(record)
    assert (company.name, company.status) == (answer, status)
