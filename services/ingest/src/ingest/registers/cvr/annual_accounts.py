"""Annual accounts from the facts of one filing (Denmark): which figure, of which scope and year.

Danish GAAP and IFRS mark group and company in opposite ways: a fact without a dimension is the
company's in one and the group's in the other. Nothing is guessed, scaled or repaired.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from common.contracts.accounts import (
    AccountingStandard,
    AccountsBasis,
    AccountsFigures,
    AccountsPeriod,
    AccountsScope,
    AccountsSource,
    AnnualAccounts,
    Audit,
)
from ingest.registers.cvr.accounts_facts import (
    BALANCE,
    BEFORE_ENDS,
    BEFORE_STARTS,
    DEBTS,
    ELEMENTS,
    ENDS,
    OF_GROUP,
    PROVISIONS,
    STARTS,
    Element,
    audit,
    day,
    is_annual,
    is_liquidation,
    size_class,
)
from ingest.registers.cvr.xbrl import Fact, Instance, UnreadableDocument

_SCOPE_DIMENSIONS: Final = {
    "ConsolidatedSoloDimension",
    "ConsolidatedAndSeparateFinancialStatementsAxis",
}
_SCOPE_MEMBERS: Final = {
    "ConsolidatedMember": AccountsScope.GROUP,
    "SeparateMember": AccountsScope.COMPANY,
    "SoloMember": AccountsScope.COMPANY,
}
_FIGURES: Final = {"fsa", "ifrs", "ifrs-dk"}
#: From so many conflicts on are two sets of accounts in the place of one.
_TWO_SETS: Final = 3
_MIN_PERIOD, _MAX_PERIOD = timedelta(days=27), timedelta(days=549)


@dataclass(frozen=True, slots=True)
class Filing:
    """The index entry of a filing."""

    id: str
    #: Eight digits.
    number: str
    #: The registered period.
    period: AccountsPeriod
    published: str | None
    is_correction: bool = False
    is_liquidation: bool = False
    #: Addresses of the documents with figures, the one that is named as the source first.
    documents: tuple[str, ...] = ()
    #: The address of the copy for people.
    pdf: str | None = None

    @property
    def source(self) -> AccountsSource:
        """Where the figures come from."""
        document = self.documents[0] if self.documents else None
        return AccountsSource(id=self.id, document=document, pdf=self.pdf)


def without_figures(filing: Filing, *warnings: str) -> AnnualAccounts:
    """Returns the accounts of a filing whose figures are on paper, or not readable."""
    return AnnualAccounts(
        period=filing.period,
        scope=AccountsScope.UNKNOWN,
        liquidation=filing.is_liquidation,
        published=filing.published,
        correction=filing.is_correction,
        source=filing.source,
        warnings=warnings,
    )


def read_filing(filing: Filing, instances: Sequence[Instance]) -> list[AnnualAccounts]:
    """Returns the accounts of each scope: of the year, and as `comparative` of the year before.

    Raises UnreadableDocument if the documents are about another company, or no annual accounts.
    """
    companies = frozenset[str]().union(*(each.companies for each in instances))
    if companies and filing.number not in companies:
        raise UnreadableDocument("it is about another company")
    facts = [
        fact
        for instance in instances
        for fact in instance.facts
        if fact.context.company in (None, filing.number)
    ]
    if not is_annual(facts):
        raise UnreadableDocument("it is no annual report")
    facts = _with_group(facts)
    own, before = _years(facts, filing)
    found = list(_of_year(filing, facts, own, AccountsBasis.FILED))
    if before is not None:
        found += _of_year(filing, facts, before, AccountsBasis.COMPARATIVE)
    return found or [_told(filing, facts, own)]


def _years(facts: Sequence[Fact], filing: Filing) -> tuple[AccountsPeriod, AccountsPeriod | None]:
    """Returns the document's own periods, or else those of the index and of its contexts."""
    # A second pair, with another dimension, states the registered, deviating period.
    dated = [fact for fact in facts if fact.family == "gsd" and _is_whole(fact)]
    own = _period(day(dated, STARTS), day(dated, ENDS))
    if own is None or not _has_balance(facts, own.end):
        # Documents of ESEF name none; the figures of others do not end where they say.
        own = filing.period if own is None or _has_balance(facts, filing.period.end) else own
    before = _period(day(dated, BEFORE_STARTS), day(dated, *BEFORE_ENDS))
    if before is not None and before.end < own.start:
        return own, before
    eve = str(date.fromisoformat(own.start) - timedelta(days=1))
    starts = (f.context.start for f in facts if f.context.end == eve and _scope(f) is not None)
    return own, _period(min(filter(None, starts), default=None), eve)


def _period(start: str | None, end: str | None) -> AccountsPeriod | None:
    if start is None or end is None or start > end:
        return None
    return AccountsPeriod(start=start, end=end)


def _has_balance(facts: Iterable[Fact], end: str) -> bool:
    return any(fact.is_currency and fact.context.end == end for fact in facts)


