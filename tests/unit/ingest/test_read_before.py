"""A field that release 1.1 read differently in a Danish document is no event (ADR 0114)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ingest.records.records import CompanyRecord, OwnersRecord
from ingest.registers.brreg.sync import NO_ROLES
from ingest.registers.cvr.sync import DK_COMPANIES
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company_record,
    a_unit,
    a_unit_record,
    parsed,
)
from tests.builders.planning import PlannedRegister

DOCUMENT = json.loads((Path(__file__).parent / "documents" / "dk-virksomhed.json").read_text())[
    "document"
]


def dated(since: str | None, until: str | None = None, **fields: Any) -> dict[str, Any]:
    return {**fields, "periode": {"gyldigFra": since, "gyldigTil": until}}


def relation(hovedtype: str, body: str, type_: str, *values: Any, number: int = 1) -> Any:
    return with_attributes(hovedtype, body, (type_, list(values)), number=number)


def with_attributes(
    hovedtype: str, body: str, *attributes: tuple[str, list[Any]], number: int = 1
) -> Any:
    return {
        "deltager": {
            "enhedsNummer": number, "enhedstype": "PERSON", "navne": [{"navn": "Anna Testesen"}],
        },
        "organisationer": [
            {
                "hovedtype": hovedtype,
                "organisationsNavn": [{"navn": body}],
                "medlemsData": [
                    {
                        "attributter": [
                            {"type": type_, "vaerdier": values} for type_, values in attributes
                        ]
                    }
                ],
            }
        ],
    }  # fmt: skip


def decree(code: int, since: str) -> dict[str, Any]:
    return dated(since, statuskode=code, kreditoplysningkode=1, kreditoplysningtekst="Konkurs")


def side(day: str) -> list[Any]:
    return [{"type": "FUNKTION", "vaerdier": [dated(day, day, vaerdi="Spaltning")]}]


SHARES = [
    dated("2015-03-01", "2018-12-31", vaerdi="0.5"),
    dated("2019-01-01", vaerdi="0.9"),
]
SHARE, VOTES = "EJERANDEL_PROCENT", "EJERANDEL_STEMMERET_PROCENT"

#: Fields of documents, with what 1.1 read in them.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the last registration of a share": (
        {"deltagerRelation": [
            relation("REGISTER", "EJERREGISTER", "EJERANDEL_PROCENT", *SHARES)
        ]},
        {"owners": [("Anna Testesen", "2019-01-01")]},
    ),
    "the last of shares that are each an attribute": (
        {"deltagerRelation": [
            with_attributes("REGISTER", "EJERREGISTER", *((SHARE, [one]) for one in SHARES))
        ]},
        {"owners": [("Anna Testesen", "2019-01-01")]},
    ),
    "the share and not the votes before it": (
        {"deltagerRelation": [
            with_attributes("REGISTER", "EJERREGISTER", (SHARE, SHARES[1:]),
                            (VOTES, [dated("2015-03-01", vaerdi="0.9")]))
        ]},
        {"owners": [("Anna Testesen", "2019-01-01")]},
    ),
    "no owner of votes alone": (
        {"deltagerRelation": [
            relation("REGISTER", "EJERREGISTER", VOTES, dated("2015-03-01", vaerdi="0.9"))
        ]},
        {"owners": []},
    ),
    "one owner of two classes of shares": (
        {"deltagerRelation": [
            with_attributes("REGISTER", "EJERREGISTER", (SHARE, SHARES[1:]),
                            ("EJERANDEL_KAPITALKLASSE", [dated("2019-01-01", vaerdi=class_)]))
            for class_ in "AB"
        ]},
        {"owners": [("Anna Testesen", "2019-01-01")]},
    ),
    "the last registration of a role in an attribute of its own": (
        {"deltagerRelation": [
            with_attributes("LEDELSESORGAN", "Bestyrelse",
                            ("FUNKTION", [dated("2015-01-01", "2018-12-31", vaerdi="FORMAND")]),
                            ("FUNKTION", [dated("2019-01-01", vaerdi="FORMAND")]))
        ]},
        {"roles": [("Anna Testesen", "2019-01-01")]},
    ),
    "a liquidator as another role": (
        {"deltagerRelation": [
            relation("LEDELSESORGAN", "Likvidator", "FUNKTION",
                     dated("2019-01-01", vaerdi="LIKVIDATOR"))
        ]},
        {"roles": [("Anna Testesen", "2019-01-01")]},
    ),
    "a body without its name": (
        {"deltagerRelation": [
            relation("LEDELSESORGAN", "Repræsentantskab", "FUNKTION",
                     dated("2019-01-01", vaerdi="FORMAND"))
        ]},
        {"roles": [("Anna Testesen", "2019-01-01")]},
    ),
    "an auditor of sustainability as another role": (
        {"deltagerRelation": [
            relation("BÆREDYGTIGHEDSREVISION", "Revision", "FUNKTION",
                     dated("2019-01-01", vaerdi="REVISION"))
        ]},
        {"roles": [("Anna Testesen", "2019-01-01")]},
    ),
    "one person of two with a name": (
        {"deltagerRelation": [
            relation("LEDELSESORGAN", "Bestyrelse", "FUNKTION",
                     dated("2019-01-01", vaerdi="BESTYRELSE"), number=number)
            for number in (1, 2)
        ]},
        {"roles": [("Anna Testesen", "2019-01-01")]},
    ),
    "rounded full-time equivalents": (
        {"erstMaanedsbeskaeftigelse": [{"aar": 2026, "maaned": 1, "antalAarsvaerk": 6.7,
                                        "intervalKodeAntalAnsatte": "ANTAL_5_9"}]},
        {"employees": {"min": 7, "max": 7, "exact": 7}},
    ),
    "the other side of a partial demerger": (
        {"spaltninger": [{"enhedsNummerOrganisation": 4000000001, "organisationsNavn": [],
                          "indgaaende": side("2011-08-11"), "udgaaende": side("2011-08-11")}]},
        {"merged_into": [], "merged_from": ["2011-08-11"]},
    ),
    "the decree that accounts of the estate ended": (
        {"virksomhedsstatus": [], "status": [decree(1, "2019-01-01"), decree(3, "2020-01-01")]},
        {"status": "bankrupt", "status_text": "Konkurs", "status_since": "2020-01-01"},
    ),
    "no note of the register on its own record": (
        {"fejlVedIndlaesning": True, "fejlBeskrivelse": "Deltagere mangler"},
        {"remarks": []},
    ),
}  # fmt: skip
#: The fields of 1.2 within companies, owners and roles.
ADDED = {
    *("dissolution", "minor_owners", "state_owned", "aml_obliged", "social_enterprise"),
    *("voluntary_vat", "paid_in", "fully_paid", "has_classes", "including_owners"),
    *("reported_on", "share_class", "conditions", "contribution", "country"),
    *("elected_by", "elected_by_text", "approval", "group_changed"),
}


def as_in_1_1(stored: bytes | None) -> bytes | None:
    """Stored JSON without the fields that came after 1.1; companies keep their country."""

    def older(value: Any, *, is_whole: bool = False) -> Any:
        if isinstance(value, list):
            return [older(each) for each in value]
        if not isinstance(value, dict):
            return value
        kept = {"country"} if is_whole or "street" in value else set()
        return {name: older(each) for name, each in value.items() if name not in ADDED - kept}

    if stored is None:
        return None
    parsed_ = orjson.loads(stored)
    return orjson.dumps(older(parsed_, is_whole=isinstance(parsed_, dict)))


def record_of(fields: dict[str, Any], *, updated: str = "2026-02-05T01:00:00Z") -> CompanyRecord:
    record = parsed(DK_COMPANIES, {**DOCUMENT, **fields, "sidstOpdateret": updated})
    assert isinstance(record, CompanyRecord)
    return record


def short(field: str, value: Any) -> Any:
    if field in ("owners", "roles"):
        return [(one["name"], one["since"]) for one in orjson.loads(value)]
    if field == "employees":
        return value["full_time_equivalents"]
    return [one["date"] for one in value] if field.startswith("merged") else value


@pytest.mark.parametrize("fields,before", CASES.values(), ids=CASES)
def test_a_record_tells_what_the_release_before_read(
    fields: dict[str, Any], before: dict[str, Any]
) -> None:
    earlier = record_of(fields).earlier

    assert earlier is not None
    assert {name: short(name, value) for name, value in earlier.items()} == before


@pytest.mark.parametrize("fields", [fields for fields, _ in CASES.values()], ids=CASES)
@pytest.mark.parametrize("updated", ["2026-02-05T01:00:00Z", "2026-03-01T01:00:00Z"])
def test_another_reading_is_no_event(fields: dict[str, Any], updated: str) -> None:
    record = record_of(fields)
    earlier = dict(record.earlier or {})
    lists: dict[str, Any] = {
        name: earlier.pop(name) for name in ("owners", "roles") if name in earlier
    }
    register = PlannedRegister.of(record)
    core = as_in_1_1(orjson.dumps({**orjson.loads(record.core), **earlier}))
    stored: dict[str, Any] = {"owners": record.owner_list, "roles": record.role_list, **lists}
    older: dict[str, Any] = {name: as_in_1_1(value) for name, value in stored.items()}
    register.replace_company(core=core, **older, reading=0)

    register.take(record_of(fields, updated=updated), version=MONDAY)

    assert register.events == []
    assert register.company().core == record.core
    assert register.company().owners == record.owner_list
    assert register.company().roles == record.role_list


FURTHER: dict[str, Any] = {
    "attributter": [
        {"type": "KAPITAL", "vaerdier": [dated("2010-01-01", vaerdi="40000.00")]},
        {"type": "KAPITAL_DELVIST", "vaerdier": [dated("2010-01-01", vaerdi="20000.00")]},
        {"type": "STATSLIG_VIRK", "vaerdier": [dated("2010-01-01", vaerdi="true")]},
    ],
    "deltagerRelation": [
        relation("REGISTER", "EJERREGISTER", "EJERANDEL_PROCENT",
                 dated("2015-03-01", vaerdi="0.5"), number=1),
        relation("LEDELSESORGAN", "Bestyrelse", "FUNKTION",
                 dated("2019-01-01", vaerdi="FORMAND"), number=2),
    ],
}  # fmt: skip


def with_more(type_: str, value: str) -> list[Any]:
    """The relations of `FURTHER`, with one more attribute of each."""
    relations: list[Any] = orjson.loads(orjson.dumps(FURTHER["deltagerRelation"]))
    for one in relations:
        [member] = one["organisationer"][0]["medlemsData"]
        member["attributter"].append(
            {"type": type_, "vaerdier": [dated("2010-01-01", vaerdi=value)]}
        )
    return relations


@pytest.mark.parametrize("reading", [0, 1])
@pytest.mark.parametrize(
    "type_,value", [("EJERANDEL_MEDDELELSE_DATO", "2015-01-16"), ("VALGFORM", "medarbejdere")]
)
def test_fields_that_a_release_adds_to_owners_roles_and_capital_are_no_events(
    type_: str, value: str, reading: int
) -> None:
    record = record_of({**FURTHER, "deltagerRelation": with_more(type_, value)})
    register = PlannedRegister.of(record)
    register.replace_company(
        core=as_in_1_1(record.core),
        owners=as_in_1_1(record.owner_list),
        roles=as_in_1_1(record.role_list),
        reading=reading,
    )

    later = {**FURTHER, "deltagerRelation": with_more(type_, value)}
    register.take(record_of(later, updated="2026-03-01T01:00:00Z"), version=MONDAY)

    assert register.events == []
    assert register.company().owners == record.owner_list
    assert register.company().roles == record.role_list


def test_a_changed_value_of_such_a_field_is_an_event_from_then_on() -> None:
    told = {**FURTHER, "deltagerRelation": with_more("VALGFORM", "medarbejdere")}
    register = PlannedRegister.of(record_of(told))

    changed = {**FURTHER, "deltagerRelation": with_more("VALGFORM", "generalforsamling")}
    register.take(record_of(changed, updated="2026-03-01T01:00:00Z"), version=MONDAY)

    [event] = register.events
    [change] = event["data"]["changes"]
    assert (change["field"], change["old"][0]["elected_by"], change["new"][0]["elected_by"]) == (
        "roles", "employees", "general_meeting",
    )  # fmt: skip


@pytest.mark.parametrize(
    "body,word,role,text",
    [
        ("Likvidator", "LIKVIDATOR", "other", "LIKVIDATOR"),
        ("Repræsentantskab", "FORMAND", "other", "FORMAND"),
        ("Styrelse", "FORMAND", "other", "FORMAND"),
        ("Koncerndirektionssekretariat", "CHEF", "director", "CHEF"),
    ],
)
def test_a_role_has_the_code_and_the_text_of_then(
    body: str, word: str, role: str, text: str
) -> None:
    held = relation("LEDELSESORGAN", body, "FUNKTION", dated("2019-01-01", vaerdi=word))

    earlier = record_of({"deltagerRelation": [held]}).earlier

    assert earlier is not None
    [one] = orjson.loads(earlier["roles"])
    assert (one["role"], one["role_text"]) == (role, text)


def test_a_norwegian_who_is_twice_on_the_board_was_once_in_the_list() -> None:
    person = {"navn": {"fornavn": "Kari", "etternavn": "Testesen"}, "fodselsdato": "1970-01-01"}
    seat = {"type": {"kode": "MEDL", "beskrivelse": "Styremedlem"}, "person": person}
    elected = {"kode": "AREP", "beskrivelse": "Representant for de ansatte"}
    board = {"type": {"kode": "STYR"}, "roller": [seat, {**seat, "valgtAv": elected}]}

    record = parsed(NO_ROLES, {"organisasjonsnummer": "923609016", "rollegrupper": [board]})

    assert isinstance(record, OwnersRecord)
    assert record.earlier is not None
    now, then = (orjson.loads(one) for one in (record.role_list, record.earlier["roles"]))
    assert [(one["name"], one["elected_by"]) for one in now] == [
        ("Kari Testesen", None), ("Kari Testesen", "employees"),
    ]  # fmt: skip
    assert [(one["name"], one["elected_by"]) for one in then] == [("Kari Testesen", None)]


def test_a_plain_document_reads_as_before() -> None:
    assert record_of({}).earlier is None


def test_another_reading_of_the_same_document_of_a_unit_is_no_event() -> None:
    unit = a_unit_record(a_unit(name="Filial A"))
    register = PlannedRegister.of(a_company_record(), replace(unit, digest=b"1.1"))

    register.take(replace(a_unit_record(a_unit(name="Filial B")), digest=b"1.2"))

    assert register.events == []
    assert orjson.loads(register.known.units[unit.key].core)["name"] == "Filial B"


def test_a_unit_that_lacks_a_field_is_completed_by_the_same_file_without_an_event() -> None:
    unit = a_unit_record(a_unit(name="Filial A"), version=None)
    older = orjson.loads(unit.core)
    del older["fax"], older["registered"]
    register = PlannedRegister.of(
        a_company_record(), replace(unit, core=orjson.dumps(older), digest=b"1.1")
    )

    register.take(replace(unit, digest=b"1.2"))
    stored = register.known.units[unit.key].core
    register.take(replace(a_unit_record(a_unit(name="Filial B"), version=None), digest=b"1.3"))

    assert register.events == []
    assert stored == unit.core
    # Of two documents of one file the first counts, as ever.
    assert register.known.units[unit.key].core == unit.core


def test_a_later_document_of_a_unit_is_told() -> None:
    unit = a_unit_record(a_unit(name="Filial A"))
    register = PlannedRegister.of(a_company_record(), replace(unit, digest=b"1.1"))

    renamed = a_unit_record(a_unit(name="Filial B"), version=TUESDAY)
    register.take(replace(renamed, digest=b"1.2"), version=TUESDAY)

    assert [event["type"] for event in register.events] == ["production_unit.updated"]
