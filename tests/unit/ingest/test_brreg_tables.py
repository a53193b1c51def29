"""Values of the Norwegian register's documents: what is written in, what is read out."""

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from io import StringIO
from typing import Any

import orjson
import pytest

from common.contracts.company import (
    Company,
    Country,
    OwnerRole,
    ProductionUnit,
    RoleCode,
    UnitKey,
)
from ingest.records.records import SourceVersion
from ingest.records.source import RegisterSource
from ingest.registers.brreg.documents import from_row
from ingest.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from register_samples import as_of_2022, companies_no, units_no, write_table
from tests.builders.companies import MONDAY, TODAY, TUESDAY, contents, parsed
from tests.builders.planning import PlannedRegister
from tests.builders.registers import (
    a_norwegian_address,
    a_norwegian_unit,
    a_role,
    an_entity,
    roles,
)

Raw = dict[str, Any]
TOMORROW, YESTERDAY = "2026-03-05", "2026-03-03"


def company(**fields: Any) -> Any:
    return contents(parsed(NO_ENTITIES, an_entity(**fields)))


def unit(**fields: Any) -> Any:
    return contents(parsed(NO_UNITS, a_norwegian_unit(**fields)))


LIQUIDATED = "Under tvangsavvikling eller tvangsoppløsning"


@pytest.mark.parametrize(
    "fields,status,word,since",
    [
        ({}, "active", None, None),
        ({"konkurs": True}, "bankrupt", "Konkurs", None),
        ({"konkurs": True, "underAvvikling": True}, "bankrupt", "Konkurs", None),
        ({"konkurs": True, "konkursdato": "2026-01-01"}, "bankrupt", "Konkurs", "2026-01-01"),
        ({"konkurs": None, "konkursdato": "2026-01-01"}, "bankrupt", "Konkurs", "2026-01-01"),
        ({"konkurs": False, "konkursdato": "2026-01-01"}, "active", None, None),
        ({"konkurs": False, "konkursdato": ""}, "active", None, None),
        ({"konkurs": True, "konkursdato": TOMORROW}, "active", None, None),
        ({"underAvvikling": True}, "under_liquidation", "Under avvikling", None),
        (
            {"underAvvikling": True, "underAvviklingDato": "2025-10-01"},
            "under_liquidation",
            "Under avvikling",
            "2025-10-01",
        ),
        (
            {"underTvangsavviklingEllerTvangsopplosning": True},
            "under_liquidation",
            LIQUIDATED,
            None,
        ),
        (
            {
                "underTvangsavviklingEllerTvangsopplosning": True,
                "tvangsopplostPgaManglendeDagligLederDato": "2025-11-01",
                "tvangsopplostPgaManglendeRegnskapDato": "2025-09-01",
            },
            "under_liquidation",
            LIQUIDATED,
            "2025-09-01",
        ),
        (
            {"underRekonstruksjonsforhandlingDato": "2026-01-01"},
            "under_reconstruction",
            "Under rekonstruksjonsforhandling",
            "2026-01-01",
        ),
        (
            {"underUtenlandskInsolvensbehandlingDato": "2026-01-01"},
            "bankrupt",
            "Under utenlandsk insolvensbehandling",
            "2026-01-01",
        ),
        ({"slettedato": "2026-01-01", "konkurs": True}, "ended", "Slettet", "2026-01-01"),
        ({"slettedato": str(TODAY)}, "ended", "Slettet", str(TODAY)),
        ({"slettedato": TOMORROW}, "active", None, None),
        ({"slettedato": "i fjor"}, "active", None, None),
        ({"respons_klasse": "SlettetEnhet"}, "ended", "Slettet", None),
    ],
)
def test_the_status_follows_from_flags_and_dates(
    fields: Raw, status: str, word: str | None, since: str | None
) -> None:
    read = company(**fields)

    assert (read.status, read.status_text, read.status_since) == (status, word, since)
    assert read.ended == (since if status == "ended" else None)
    # A status without its date may have one that another source knows.
    assert ("status_since" in read.unknown) == (status != "active" and since is None)


