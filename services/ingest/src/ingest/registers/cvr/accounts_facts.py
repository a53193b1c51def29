"""Facts of Danish XBRL that annual accounts are read from, and the codes that their words mean.

The elements are those of the Danish taxonomies (ÅRL, `fsa`, the same since 2012) and of IFRS; the
words are those of the taxonomies of 2012 to 2025.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from common.contracts.accounts import Audit, AuditOpinion, AuditType
from ingest.registers.cvr.xbrl import Fact, day_of

#: A family of a namespace (`xbrl.Fact.family`), and a name in it.
Element = tuple[str, str]

#: Of each figure its elements; the first that the document has is taken.
ELEMENTS: Final[Mapping[str, tuple[Element, ...]]] = {
    "revenue": (
        ("fsa", "Revenue"),
        ("ifrs", "Revenue"),
        ("ifrs", "RevenueFromContractsWithCustomers"),
        ("ifrs-dk", "NetSales"),
    ),
    "gross_profit": (
        ("fsa", "GrossProfitLoss"),
        ("fsa", "GrossResult"),
        ("ifrs", "GrossProfit"),
        ("ifrs-dk", "GrossResult"),
    ),
    "employee_expense": (
        ("fsa", "EmployeeBenefitsExpense"),
        ("ifrs", "EmployeeBenefitsExpense"),
        ("ifrs-dk", "EmployeeBenefitsExpense"),
    ),
    "operating_profit": (
        ("fsa", "ProfitLossFromOrdinaryOperatingActivities"),
        ("ifrs", "ProfitLossFromOperatingActivities"),
        ("ifrs-dk", "ProfitLossFromOperatingActivities"),
    ),
    "profit_before_tax": (
        ("fsa", "ProfitLossFromOrdinaryActivitiesBeforeTax"),
        ("ifrs", "ProfitLossBeforeTax"),
    ),
    "tax": (
        ("fsa", "TaxExpense"),
        ("fsa", "TaxExpenseOnOrdinaryActivities"),
        ("ifrs", "IncomeTaxExpenseContinuingOperations"),
    ),
    "profit": (("fsa", "ProfitLoss"), ("ifrs", "ProfitLoss")),
    "non_current_assets": (("fsa", "NoncurrentAssets"), ("ifrs", "NoncurrentAssets")),
    "current_assets": (("fsa", "CurrentAssets"), ("ifrs", "CurrentAssets")),
    "cash": (("fsa", "CashAndCashEquivalents"), ("ifrs", "CashAndCashEquivalents")),
    "assets": (("fsa", "Assets"), ("ifrs", "Assets")),
    "equity": (("fsa", "Equity"), ("ifrs", "Equity")),
    "non_current_liabilities": (
        ("fsa", "LongtermLiabilitiesOtherThanProvisions"),
        ("ifrs", "NoncurrentLiabilities"),
    ),
    "current_liabilities": (
        ("fsa", "ShorttermLiabilitiesOtherThanProvisions"),
        ("ifrs", "CurrentLiabilities"),
    ),
    # Of `fsa` the sum of two elements: `DEBTS` and `PROVISIONS`.
    "liabilities": (("ifrs", "Liabilities"),),
    "employees": (("fsa", "AverageNumberOfEmployees"), ("ifrs", "AverageNumberOfEmployees")),
}
DEBTS: Final[Element] = ("fsa", "LiabilitiesOtherThanProvisions")
PROVISIONS: Final[Element] = ("fsa", "Provisions")
#: The figures that sum up to the assets.
BALANCE: Final = (("fsa", "LiabilitiesAndEquity"), ("ifrs", "EquityAndLiabilities"))
#: IFRS facts that only the accounts of a group have.
OF_GROUP: Final = (
    ("ifrs", "ProfitLossAttributableToOwnersOfParent"),
    ("ifrs", "EquityAttributableToOwnersOfParent"),
    ("ifrs", "NoncontrollingInterests"),
)

STARTS: Final[Element] = ("gsd", "ReportingPeriodStartDate")
ENDS: Final[Element] = ("gsd", "ReportingPeriodEndDate")
BEFORE_STARTS: Final[Element] = ("gsd", "PrecedingReportingPeriodStartDate")
#: The first as the taxonomy spells it.
BEFORE_ENDS: Final = (
    ("gsd", "PredingReportingPeriodEndDate"),
    ("gsd", "PrecedingReportingPeriodEndDate"),
)

_CLASS, _TYPE = ("fsa", "ClassOfReportingEntity"), ("gsd", "InformationOnTypeOfSubmittedReport")
_ASSISTANCE = ("cmn", "TypeOfAuditorAssistance")
#: The basis is used where the opinion itself is absent.
_OPINIONS: Final = (
    ("arr", "TypeOfModifiedOpinionOnAuditedFinancialStatements"),
    ("arr", "TypeOfModifiedOpinionOnAuditedFinancialStatementsExtendedReview"),
    ("arr", "TypeOfModifiedOpinionOnAuditedFinancialStatementsReview"),
    ("arr", "TypeOfBasisForModifiedOpinionOnAuditedFinancialStatements"),
    ("arr", "TypeOfBasisForModifiedOpinionOnFinancialStatementsExtendedReview"),
    ("arr", "TypeOfBasisForModifiedOpinionOnFinancialStatementsReview"),
)
_GOING_CONCERN = ("arr", "MaterialUncertaintyConcerningGoingConcernTrueFalse")
_EMPHASIS = ("arr", "EmphasisOfMatterAuditTrueFalse")

_NAMED: Final[Sequence[Element]] = (
    *(each for elements in ELEMENTS.values() for each in elements),
    *BALANCE,
    *OF_GROUP,
    *BEFORE_ENDS,
    *_OPINIONS,
    *(DEBTS, PROVISIONS, STARTS, ENDS, BEFORE_STARTS),
    *(_CLASS, _TYPE, _ASSISTANCE, _GOING_CONCERN, _EMPHASIS),
)
#: The facts to read of a document, by family.
WANTED: Final[Mapping[str, frozenset[str]]] = {
    family: frozenset(name for other, name in _NAMED if other == family)
    for family in {family for family, _ in _NAMED}
}

_REPORTS: Final = {"årsrapport", "annual report"}
_LIQUIDATION_REPORTS: Final = {"likvidationsregnskab", "liquidation accounts"}
#: In this order: each pattern may also match the words of those after it.
_ASSISTANCES: Final = (
    (re.compile(r"uden sikkerhed|non-assurance"), AuditType.NO_ASSURANCE),
    (re.compile(r"med sikkerhed|other assurance"), AuditType.OTHER_ASSURANCE),
    (re.compile(r"udvidet gennemgang|extended review"), AuditType.EXTENDED_REVIEW),
    (re.compile(r"review"), AuditType.REVIEW),
    (
        re.compile(
            r"revisionspåtegning|den uafhængige revisors erklæring"
            r"|(the )?(independent )?auditor's report( on audited financial statements)?"
        ),
        AuditType.AUDIT,
    ),
    (re.compile(r"ingen bistand|no( auditor)? assistance"), AuditType.NONE),
)
_OPINION_WORDS: Final = (
    (re.compile(r"\b(med forbehold|qualified)\b"), AuditOpinion.QUALIFIED),
    (re.compile(r"\b(afkræftende|adverse)\b"), AuditOpinion.ADVERSE),
    (re.compile(r"\b(manglende|disclaimer)\b"), AuditOpinion.DISCLAIMER),
    (
        re.compile(r"^(grundlag for )?konklusion$|^(basis for )?(opinion|conclusion)$"),
        AuditOpinion.UNMODIFIED,
    ),
)
_CLASSES: Final = (
    (re.compile(r"(klasse|class) a\b"), "A"),
    (re.compile(r"(klasse|class) b\b.*mi[ck]ro"), "B_micro"),
    (re.compile(r"(klasse|class) b\b"), "B"),
    (re.compile(r"(klasse|class) c\b.*(mellem|medium)"), "C_medium"),
    (re.compile(r"(klasse|class) c\b.*(stor|large)"), "C_large"),
    (re.compile(r"(klasse|class) d\b"), "D"),
)


def told(facts: Iterable[Fact], element: Element) -> str | None:
    """Returns the words of an element in lower case; None if the document has none, or several."""
    found = {_words(fact.value) for fact in facts if (fact.family, fact.name) == element}
    return found.pop() if len(found) == 1 else None


def _words(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").lower().split())


def day(facts: Iterable[Fact], *elements: Element) -> str | None:
    """Returns the only day that elements give; None for none, or for several."""
    values = (fact.value for fact in facts if (fact.family, fact.name) in elements)
    found = {day_of(value) for value in values} - {None}
    return found.pop() if len(found) == 1 else None


def is_annual(facts: Iterable[Fact]) -> bool:
    """Returns False for a document that says that it is another kind of report."""
    found = {_words(fact.value) for fact in facts if (fact.family, fact.name) == _TYPE}
    return not found or bool(found & (_REPORTS | _LIQUIDATION_REPORTS))


def is_liquidation(facts: Iterable[Fact]) -> bool:
    """Returns True for accounts on liquidation."""
    return told(facts, _TYPE) in _LIQUIDATION_REPORTS


def size_class(facts: Iterable[Fact]) -> str | None:
    """Returns the class of the company; None for words that are not known."""
    words = told(facts, _CLASS) or ""
    return next((name for pattern, name in _CLASSES if pattern.search(words)), None)


def audit(facts: Sequence[Fact]) -> Audit:
    """Returns what the document says of its audit in codes; texts are not judged."""
    assistance = told(facts, _ASSISTANCE) or ""
    opinion = next((words for each in _OPINIONS if (words := told(facts, each))), "")
    return Audit(
        type=next((kind for words, kind in _ASSISTANCES if words.search(assistance)), None),
        opinion=next((one for words, one in _OPINION_WORDS if words.search(opinion)), None),
        going_concern=_flag(told(facts, _GOING_CONCERN)),
        emphasis=_flag(told(facts, _EMPHASIS)),
    )


def _flag(text: str | None) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text or "")