def _is_whole(fact: Fact) -> bool:
    return {dimension for dimension, _ in fact.context.dimensions} <= _SCOPE_DIMENSIONS


def _scope(fact: Fact) -> AccountsScope | None:
    """Returns whose figure it is; None for a breakdown. UNKNOWN: without a dimension, of IFRS."""
    dimensions = fact.context.dimensions
    if not dimensions:
        is_danish = fact.family == "fsa"
        return AccountsScope.COMPANY if is_danish else AccountsScope.UNKNOWN
    [(dimension, member), *others] = dimensions
    if others or dimension not in _SCOPE_DIMENSIONS:
        return None
    return _SCOPE_MEMBERS.get(member)


def _with_group(facts: Sequence[Fact]) -> list[Fact]:
    """Gives IFRS facts without a dimension that of a group, if the filing says that it is one."""
    if not _says_group(facts):
        return list(facts)
    group = frozenset({("ConsolidatedAndSeparateFinancialStatementsAxis", "ConsolidatedMember")})
    return [
        replace(fact, context=replace(fact.context, dimensions=group))
        if fact.family in _FIGURES and _scope(fact) is AccountsScope.UNKNOWN
        else fact
        for fact in facts
    ]


def _says_group(facts: Sequence[Fact]) -> bool:
    """Returns True if a filing has the accounts of a group, by what only they have.

    The accounts of the company beside them count too: of IFRS, those with its own dimension; of
    Danish GAAP, a balance that is another one.
    """
    totals: dict[tuple[str, str], set[Decimal | None]] = {}
    for fact in facts:
        if (fact.family, fact.name) in OF_GROUP and not fact.context.dimensions:
            return True
        members = {member for _, member in fact.context.dimensions}
        if "ConsolidatedMember" in members or (
            fact.family == "ifrs" and "SeparateMember" in members
        ):
            return True
        if fact.name == "Assets" and not fact.context.dimensions:
            totals.setdefault((fact.context.end, fact.family), set()).add(fact.number)
    return any(
        family == "fsa" and found.isdisjoint(totals.get((end, "ifrs"), found))
        for (end, family), found in totals.items()
    )


def _of_year(
    filing: Filing, facts: Sequence[Fact], period: AccountsPeriod, basis: AccountsBasis
) -> Iterator[AnnualAccounts]:
    scopes: dict[AccountsScope, list[Fact]] = {}
    for fact in facts:
        if fact.family in _FIGURES and fact.context.end == period.end:
            scope = _scope(fact)
            if scope is not None:
                scopes.setdefault(scope, []).append(fact)
    for scope in sorted(scopes):
        figures = _Figures(scopes[scope], period)
        if figures.currency is None:
            continue
        values, warnings = figures.read()
        accounts = _told(filing, facts, period, basis).model_copy(
            update={
                "scope": AccountsScope.UNKNOWN if "ambiguous_scope" in warnings else scope,
                "currency": figures.currency,
                "standard": figures.standard,
                "figures": AccountsFigures(**values),
                "warnings": tuple(warnings),
            }
        )
        yield accounts


def _told(
    filing: Filing,
    facts: Sequence[Fact],
    period: AccountsPeriod,
    basis: AccountsBasis = AccountsBasis.FILED,
) -> AnnualAccounts:
    """Returns what a filing says beside figures; of the year before only that it was one."""
    is_filed = basis is AccountsBasis.FILED
    return AnnualAccounts(
        period=period,
        scope=AccountsScope.UNKNOWN,
        size_class=size_class(facts) if is_filed else None,
        liquidation=is_filed and (filing.is_liquidation or is_liquidation(facts)),
        audit=audit(facts) if is_filed else Audit(),
        basis=basis,
        published=filing.published,
        correction=filing.is_correction and is_filed,
        source=filing.source,
    )