@pytest.mark.parametrize(
    "fields,status,ended",
    [
        ({}, "active", None),
        ({"nedleggelsesdato": YESTERDAY}, "ended", YESTERDAY),
        ({"nedleggelsesdato": YESTERDAY, "slettedato": TOMORROW}, "ended", YESTERDAY),
        ({"nedleggelsesdato": str(TODAY)}, "ended", str(TODAY)),
        ({"nedleggelsesdato": TOMORROW}, "active", None),
        ({"slettedato": "2026-01-01"}, "ended", "2026-01-01"),
        ({"respons_klasse": "SlettetUnderEnhet"}, "ended", None),
    ],
)
def test_a_unit_ends_on_its_last_day(fields: Raw, status: str, ended: str | None) -> None:
    read = unit(**fields)

    assert (read.status, read.ended) == (status, ended)


@pytest.mark.parametrize(
    "read,fields,days",
    [
        (company, {}, []),
        (company, {"stiftelsesdato": "2027-01-01", "vedtektsdato": "2027-01-01"}, []),
        (company, {"slettedato": "2027-01-01", "konkursdato": "2026-04-01"}, ["2027-01-01"]),
        (
            company,
            {"slettedato": "2027-01-01", "konkurs": True, "konkursdato": "2026-04-01"},
            ["2026-04-01", "2027-01-01"],
        ),
        (company, {"fravalgRevisjonDato": "2026-04-01"}, ["2026-04-01"]),
        (company, {"historiskeNavn": [{"navn": "A AS", "tilDato": "2026-04-01"}]}, ["2026-04-01"]),
        (unit, {"nedleggelsesdato": "2026-04-01"}, ["2026-04-01"]),
    ],
)
def test_what_begins_or_ends_later_is_read_on_its_day(
    read: Callable[..., Any], fields: Raw, days: list[str]
) -> None:
    found = read(**fields)

    assert [str(day) for day, _ in found.upcoming] == days
    assert str(found.next_day) == (days or ["None"])[0]
    assert all(record.core != found.core for _, record in found.upcoming)


@pytest.mark.parametrize(
    "group,code,role",
    [
        ("DAGL", "DAGL", RoleCode.DIRECTOR),
        ("STYR", "LEDE", RoleCode.BOARD_CHAIR),
        ("STYR", "NEST", RoleCode.BOARD_DEPUTY_CHAIR),
        ("STYR", "MEDL", RoleCode.BOARD_MEMBER),
        ("STYR", "VARA", RoleCode.BOARD_DEPUTY_MEMBER),
        ("STYR", "OBS", RoleCode.BOARD_OBSERVER),
        ("REVI", "REVI", RoleCode.AUDITOR),
        ("REGN", "REGN", RoleCode.ACCOUNTANT),
        ("SIGN", "SIGN", RoleCode.SIGNATORY),
        ("SIGN", "SIFE", RoleCode.SIGNATORY),
        ("SIGN", "SIHV", RoleCode.SIGNATORY),
        ("PROK", "PROK", RoleCode.PROCURATION_HOLDER),
        ("PROK", "POFE", RoleCode.PROCURATION_HOLDER),
        ("PROK", "POHV", RoleCode.PROCURATION_HOLDER),
        ("BOBE", "BOBE", RoleCode.ESTATE_ADMINISTRATOR),
        ("KONT", "KONT", RoleCode.OTHER),
        ("FFØR", "FFØR", RoleCode.OTHER),
        ("REPR", "REPR", RoleCode.OTHER),
        ("BEST", "BEST", RoleCode.OTHER),
        ("INNH", "INNH", OwnerRole.SOLE_PROPRIETOR),
        ("DELT", "DTPR", OwnerRole.PARTNER),
        ("DELT", "DTSO", OwnerRole.PARTNER),
        ("KOMP", "KOMP", OwnerRole.GENERAL_PARTNER),
        ("SAM", "SAM", OwnerRole.CO_OWNER),
        ("EIKM", "EIKM", OwnerRole.OWNER),
    ],
)
def test_each_known_role_has_its_code(group: str, code: str, role: RoleCode | OwnerRole) -> None:
    given = [{"type": {"kode": group}, "roller": [a_role(code, "Registerets ord")]}]

    read = contents(parsed(NO_ROLES, roles(rollegrupper=given)))

    found = [(one.role, one.role_text) for one in (*(read.owners or ()), *read.roles)]
    assert found == [(role, "Registerets ord")]
    assert read.odd == ()


