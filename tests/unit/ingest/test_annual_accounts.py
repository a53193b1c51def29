"""Annual accounts are read from invented Danish documents, each with one trap of the real ones."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import replace

import pytest

from common.contracts.accounts import AccountsPeriod, AnnualAccounts
from ingest.registers.cvr.accounts_facts import WANTED
from ingest.registers.cvr.annual_accounts import Filing, read_filing, without_figures
from ingest.registers.cvr.xbrl import MAX_SIZE, UnreadableDocument, read_instance
from register_samples.xbrl import GROUP, LEI, NAMESPACES, SEPARATE, Fact, instance

NUMBER = "10000009"
YEAR, END = "2025-01-01/2025-12-31", "2025-12-31"
BEFORE, EVE = "2024-01-01/2024-12-31", "2024-12-31"
FILING = Filing(
    "urn:ofk:oid:1",
    NUMBER,
    AccountsPeriod(start="2025-01-01", end="2025-12-31"),
    "2026-05-30T12:00:00Z",
)
TEXTS = (
    Fact("gsd:InformationOnTypeOfSubmittedReport", "Årsrapport", YEAR),
    Fact("gsd:ReportingPeriodStartDate", "2025-01-01", YEAR),
    Fact("gsd:ReportingPeriodEndDate", "2025-12-31", YEAR),
)


def money(name: str, value: int | str, period: str = YEAR, unit: str = "DKK", **more: str) -> Fact:
    return Fact(name, str(value), period, unit, **more)  # type: ignore[arg-type]


def of(fact: Fact, *dimensions: tuple[str, str]) -> Fact:
    return replace(fact, dimensions=dimensions)


def read(*documents: bytes, filing: Filing = FILING) -> list[AnnualAccounts]:
    return read_filing(filing, [read_instance(content, WANTED) for content in documents])


def read_facts(*facts: Fact) -> list[AnnualAccounts]:
    return read(instance(NUMBER, [*TEXTS, *facts]))


def the(found: Sequence[AnnualAccounts], scope: str, basis: str = "filed") -> AnnualAccounts:
    [one] = [each for each in found if (each.scope, each.basis) == (scope, basis)]
    return one


BALANCED = (
    money("fsa:ProfitLoss", 10),
    money("fsa:Assets", 100, END),
    money("fsa:Equity", 40, END),
    money("fsa:LiabilitiesOtherThanProvisions", 55, END),
    money("fsa:Provisions", 5, END),
    money("fsa:LiabilitiesAndEquity", 100, END),
)


def test_absent_figures_are_null_and_zero_is_a_figure() -> None:
    [found] = read_facts(money("fsa:GrossProfitLoss", 7), money("fsa:ProfitLoss", 0))

    figures = found.figures
    assert (figures.profit, figures.revenue, figures.gross_profit) == ("0", None, "7")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1", "windows-1252"])
def test_a_document_is_read_in_the_encoding_of_its_prolog(encoding: str) -> None:
    [found] = read(instance(NUMBER, [*TEXTS, *BALANCED], encoding=encoding))

    assert found.figures.profit == "10"


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda content: content],
    ids=["gzip", "plain"],
)
def test_a_document_is_unpacked_by_its_first_bytes(pack: "type[bytes]") -> None:
    [found] = read(pack(instance(NUMBER, [*TEXTS, *BALANCED])))

    assert found.figures.equity == "40"


def test_prefixes_say_nothing() -> None:
    swapped = {**NAMESPACES, "fsa": NAMESPACES["gsd"], "gsd": NAMESPACES["fsa"]}
    swapped["cur"] = swapped.pop("iso4217")
    facts = [replace(f, name=f.name.replace("fsa:", "gsd:")) for f in BALANCED]
    content = instance(NUMBER, facts, prefixes=swapped).replace(b">iso4217:DKK<", b">cur:DKK<")

    [found] = read(content)

    assert (found.figures.equity, found.currency) == ("40", "DKK")


@pytest.mark.parametrize(
    "prolog",
    [
        "<!DOCTYPE xbrl>",
        '<!DOCTYPE xbrl [<!ENTITY a "b">]>',
        '<!DOCTYPE xbrl SYSTEM "http://filer.example.com/x.dtd">',
    ],
)
def test_a_document_type_is_refused(prolog: str) -> None:
    content = instance(NUMBER, [*TEXTS, *BALANCED], before_root=prolog)

    with pytest.raises(UnreadableDocument, match="document type"):
        read(content)


def _bomb() -> bytes:
    packing = zlib.compressobj(wbits=31)
    return packing.compress(bytes(30 << 20)) + packing.flush()


@pytest.mark.parametrize(
    "content,reason",
    [
        (_bomb(), "larger than 20 MB"),
        (b"<a>" + b" " * MAX_SIZE, "larger than 20 MB"),
        (gzip.compress(instance(NUMBER, BALANCED))[:-20], "ends early"),
        (b"\x1f\x8b" + b"broken", "broken"),
        (b"<a>" + b"<b/>" * 200_001 + b"</a>", "not an XBRL instance"),
        (
            instance(NUMBER, BALANCED).replace(b"<fsa:", b"<mrv:A/>" * 200_001 + b"<fsa:", 1),
            "200,000",
        ),
        (b"%PDF-1.7", "not well-formed"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "not well-formed"),
        (b"<html xmlns='http://www.w3.org/1999/xhtml'/>", "not an XBRL instance"),
        (b"", "not well-formed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unreadable_document_has_a_reason(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        read(content)


def test_a_document_about_another_company_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="another company"):
        read(instance("10000017", [*TEXTS, *BALANCED]))


def test_figures_of_another_company_in_the_document_are_left_out() -> None:
    other = instance("10000017", [money("fsa:Revenue", 999)])

    [found] = read(instance(NUMBER, [*TEXTS, *BALANCED]), other)

    assert found.figures.revenue is None


@pytest.mark.parametrize("kind", ["Halvårsrapport", "Delårsrapport", "Regnskabsstatistik"])
def test_another_kind_of_report_is_refused(kind: str) -> None:
    facts = [replace(TEXTS[0], value=kind), *BALANCED]

    with pytest.raises(UnreadableDocument, match="no annual report"):
        read(instance(NUMBER, facts))


@pytest.mark.parametrize("kind", ["Likvidationsregnskab", "LIKVIDATIONSREGNSKAB"])
def test_accounts_on_liquidation_are_told(kind: str) -> None:
    [found] = read(instance(NUMBER, [replace(TEXTS[0], value=kind), *BALANCED]))

    assert found.liquidation


def test_danish_gaap_marks_the_group() -> None:
    found = read_facts(*BALANCED, of(money("fsa:ProfitLoss", -5), GROUP))

    assert the(found, "company").figures.profit == "10"
    assert the(found, "group").figures.profit == "-5"


def test_ifrs_marks_the_company() -> None:
    found = read_facts(
        money("ifrs-full:ProfitLoss", -5), of(money("ifrs-full:ProfitLoss", 10), SEPARATE)
    )

    assert the(found, "company").figures.profit == "10"
    assert the(found, "group").figures.profit == "-5"
    assert the(found, "group").standard == "ifrs"


def test_a_company_with_ifrs_and_no_sign_of_a_group_has_an_unknown_scope() -> None:
    [found] = read_facts(money("ifrs-full:ProfitLoss", -5))

    assert found.scope == "unknown"


def test_the_year_before_has_the_scope_that_the_year_shows() -> None:
    found = read_facts(
        money("ifrs-full:ProfitLoss", 4),
        money("ifrs-full:ProfitLossAttributableToOwnersOfParent", 3),
        money("ifrs-full:ProfitLoss", 2, BEFORE),
    )

    assert the(found, "group").figures.profit == "4"
    assert the(found, "group", "comparative").figures.profit == "2"


def test_esef_gives_the_figures_and_its_stub_the_rest() -> None:
    stub = [
        *TEXTS,
        Fact("fsa:ClassOfReportingEntity", "Regnskabsklasse D", YEAR),
        Fact("cmn:TypeOfAuditorAssistance", "Den uafhængige revisors erklæring", YEAR),
    ]
    esef = [
        money("ifrs-full:Revenue", 900),
        money("ifrs-full:NoncontrollingInterests", 1, END),
        money("ifrs-full:Assets", 500, END),
    ]

    [found] = read(instance(NUMBER, stub), instance("5493001KJTIIGC8Y1R12", esef, scheme=LEI))

    assert (found.scope, found.size_class, found.audit.type) == ("group", "D", "audit")
    assert (found.figures.revenue, found.standard) == ("900", "ifrs")


def test_esef_beside_the_parents_own_accounts_is_the_group() -> None:
    esef = [money("ifrs-full:Assets", 500, END), money("ifrs-full:ProfitLoss", 50)]

    found = read(
        instance(NUMBER, [*TEXTS, *BALANCED]), instance("5493001KJTIIGC8Y1R12", esef, scheme=LEI)
    )

    assert the(found, "company").figures.assets == "100"
    assert the(found, "group").figures.assets == "500"
    assert the(found, "company").standard == "local_gaap"


def test_figures_of_one_scope_come_from_one_document() -> None:
    esef = [of(money("ifrs-full:Assets", 101, END), SEPARATE), money("ifrs-full:Assets", 500, END)]

    found = read(
        instance(NUMBER, [*TEXTS, *BALANCED]), instance("5493001KJTIIGC8Y1R12", esef, scheme=LEI)
    )

    company = the(found, "company")
    assert (company.figures.assets, company.figures.profit) == ("101", None)
    assert company.standard == "ifrs"


def test_breakdowns_and_other_years_are_left_out() -> None:
    retrospective = ("fsa:RetrospectiveInformationDimension", "fsa:RetrospectiveMember")
    rendering = ("cmn:ReportedValueOtherRenderingOfReportedValueDimension", "cmn:OtherMember")
    foreign = ("mrv:ConsolidatedSoloDimension", "cmn:ConsolidatedMember")

    [found] = read_facts(
        *BALANCED,
        *(of(money("fsa:ProfitLoss", 99), each) for each in (retrospective, rendering, foreign)),
        of(money("fsa:ProfitLoss", 98), GROUP, retrospective),
        money("fsa:ProfitLoss", 97, "2019-01-01/2019-12-31"),
    )

    assert (found.scope, found.figures.profit) == ("company", "10")


def test_a_last_quarter_is_left_out() -> None:
    [found] = read_facts(
        money("fsa:ProfitLoss", 2, "2025-10-01/2025-12-31"), money("fsa:ProfitLoss", 10)
    )

    assert found.figures.profit == "10"


def test_a_last_quarter_does_not_fill_the_year() -> None:
    [found] = read_facts(
        money("fsa:Revenue", 2, "2025-10-01/2025-12-31"), money("fsa:ProfitLoss", 10)
    )

    assert found.figures.revenue is None


def test_nil_is_absent() -> None:
    [found] = read_facts(*BALANCED, Fact("fsa:Revenue", "", YEAR, "DKK", is_nil=True))

    assert found.figures.revenue is None


@pytest.mark.parametrize("text", ["1.234,00", "1 234", "1_234", "1e3", "NaN", "Infinity", "9" * 31])
def test_what_is_no_number_is_no_figure(text: str) -> None:
    [found] = read_facts(*BALANCED, money("fsa:Revenue", text))

    assert found.figures.revenue is None


@pytest.mark.parametrize(
    "text,figure",
    [("4188.000", "4188"), ("-0.50", "-0.5"), ("+7", "7"), ("-0", "0"), ("9" * 30, "9" * 30)],
)
def test_a_number_is_given_as_filed(text: str, figure: str) -> None:
    [found] = read_facts(*BALANCED, money("fsa:Revenue", text, decimals="-6"))

    assert found.figures.revenue == figure


@pytest.mark.parametrize(
    "values,figure",
    [
        ([("588", "0"), ("588", "0")], "588"),
        ([("588223", "0"), ("588000", "-3")], "588223"),
        ([("588000", "-3"), ("588223", "INF")], "588223"),
        ([("588223", "0"), ("587000", "-3")], None),
        ([("588223", "-3"), ("588000", "-3")], None),
        ([("-588223", "0"), ("588224", "0")], None),
    ],
)
def test_duplicates_agree_or_there_is_no_figure(
    values: list[tuple[str, str]], figure: str | None
) -> None:
    facts = [money("fsa:Revenue", value, decimals=places) for value, places in values]

    [found] = read_facts(*BALANCED, *facts)

    assert found.figures.revenue == figure
    assert found.warnings == (() if figure else ("conflict:revenue",))
    assert found.figures.profit == "10"


def test_two_sets_of_accounts_in_one_give_no_figures() -> None:
    twice = [replace(fact, value=fact.value + "0") for fact in BALANCED]

    [found] = read_facts(*BALANCED, *twice)

    assert (found.scope, found.warnings) == ("unknown", ("ambiguous_scope",))
    assert set(found.figures.model_dump().values()) == {None}


def test_employees_in_kroner_are_left_out() -> None:
    employees = money("fsa:AverageNumberOfEmployees", 565000, decimals="-3")

    [found] = read_facts(*BALANCED, employees)

    assert (found.figures.employees, found.warnings) == (None, ("employees_unit",))


@pytest.mark.parametrize("measure", [b"xbrli:pure", b"pure", b"xbrli:shares"])
def test_employees_are_of_any_unit_but_a_currency(measure: bytes) -> None:
    people = replace(money("fsa:AverageNumberOfEmployees", 3), unit="pure")
    content = instance(NUMBER, [*TEXTS, *BALANCED, people])

    [found] = read(content.replace(b"xbrli:pure", measure))

    assert (found.figures.employees, found.warnings) == ("3", ())


def test_negative_costs_are_given_with_a_warning() -> None:
    [found] = read_facts(*BALANCED, money("fsa:EmployeeBenefitsExpense", -839))

    assert (found.figures.employee_expense, found.warnings) == ("-839", ("negative_costs",))


def test_several_currencies_are_told() -> None:
    [found] = read_facts(*BALANCED, money("fsa:Revenue", 9, unit="EUR"))

    assert (found.currency, found.figures.revenue) == ("DKK", None)
    assert found.warnings == ("currencies",)


def _without(name: str, *more: Fact) -> list[Fact]:
    return [*(fact for fact in BALANCED if fact.name != name), *more]


@pytest.mark.parametrize(
    "facts,warnings,liabilities",
    [
        (BALANCED, (), "60"),
        (_without("fsa:LiabilitiesAndEquity"), (), "60"),
        (_without("fsa:Equity", money("fsa:Equity", 45, END)), (), None),
        (_without("fsa:Assets", money("fsa:Assets", 101, END)), ("unbalanced",), None),
        (
            [*_without("fsa:LiabilitiesAndEquity")[:-1], money("fsa:Provisions", 6, END)],
            ("unbalanced",),
            None,
        ),
        (_without("fsa:Assets"), (), None),
    ],
)
def test_liabilities_of_danish_gaap_are_a_sum_that_fits(
    facts: list[Fact], warnings: tuple[str, ...], liabilities: str | None
) -> None:
    [found] = read_facts(*facts)

    assert (found.warnings, found.figures.liabilities) == (warnings, liabilities)


@pytest.mark.parametrize(
    "debts,decimals,warnings",
    [(60, "0", ()), (62, "0", ("unbalanced",)), (62, "-3", ()), (1061, "-3", ("unbalanced",))],
)
def test_liabilities_of_ifrs_may_differ_by_rounding(
    debts: int, decimals: str, warnings: tuple[str, ...]
) -> None:
    [found] = read_facts(
        money("ifrs-full:Assets", 100, END),
        money("ifrs-full:Equity", 40, END),
        money("ifrs-full:Liabilities", debts, END, decimals=decimals),
    )

    assert (found.warnings, found.figures.liabilities) == (warnings, str(debts))


@pytest.mark.parametrize(
    "first,last,warnings",
    [
        ("2025-01-01", "2025-12-31", ()),
        ("2024-07-01", "2025-12-31", ()),
        ("2024-06-01", "2025-12-31", ("period",)),
        ("2025-12-01", "2025-12-31", ()),
        ("2025-12-15", "2025-12-31", ("period",)),
    ],
)
def test_an_odd_period_is_told(first: str, last: str, warnings: tuple[str, ...]) -> None:
    period = f"{first}/{last}"
    facts = [
        Fact("gsd:ReportingPeriodStartDate", first, period),
        Fact("gsd:ReportingPeriodEndDate", last, period),
        money("fsa:ProfitLoss", 10, period),
    ]

    [found] = read(instance(NUMBER, facts))

    assert found.period == AccountsPeriod(start=first, end=last)
    assert (found.warnings, found.figures.profit) == (warnings, "10")


def test_the_registered_period_beside_the_documents_own_is_left_out() -> None:
    registered = ("gsd:TypeOfReportingPeriodDimension", "gsd:RegisteredReportingPeriodMember")
    other = of(replace(TEXTS[1], value="2025-04-01"), registered)

    [found] = read_facts(*BALANCED, other)

    assert found.period.start == "2025-01-01"


def test_two_years_that_a_document_says_to_be_its_own_give_the_registered_one() -> None:
    [found] = read_facts(*BALANCED, replace(TEXTS[2], value="2024-12-31"))

    assert (found.period.end, found.figures.equity) == ("2025-12-31", "40")


def test_a_year_without_figures_gives_the_registered_one() -> None:
    texts = [replace(fact, value=fact.value.replace("2025", "2052")) for fact in TEXTS]

    [found] = read(instance(NUMBER, [*texts, *BALANCED]))

    assert (found.period.end, found.figures.equity) == ("2025-12-31", "40")


def test_the_year_before_is_found_by_its_last_day() -> None:
    found = read_facts(*BALANCED, money("fsa:ProfitLoss", 3, BEFORE), money("fsa:Equity", 30, EVE))

    before = the(found, "company", "comparative")
    assert before.period == AccountsPeriod(start="2024-01-01", end="2024-12-31")
    assert (before.figures.profit, before.figures.equity) == ("3", "30")
    assert (before.correction, before.size_class) == (False, None)


def test_midnight_ends_the_day_before() -> None:
    content = instance(NUMBER, [*TEXTS, *BALANCED]).replace(
        b"<xbrli:instant>2025-12-31<", b"<xbrli:instant>2026-01-01T00:00:00<"
    )

    [found] = read(content)

    assert found.figures.assets == "100"


def test_dates_that_are_none_are_left_out() -> None:
    content = instance(
        NUMBER, [*TEXTS, *BALANCED, money("fsa:Revenue", 9, "2025-02-30/2025-12-31")]
    )

    [found] = read(content)

    assert (found.figures.revenue, found.figures.profit) == (None, "10")


@pytest.mark.parametrize(
    "words,code",
    [
        ("Revisionspåtegning", "audit"),
        ("Den uafhængige revisors erklæring", "audit"),
        ("Independent Auditor’s Report", "audit"),
        ("Auditor's report on audited financial statements", "audit"),
        ("Erklæring om udvidet gennemgang", "extended_review"),
        ("Den uafhængige revisors erklæring om udvidet gennemgang", "extended_review"),
        ("Auditor's report on extended review", "extended_review"),
        ("Independent Practitioner’s Extended Review Report", "extended_review"),
        ("Den uafhængige revisors erklæringer (review)", "review"),
        ("Den uafhængige revisors reviewerklæring", "review"),
        ("The independent auditor's reports (Review)", "review"),
        ("Independent Practitioner’s Review Report", "review"),
        ("Andre erklæringer med sikkerhed", "other_assurance"),
        ("The independent auditor's reports (Other assurance Reports)", "other_assurance"),
        ("Andre erklæringer uden sikkerhed", "no_assurance"),
        ("Auditor's reports (Other non-assurance reports)", "no_assurance"),
        ("Ingen bistand", "none"),
        ("No auditor assistance", "none"),
        ("Se årsrapporten", None),
    ],
)
def test_the_type_of_audit_is_read_from_the_words_of_each_taxonomy(
    words: str, code: str | None
) -> None:
    [found] = read_facts(*BALANCED, Fact("cmn:TypeOfAuditorAssistance", words, YEAR))

    assert found.audit.type == code


@pytest.mark.parametrize(
    "words,code",
    [
        ("Konklusion", "unmodified"),
        ("Grundlag for konklusion", "unmodified"),
        ("Opinion", "unmodified"),
        ("Konklusion med forbehold", "qualified"),
        ("Basis for Qualified Opinion", "qualified"),
        ("Afkræftende konklusion", "adverse"),
        ("Adverse Opinion", "adverse"),
        ("Manglende konklusion", "disclaimer"),
        ("Disclaimer of Opinion", "disclaimer"),
        ("Unqualified and very good", None),
    ],
)
@pytest.mark.parametrize(
    "element",
    [
        "TypeOfModifiedOpinionOnAuditedFinancialStatements",
        "TypeOfModifiedOpinionOnAuditedFinancialStatementsExtendedReview",
        "TypeOfBasisForModifiedOpinionOnFinancialStatementsReview",
    ],
)
def test_an_opinion_is_read_from_its_words(element: str, words: str, code: str | None) -> None:
    [found] = read_facts(*BALANCED, Fact(f"arr:{element}", words, YEAR))

    assert found.audit.opinion == code


def test_two_opinions_are_none() -> None:
    name = "arr:TypeOfModifiedOpinionOnAuditedFinancialStatements"

    [found] = read_facts(
        *BALANCED, Fact(name, "Konklusion", YEAR), Fact(name, "Afkræftende konklusion", YEAR)
    )

    assert found.audit.opinion is None


@pytest.mark.parametrize("text,flag", [("true", True), ("0", False), ("måske", None)])
def test_flags_of_the_auditor_are_read(text: str, *, flag: bool | None) -> None:
    [found] = read_facts(
        *BALANCED,
        Fact("arr:MaterialUncertaintyConcerningGoingConcernTrueFalse", text, YEAR),
        Fact("arr:EmphasisOfMatterAuditTrueFalse", text, YEAR),
    )

    assert (found.audit.going_concern, found.audit.emphasis) == (flag, flag)


def test_a_document_without_figures_tells_the_rest() -> None:
    [found] = read(
        instance(NUMBER, [*TEXTS, Fact("fsa:ClassOfReportingEntity", "Reporting class A", YEAR)])
    )

    assert (found.scope, found.currency, found.size_class) == ("unknown", None, "A")


def test_a_filing_on_paper_is_known_without_figures() -> None:
    filing = replace(FILING, is_correction=True, pdf="http://regnskaber.example.com/a.pdf")

    found = without_figures(filing)

    assert (found.scope, found.correction, found.currency) == ("unknown", True, None)
    assert found.source.pdf == "http://regnskaber.example.com/a.pdf"
