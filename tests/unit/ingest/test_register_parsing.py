"""Properties of every document of every register."""

import copy
import re
import subprocess
import sys
from calendar import monthrange
from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.records.fields import (
    Amount,
    Count,
    Day,
    Document,
    Moment,
    Text,
    read_document,
)
from ingest.records.records import OutOfScope, RecordRejected
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg.group_sync import NO_GROUPS
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from ingest.registers.table import sources
from tests.builders.companies import contents, parsed
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
    employed,
    held,
    legal_ownership,
    roles,
)

#: Imports what a parsing process does.
PARSING = """
import sys
import ingest.records.source
import ingest.registers.brreg.entities, ingest.registers.brreg.roles
import ingest.registers.cvr.companies
import ingest.registers.peppol.business_cards
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
    NO_GROUPS: {
        "organisasjonsnummer": "310345679",
        "children": [
            {
                "organisasjonsnummer": "310345806",
                "navn": "DATTEREN AS",
                "knytningsform": {"kode": "KDAT", "beskrivelse": "Konsern datter"},
                "grunnlag": "99,99%",
                "dato": "2021-10-01",
            }
        ],
    },
    DK_COMPANIES: a_cvr_company(
        telefonNummer=[a_contact("33333333")],
        attributter=[an_attribute("KAPITAL", held(None, vaerdi="125000.00"))],
        deltagerRelation=[a_relation(legal_ownership("0.5", votes="0.5"))],
        maanedsbeskaeftigelse=[employed(2016, "2_4", maaned=12)],
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


#: Filings of annual accounts have documents of their own, and are no records (test_filings.py).
every_source = pytest.mark.parametrize(
    "kind", [kind for kind in sources().values() if kind.part is not Part.ACCOUNTS], ids=str
)


#: Without these a document is no record.
NECESSARY = {"organisasjonsnummer", "cvrNummer", "pNummer", "pid", "navn", "navne", "rollegrupper"}
#: The form says that a document is not an entity's.
NECESSARY_OF = {"no-underenheter": {"organisasjonsform"}, "no-konsern": {"children"}}


@every_source
@given(data=st.data())
def test_one_unexpected_value_refuses_no_record(kind: RegisterSource, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(places(DOCUMENTS[kind])))
    document = with_surprise(DOCUMENTS[kind], place, data.draw(surprises))

    try:
        assert contents(parsed(kind, document))
    except RecordRejected:
        assert place[0] in NECESSARY | NECESSARY_OF.get(kind.name, set())


@every_source
@given(surprise=st.dictionaries(st.text(max_size=5), surprises, max_size=3))
def test_any_object_at_all_is_read_or_refused(
    kind: RegisterSource, surprise: dict[str, Any]
) -> None:
    with suppress(RecordRejected):
        assert parsed(kind, surprise) is not None


@given(st.text(st.characters(codec=None)))
def test_a_name_contains_only_xml_characters(name: str) -> None:
    with suppress(RecordRejected):
        read = contents(parsed(NO_ENTITIES, an_entity(navn=name))).name

        assert read == read.strip() != ""
        assert all(letter >= " " for letter in read)
        assert not re.search("[\ud800-\udfff\ufffe\uffff]", read)


@every_source
def test_equal_documents_give_equal_records(kind: RegisterSource) -> None:
    once, again = (parsed(kind, copy.deepcopy(DOCUMENTS[kind])) for _ in range(2))

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
def test_out_of_range_numbers_and_times_are_odd(field: str, value: object) -> None:
    read = read_document(Numbers, {field: value})

    assert (read, read.odd) == (Numbers(), [field])


@pytest.mark.parametrize(
    "given,amount",
    [
        ("1.250.000,00", "1250000.00"),
        ("1.250.000", "1250000.00"),
        ("1 250 000,5", "1250000.50"),
        ("40000,00", "40000.00"),
        ("1.250", "1.25"),
        (30000.0, "30000.00"),
    ],
)
def test_an_amount_is_read_as_it_is_written_in_either_country(given: Any, amount: str) -> None:
    assert read_document(Numbers, {"amount": given}).amount == amount


class Texts(Document):
    text: Text = None
    day: Day = None


def test_only_blanks_around_a_text_and_control_characters_are_taken_out() -> None:
    for character in map(chr, range(0x300)):
        for text in (character, f"{character}A b", f"A b{character}", f"A {character} b"):
            apart = re.sub(r"[\t-\r\x85]+", " ", text)
            expected = re.sub(r"[\x00-\x1f\x7f-\x9f]+", "", apart).strip() or None
            assert read_document(Texts, {"text": text}).text == expected, ascii(text)


@given(st.dates(), st.integers(29, 31))
def test_only_days_of_the_calendar_are_days(day: date, number: int) -> None:
    perhaps = f"{day.isoformat()[:8]}{number}"
    is_day = number <= monthrange(day.year, day.month)[1]

    for text, expected in ((day.isoformat(), day.isoformat()), (perhaps, perhaps * is_day or None)):
        assert read_document(Texts, {"day": text}).day == expected
        assert read_document(Texts, {"day": f"{text}T00:00:00"}).day == expected


def test_parsing_processes_load_neither_the_database_nor_http() -> None:
    assert subprocess.run([sys.executable, "-c", PARSING], check=False).returncode == 0