def test_a_role_that_nobody_knows_has_its_own_text_and_is_counted() -> None:
    read = contents(parsed(NO_ROLES, roles(a_role("PRØV", "Prøvemester"), a_role("X", ""))))

    assert {(one.role, one.role_text) for one in read.roles} == {
        (RoleCode.OTHER, "Prøvemester"),
        (RoleCode.OTHER, "X"),
    }
    assert read.odd == ("rollegrupper.roller.type.kode",)


@pytest.mark.parametrize(
    "text,percent",
    [
        ("50%", "50"),
        ("50 %", "50"),
        ("50,00", "50"),
        ("33,33 %", "33.33"),
        ("1/3", "33.33"),
        ("1 / 4", "25"),
        ("100%", "100"),
        ("", None),
        (None, None),
    ],
)
def test_the_share_of_a_partner_is_a_percentage(text: str | None, percent: str | None) -> None:
    read = contents(parsed(NO_ROLES, roles(a_role("DTPR", "Deltaker", ansvarsandel=text))))

    [owner] = read.owners
    assert (owner.share and owner.share.min) == (owner.share and owner.share.max) == percent
    assert read.odd == ()


@pytest.mark.parametrize("text", ["solidarisk", "1/0", "0", "250 %", "NaN", "1/2/3", -1])
def test_a_share_that_is_none_is_left_out_and_counted(text: object) -> None:
    read = contents(parsed(NO_ROLES, roles(a_role("DTPR", "Deltaker", ansvarsandel=text))))

    assert [owner.share for owner in read.owners] == [None]
    assert read.odd == ("rollegrupper.roller.ansvarsandel",)


@pytest.mark.parametrize(
    "code,short",
    [
        *((code, code) for code in ("AS", "ASA", "ANS", "DA", "KS", "SA", "NUF", "ENK", "IKS")),
        *((code, None) for code in ("FLI", "STI", "KOMM", "ORGL", "ESEK", "KBO", "UTLA")),
    ],
)
def test_a_code_that_people_write_is_the_abbreviation_of_its_form(
    code: str, short: str | None
) -> None:
    assert company(organisasjonsform={"kode": code, "beskrivelse": "Ord"}).form.short == short


@pytest.mark.parametrize(
    "cell,co,street",
    [
        ("Prøveveien 12", None, "Prøveveien 12"),
        ("c/o Prøven AS/nPrøveveien 12", "Prøven AS", "Prøveveien 12"),
        ("v/Kari Testesen/nPrøveveien 12", None, "v/Kari Testesen, Prøveveien 12"),
        ("Bygg 3/nc/o Prøven AS/nPrøveveien 12", "Prøven AS", "Bygg 3, Prøveveien 12"),
        ("Postboks 3/n4. etasje", None, "Postboks 3, 4. etasje"),
        ("v/nabo, Prøveveien 12", None, "v/nabo, Prøveveien 12"),
        ("c/o Prøven AS\nPrøveveien 12", "Prøven AS", "Prøveveien 12"),
    ],
)
def test_the_lines_of_an_address_are_in_one_cell(cell: str, co: str | None, street: str) -> None:
    given = a_norwegian_address() | {"adresse": cell}

    read = company(forretningsadresse=given).address

    assert (read.co, read.street, read.municipality_code) == (co, street, "0301")


@pytest.mark.parametrize(
    "fields,path",
    [
        ({"stiftelsesdato": "2020"}, "stiftelsesdato"),
        ({"registreringsdatoEnhetsregisteret": 20240201}, "registreringsdatoEnhetsregisteret"),
        ({"antallAnsatte": -3}, "antallAnsatte"),
        ({"kapital": {"belop": "mye", "antallAksjer": 3}}, "kapital.belop"),
        ({"kapital": {"belop": "1000", "antallAksjer": "mange"}}, "kapital.antallAksjer"),
        ({"maalform": "Klingon"}, "maalform"),
        ({"paategninger": "ja"}, "paategninger"),
        ({"aktivitet": [{}]}, "aktivitet"),
        ({"overordnetEnhet": "12"}, "overordnetEnhet"),
    ],
)
def test_an_odd_value_is_left_out_and_counted(fields: Raw, path: str) -> None:
    assert company(**fields).odd == (path,)


