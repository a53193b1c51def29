"""Documents of the Danish register as of a day, and what only their attributes say."""

from datetime import date
from typing import Any

import pytest

from common.contracts.company import (
    Address,
    FinancialYear,
    Restructuring,
    RestructuringType,
    Status,
)
from ingest.records.records import CompanyRecord, UnitRecord
from ingest.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from tests.builders.companies import contents, parsed
from tests.builders.registers import (
    a_contact,
    a_cvr_address,
    a_cvr_company,
    a_cvr_unit,
    a_function,
    a_relation,
    an_attribute,
    held,
    industry,
    legal_ownership,
    named,
)

TODAY, LAST_DAY, FIRST_DAY = "2026-11-26", "2026-12-31", "2027-01-01"
#: A value that holds until the end of the year, and the one after it.
OLD, NEW = ("1999-11-15", LAST_DAY), (FIRST_DAY, None)


def at(day: str, raw: Any) -> Any:
    return contents(parsed(DK_COMPANIES, raw, date.fromisoformat(day)))


def read_both(**fields: Any) -> tuple[Any, Any]:
    """The company as of today, and as of the next day that the document names."""
    raw = a_cvr_company(**fields)
    today = at(TODAY, raw)
    assert str(today.next_day) == FIRST_DAY
    later = at(FIRST_DAY, raw)
    assert later.next_day is None
    assert at(LAST_DAY, raw).core == today.core
    assert [(str(day), record.core) for day, record in today.upcoming] == [(FIRST_DAY, later.core)]
    return today, later


@pytest.mark.parametrize(
    "field,values,attribute,before,after",
    [
        (
            "navne",
            [named("Gammel ApS", *OLD), named("Ny ApS", *NEW)],
            "name",
            "Gammel ApS",
            "Ny ApS",
        ),
        (
            "navne",
            [named("Gammel ApS", *OLD), named("Ny ApS", *NEW)],
            "former_names",
            (),
            ("Gammel ApS",),
        ),
        ("binavne", [named("Prøven", *NEW)], "trade_names", (), ("Prøven",)),
        ("telefonNummer", [a_contact("11111111", *NEW)], "phones", (), ("11111111",)),
        ("elektroniskPost", [a_contact("a@b.example", *OLD)], "email", "a@b.example", None),
        ("penheder", [held(*NEW, pNummer=1012345670)], "units", (), ("dk:1012345670",)),
        (
            "virksomhedsstatus",
            [held(*OLD, status="NORMAL"), held(*NEW, status="UNDER KONKURS")],
            "status",
            Status.ACTIVE,
            Status.BANKRUPT,
        ),
        (
            "virksomhedsstatus",
            [held(*OLD, status="NORMAL"), held(*NEW, status="UNDER KONKURS")],
            "status_since",
            "1999-11-15",
            FIRST_DAY,
        ),
        (
            "status",
            [held(*NEW, statuskode=1, kreditoplysningkode=1, kreditoplysningtekst="Konkurs")],
            "status",
            Status.ACTIVE,
            Status.BANKRUPT,
        ),
        (
            "attributter",
            [an_attribute("TEGNINGSREGEL", held(*OLD, vaerdi="A"), held(*NEW, vaerdi="B"))],
            "signing_rule",
            "A",
            "B",
        ),
        ("deltagerRelation", [a_relation(legal_ownership("0.5", until=LAST_DAY))], "owners", 1, 0),
        (
            "deltagerRelation",
            [a_function("LEDELSESORGAN/Direktion", "DIREKTION", LAST_DAY)],
            "roles",
            1,
            0,
        ),
        (
            "fusioner",
            [{"organisationsNavn": [named("Fusion", *NEW)], "udgaaende": []}],
            "merged_from",
            0,
            1,
        ),
    ],
)
def test_a_value_holds_from_its_first_to_its_last_day(
    field: str, values: Any, attribute: str, before: Any, after: Any
) -> None:
    found = [getattr(each, attribute) for each in read_both(**{field: values})]

    if isinstance(before, int):
        found = [len(each) for each in found]
    assert found == [before, after]


def test_an_address_and_an_industry_change_on_their_day() -> None:
    old, new = read_both(
        beliggenhedsadresse=[a_cvr_address(*OLD), a_cvr_address(*NEW, vejnavn="Nyvej")],
        hovedbranche=[industry("620100", "A", *OLD), industry("011100", "B", *NEW)],
    )

    assert (old.address.street, old.industry.code) == ("Prøvevej 43", "620100")
    assert (new.address.street, new.industry.code) == ("Nyvej 43", "011100")


def test_a_life_ends_on_its_last_day() -> None:
    raw = a_cvr_company(livsforloeb=[held("1999-11-15", "2027-12-31")])

    before, after = at(TODAY, raw), at("2027-12-31", raw)

    assert (before.status, before.ended, str(before.next_day)) == (
        Status.ACTIVE,
        None,
        "2027-12-31",
    )
    assert (after.status, after.ended, after.status_since) == (
        Status.ENDED,
        "2027-12-31",
        "2027-12-31",
    )


