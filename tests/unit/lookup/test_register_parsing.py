"""Properties of every document of every register."""

import copy
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.contract import Contract
from lookup.records.fields import Amount, Count, Document, Moment, read_document
from lookup.records.records import CompanyRecord, OutOfScope, Record, RecordRejected
from lookup.records.source import RegisterSource, parse
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
from lookup.registers.table import sources
from tests.builders.companies import company_in
from tests.builders.registers import (
    a_business_card,
    a_contact,
    a_cvr_company,
    a_cvr_unit,
    a_norwegian_unit,
    a_relation,
    a_role,
    an_attribute,
    an_entity,
    held,
    legal_ownership,
    roles,
)

#: Imports what a parsing process does.
PARSING = """
import sys
import lookup.records.source
import lookup.registers.brreg.entities, lookup.registers.brreg.roles, lookup.registers.brreg.units
import lookup.registers.cvr.companies, lookup.registers.cvr.units
import lookup.registers.peppol.business_cards
sys.exit(not {"pymongo", "aiohttp", "structlog", "prometheus_client"}.isdisjoint(sys.modules))
"""

DOCUMENTS: dict[RegisterSource, Any] = {
    NO_ENTITIES: an_entity(
        telefon="22 33 44 55",
        historiskeNavn=[{"navn": "FØR AS", "fraDato": "1999-01-01"}],
        kapital={"belop": 30000.0, "valuta": "NOK"},
        vedtektsfestetFormaal=["Salg."],
        naeringskode1={"kode": "62.010", "beskrivelse": "Programmering"},
    ),
    NO_UNITS: a_norwegian_unit(),
    NO_ROLES: roles(a_role(), a_role(enhet={"navn": ["PRØVEN AS"]})),
    DK_COMPANIES: a_cvr_company(
        telefonNummer=[a_contact("33333333")],
        attributter=[an_attribute("KAPITAL", held(None, vaerdi="125000.00"))],
        deltagerRelation=[a_relation(legal_ownership("0.5", votes="0.5"))],
        maanedsbeskaeftigelse=[
            {"aar": 2016, "maaned": 12, "intervalKodeAntalAnsatte": "ANTAL_2_4"}
        ],
    ),
    DK_UNITS: a_cvr_unit(),
    PEPPOL: a_business_card(identifiers=[{"scheme": "0192", "value": "310345679"}]),
}

surprises = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=12)
    | st.sampled_from(["\ud800", "\x00", "1e9999", "NaN", "9" * 40, "2024-02-30"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a document."""
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    inner = [place for key, value in items for place in places(value, (*path, key))]
    return [path, *inner] if path else inner


def with_surprise(document: Any, place: tuple[Any, ...], surprise: Any) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = surprise
    return changed


def public_models(record: Record) -> list[Contract]:
    return [
        model
        for name in ("company", "unit", "entry")
        if isinstance(model := getattr(record, name, None), Contract)
    ] + list(getattr(record, "owners", None) or ())


@pytest.mark.parametrize("kind", sources().values())
@given(data=st.data())
def test_an_unexpected_value_is_read_or_refused_and_read_records_serialise(
    kind: RegisterSource, data: st.DataObject
) -> None:
    document = DOCUMENTS[kind]
    place = data.draw(st.sampled_from(places(document)))

    try:
        record = parse(kind.parse, with_surprise(document, place, data.draw(surprises)))
    except RecordRejected:
        return

    for model in public_models(record):
        assert model.model_dump_json()


@pytest.mark.parametrize("kind", sources().values())
@given(surprise=st.dictionaries(st.text(max_size=5), surprises, max_size=3))
def test_any_object_at_all_is_read_or_refused(
    kind: RegisterSource, surprise: dict[str, Any]
) -> None:
    with suppress(RecordRejected):
        assert parse(kind.parse, surprise) is not None


@given(st.text(st.characters(codec=None)))
def test_a_name_contains_only_xml_characters(name: str) -> None:
    try:
        record = parse(NO_ENTITIES.parse, an_entity(navn=name))
    except RecordRejected:
        return

    assert isinstance(record, CompanyRecord)
    assert company_in(record).name == company_in(record).name.strip() != ""
    for letter in company_in(record).name:
        assert letter >= " "
        assert not "\ud800" <= letter <= "\udfff"
        assert letter not in "\ufffe\uffff"


@pytest.mark.parametrize("kind", sources().values())
def test_equal_documents_give_equal_records(kind: RegisterSource) -> None:
    once, again = (
        parse(kind.parse, DOCUMENTS[kind]),
        parse(kind.parse, copy.deepcopy(DOCUMENTS[kind])),
    )

    assert once == again
    assert not isinstance(once, OutOfScope)


class Numbers(Document):
    count: Count = None
    amount: Amount = None
    moment: Moment = None


@pytest.mark.parametrize(
    "field,value",
    [
        ("count", 2**31),
        ("count", -1),
        ("amount", "1E-999999999"),
        ("amount", "1E+25"),
        ("moment", "0001-01-01T00:00:00+14:00"),
        ("moment", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_out_of_range_numbers_and_times_are_refused(field: str, value: object) -> None:
    with pytest.raises(RecordRejected, match=field):
        read_document(Numbers, {field: value})


def test_parsing_processes_load_neither_the_database_nor_http() -> None:
    assert subprocess.run([sys.executable, "-c", PARSING], check=False).returncode == 0