@pytest.mark.parametrize(
    "landline,mobile,phones",
    [
        ("22 33 44 55", "+47 998 87 766", ("22334455", "99887766")),
        ("22334455/22334456", None, ("22334455", "22334456")),
        ("22334455 / 91919191", "91919191", ("22334455", "91919191")),
        (None, "91919191, 92929292", ("91919191", "92929292")),
    ],
)
def test_two_numbers_in_one_field_are_both_found(
    landline: str | None, mobile: str | None, phones: tuple[str, ...]
) -> None:
    read = company(telefon=landline, mobil=mobile)

    assert (read.phone, read.phones, read.searched_phones) == (phones[0], phones, phones)
    assert unit(telefon=landline, mobil=mobile).searched_phones == phones


@pytest.mark.parametrize(
    "number,vat",
    [
        ("310345679", "310345679"),
        (310345679, "310345679"),
        ("310 345 679", "310345679"),
        ("310345670", "310345670"),
    ],
)
def test_a_number_is_read_as_the_register_has_it(number: object, vat: str) -> None:
    assert company(organisasjonsnummer=number).vat == vat


@pytest.mark.parametrize(
    "amount,text", [("1.250.000,00", "1250000.00"), ("30 000", "30000.00"), (1e5, "100000.00")]
)
def test_capital_is_read_as_people_write_it(amount: object, text: str) -> None:
    assert company(kapital={"belop": amount}).capital.amount == text


@pytest.mark.parametrize("code", ["1515", "1818"])
def test_municipalities_of_one_name_differ_in_their_code(code: str) -> None:
    given = a_norwegian_address(kommune="HERØY", kommunenummer=code)

    read = company(forretningsadresse=given).address

    assert (read.municipality, read.municipality_code) == ("HERØY", code)


# The formats of the register's files


def rows(table: str, documents: list[Raw]) -> list[Raw]:
    """The documents of a CSV file with these columns."""
    file = StringIO()
    write_table(file, table, documents)
    return [dict(from_row(row)) for row in csv.DictReader(StringIO(file.getvalue()))]


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
    *("home_register", "remarks"),
}
UNTOLD_OF_2024 = {
    *("former_names", "phone", "phones", "email", "capital", "shares", "audit_waived"),
    *("vat_registered_since", "registrations", "in_group", "home_register", "remarks"),
}
UNTOLD_UNITS = {"former_names", "phone", "phones", "email"}


@pytest.mark.parametrize(
    "read,documents,untold",
    [
        pytest.param(NO_ENTITIES, COMPANIES, set(), id="companies, JSON of 2026"),
        pytest.param(
            NO_ENTITIES,
            [as_of_2022(one) for one in COMPANIES],
            UNTOLD_OF_2022,
            id="companies, JSON of 2022",
        ),
        pytest.param(
            NO_ENTITIES,
            rows("entities_2026", COMPANIES),
            {"former_names"},
            id="companies, CSV of 2026",
        ),
        pytest.param(
            NO_ENTITIES,
            rows("entities_2024", COMPANIES),
            UNTOLD_OF_2024,
            id="companies, CSV of 2024",
        ),
        pytest.param(NO_UNITS, UNITS, set(), id="units, JSON of 2026"),
        pytest.param(
            NO_UNITS, [as_of_2022(one) for one in UNITS], UNTOLD_UNITS, id="units, JSON of 2022"
        ),
        pytest.param(
            NO_UNITS, rows("units_2026", UNITS), {"former_names"}, id="units, CSV of 2026"
        ),
        pytest.param(NO_UNITS, rows("units_2024", UNITS), UNTOLD_UNITS, id="units, CSV of 2024"),
    ],
)
def test_each_format_tells_its_fields_like_the_present_one(
    read: Any, documents: list[Raw], untold: set[str]
) -> None:
    known, model = (COMPANIES, Company) if read is NO_ENTITIES else (UNITS, ProductionUnit)

    for document, present in zip(documents, known, strict=True):
        told, full = (contents(parsed(read, one, LATER)) for one in (document, present))
        # Only that there are remarks is in a CSV file; a status without its date may have one.
        always = told.unknown - {"remarks", "status_since"}
        assert always == untold - {"remarks"}
        assert told.odd == ()
        # The count of employees has been withheld, and dated, only since 2025.
        fields = {*model.model_fields} - told.unknown - {"employees"}
        assert {name: getattr(told, name) for name in fields} == {
            name: getattr(full, name) for name in fields
        }


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