class _Figures:
    """The figures of one scope and year."""

    def __init__(self, facts: Sequence[Fact], period: AccountsPeriod) -> None:
        is_ifrs = any(fact.family != "fsa" and fact.is_currency for fact in facts)
        # Two documents of a filing may both tell of one scope; the figures are ESEF's.
        taken = [fact for fact in facts if (fact.family != "fsa") == is_ifrs]
        self._by_name: dict[Element, list[Fact]] = {}
        for fact in taken:
            self._by_name.setdefault((fact.family, fact.name), []).append(fact)
        self._period = period
        self._start = _start(taken, period)
        currencies = Counter(fact.unit for fact in taken if fact.is_currency and fact.unit)
        self.currency = currencies.most_common(1)[0][0] if currencies else None
        self._has_others = len(currencies) > 1
        self.standard = AccountingStandard.IFRS if is_ifrs else AccountingStandard.LOCAL_GAAP

    def read(self) -> tuple[dict[str, str | None], list[str]]:
        """Returns the figures by name, and warnings."""
        conflicts: list[str] = []
        numbers: dict[str, Decimal | None] = {}
        for name, elements in ELEMENTS.items():
            numbers[name], is_conflict = self._number(elements, of_people=name == "employees")
            if is_conflict:
                conflicts.append(name)
        if self.standard is AccountingStandard.LOCAL_GAAP:
            debts, is_conflict = self._debts()
            numbers["liabilities"] = debts if _gap(numbers, debts) == 0 else None
            conflicts += ["liabilities"] * is_conflict
        if len(conflicts) >= _TWO_SETS:
            return dict.fromkeys(ELEMENTS), ["ambiguous_scope"]
        figures = {name: _text(number) for name, number in numbers.items()}
        return figures, [
            *(f"conflict:{name}" for name in conflicts),
            *self._warnings(numbers),
        ]

    def _warnings(self, numbers: Mapping[str, Decimal | None]) -> Iterator[str]:
        if self._is_unbalanced(numbers):
            yield "unbalanced"
        if self._has_others:
            yield "currencies"
        if (numbers["employee_expense"] or 0) < 0:
            yield "negative_costs"
        people = [fact for name in ELEMENTS["employees"] for fact in self._by_name.get(name, ())]
        if people and all(fact.is_currency for fact in people):
            yield "employees_unit"
        length = date.fromisoformat(self._period.end) - date.fromisoformat(self._period.start)
        if not _MIN_PERIOD <= length <= _MAX_PERIOD:
            yield "period"

    def _is_unbalanced(self, numbers: Mapping[str, Decimal | None]) -> bool:
        """Returns True if assets are not equity and liabilities, as summed up or as told."""
        balance, _ = self._number(BALANCE)
        if balance is not None:
            return numbers["assets"] not in (None, balance)
        if self.standard is AccountingStandard.LOCAL_GAAP:
            return bool(_gap(numbers, self._debts()[0]))
        gap = _gap(numbers, numbers["liabilities"])
        return gap is not None and abs(gap) > self._unit()

    def _unit(self) -> Decimal:
        """Returns the coarsest rounding of the balance, by which a sum may differ."""
        names = ("assets", "equity", "liabilities")
        facts = [f for n in names for each in ELEMENTS[n] for f in self._by_name.get(each, ())]
        places = [_precision(fact) for fact in facts]
        coarsest = min((each for each in places if -30 <= each < 0), default=0)
        return Decimal(10) ** -int(coarsest)

    def _number(
        self, elements: Iterable[Element], *, of_people: bool = False
    ) -> tuple[Decimal | None, bool]:
        """Returns the number of the first element that has one, and True if its facts conflict."""
        for element in elements:
            facts = [
                fact
                for fact in self._by_name.get(element, ())
                if fact.number is not None and self._fits(fact, of_people=of_people)
            ]
            if facts:
                return _agreed(facts)
        return None, False

    def _fits(self, fact: Fact, *, of_people: bool) -> bool:
        # Some tell of a last quarter, too, which ends with the year.
        is_whole = fact.context.start in (None, self._start)
        is_unit = not fact.is_currency if of_people else fact.unit == self.currency
        return is_whole and is_unit

    def _debts(self) -> tuple[Decimal | None, bool]:
        """Returns the sum that Danish GAAP has no element for, and True if a part conflicts."""
        debts, is_conflict = self._number([DEBTS])
        provisions, is_other = self._number([PROVISIONS])
        return None if debts is None else debts + (provisions or 0), is_conflict or is_other


def _gap(numbers: Mapping[str, Decimal | None], debts: Decimal | None) -> Decimal | None:
    """Returns by how much the assets are more than equity and debts; None if one is unknown."""
    assets, equity = numbers["assets"], numbers["equity"]
    return None if assets is None or equity is None or debts is None else assets - equity - debts


def _start(facts: Iterable[Fact], period: AccountsPeriod) -> str:
    """Returns the first day of the year's figures: the period's, or that of the longest ones."""
    starts = {fact.context.start for fact in facts if fact.context.start is not None}
    return period.start if period.start in starts else min(starts, default=period.start)


def _agreed(facts: Sequence[Fact]) -> tuple[Decimal | None, bool]:
    """Returns the number that facts of one name agree on: the others are it, rounded."""
    best = max(facts, key=_precision)
    number = best.number
    if number is None or any(not _is_copy(fact, best) for fact in facts):
        return None, True
    return number, False


def _is_copy(fact: Fact, best: Fact) -> bool:
    """Returns True for the same number, and for one that was rounded to fewer places."""
    if fact.number == best.number or fact.number is None or best.number is None:
        return fact.number == best.number
    places = _precision(fact)
    if not -30 <= places < _precision(best):
        return False
    return abs(fact.number - best.number) <= Decimal(10) ** -int(places) / 2


def _precision(fact: Fact) -> float:
    text = fact.decimals or ""
    if text == "INF":
        return float("inf")
    is_number = text.lstrip("-").isdecimal() and text.isascii() and len(text) <= 4
    return float(text) if is_number else float("-inf")


def _text(number: Decimal | None) -> str | None:
    if number is None:
        return None
    text = f"{number:f}"
    whole = text.rstrip("0").rstrip(".") if "." in text else text
    return whole if number else "0"