def test_a_resumption_in_the_future_is_not_so_today() -> None:
    raw = a_cvr_company(
        livsforloeb=[held("1999-11-15", "2020-06-30"), held(FIRST_DAY)], virksomhedsstatus=[]
    )

    assert (at(TODAY, raw).status, at(TODAY, raw).ended) == (Status.ENDED, "2020-06-30")
    assert (at(FIRST_DAY, raw).status, at(FIRST_DAY, raw).ended) == (Status.ACTIVE, None)


def test_a_company_of_which_everything_is_to_come_has_its_first_name() -> None:
    raw = a_cvr_company(navne=[named("Senere ApS", "2028-01-01"), named("Først ApS", FIRST_DAY)])

    assert at(TODAY, raw).name == "Først ApS"


def test_a_unit_moves_on_its_day() -> None:
    raw = a_cvr_unit(
        virksomhedsrelation=[held(*OLD, cvrNummer=87654321), held(*NEW, cvrNummer=12345674)],
        navne=[named("Gammel enhed", *OLD), named("Ny enhed", *NEW)],
    )
    days = [date.fromisoformat(day) for day in (TODAY, LAST_DAY, FIRST_DAY)]
    today, last, first = (parsed(DK_UNITS, raw, day) for day in days)

    for each, company in ((today, "dk:87654321"), (last, "dk:87654321"), (first, "dk:12345674")):
        assert isinstance(each, UnitRecord)
        assert each.company == company
    assert isinstance(today, UnitRecord)
    assert (str(today.next_day), contents(today).former_names) == (FIRST_DAY, ())
    assert contents(first).former_names == ("Gammel enhed",)


def test_a_day_of_something_that_is_not_shown_is_no_next_day() -> None:
    record = parsed(
        DK_COMPANIES,
        a_cvr_company(obligatoriskEmail=[a_contact("a@b.example", *NEW)]),
        date.fromisoformat(TODAY),
    )

    assert isinstance(record, CompanyRecord)
    assert record.next_day is None


def test_attributes_become_fields() -> None:
    values = {
        "TEGNINGSREGEL": "Selskabet tegnes af en direktør",
        "REVISION_FRAVALGT": "true",
        "BØRSNOTERET": "false",
        "VEDTÆGT_SENESTE": "2013-11-13",
        "REGNSKABSÅR_START": "--07-01",
        "REGNSKABSÅR_SLUT": "--06-30",
    }
    attributes = [an_attribute(type_, held(None, vaerdi=each)) for type_, each in values.items()]
    odd = [an_attribute(type_, held(None, vaerdi="måske")) for type_ in values]

    read, unread = at(TODAY, a_cvr_company(attributter=attributes)), at(TODAY, a_cvr_company())
    strange = at(TODAY, a_cvr_company(attributter=odd))

    assert read.signing_rule == "Selskabet tegnes af en direktør"
    assert (read.audit_waived, read.listed, read.articles_dated) == (True, False, "2013-11-13")
    assert read.financial_year == FinancialYear(start="07-01", end="06-30")
    assert (unread.audit_waived, unread.listed, unread.financial_year) == (None, None, None)
    assert (strange.audit_waived, strange.listed, strange.articles_dated) == (None, None, None)
    assert sorted(strange.odd) == [
        "attributter.BØRSNOTERET",
        "attributter.REGNSKABSÅR",
        "attributter.REVISION_FRAVALGT",
        "attributter.VEDTÆGT_SENESTE",
    ]


def a_merger(*, into: str | None = None, out_of: str | None = None) -> Any:
    parts = {"indgaaende": into, "udgaaende": out_of}
    return {
        "organisationsNavn": [named("Fusion", "2010-01-01")],
        **{
            part: [an_attribute("FUNKTION", held(day, day, vaerdi="Fusion"))] if day else []
            for part, day in parts.items()
        },
    }


OVER = [held("1999-11-15", "2011-08-11")]
DAY = "2011-08-11"


@pytest.mark.parametrize(
    "field,part,life,where",
    [
        ("fusioner", a_merger(into=DAY), OVER, "into"),
        ("fusioner", a_merger(out_of=DAY), [held("1999-11-15")], "from"),
        ("fusioner", a_merger(into=DAY, out_of=DAY), [held("1999-11-15")], "from"),
        # It exists, so it continues the others.
        ("fusioner", a_merger(into=DAY), [held("1999-11-15")], "from"),
        ("spaltninger", a_merger(into=DAY), [held("1999-11-15")], "into"),
        ("spaltninger", a_merger(out_of=DAY), [held("1999-11-15")], "from"),
    ],
)
def test_a_company_went_into_a_merger_or_came_out_of_it(
    field: str, part: Any, life: Any, where: str
) -> None:
    read = at(TODAY, a_cvr_company(livsforloeb=life, **{field: [part]}))

    type_ = RestructuringType.MERGER if field == "fusioner" else RestructuringType.DEMERGER
    found = (Restructuring(type=type_, date=DAY),)
    expected = (found, ()) if where == "into" else ((), found)
    assert (read.merged_into, read.merged_from) == expected


def test_an_address_has_its_identifier_and_the_code_of_its_municipality() -> None:
    identifier = "0a3f50ab-367b-32b8-e044-0003ba298018"
    given = a_cvr_address(adresseId=identifier)

    read = at(TODAY, a_cvr_company(beliggenhedsadresse=[given])).address

    assert isinstance(read, Address)
    assert (read.id, read.municipality, read.municipality_code) == (identifier, "KØBENHAVN", "101")
