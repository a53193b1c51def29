"""What a reader of a company's page should know first: warnings, and the facts in a few words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from common.domain.accounts_due import accounts_due
from company_registry.change_words import accounts_remarks, amount_in_words, day
from company_registry.group_models import Group, UltimateOwner
from company_registry.models import AnnualAccounts, Company, Owner, Role
from portal.domain import facts

#: Reasons of a compulsory dissolution in words.
_CAUSES: Final = {
    "no_director": "No director",
    "no_auditor": "No auditor",
    "no_accounts": "No annual accounts",
    "incomplete_board": "An incomplete board",
    "not_deleted": "Not deleted in time",
}
_GRAVE: Final = {
    "bankrupt": "bad",
    "ended": "muted",
    "under_liquidation": "wait",
    "under_reconstruction": "wait",
}
#: Figures of the line about accounts; the first two are alternatives.
_FIGURES: Final = ("revenue", "gross_profit", "profit", "equity")
_MAX_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning, with the day from which it holds, and what it means."""

    text: str
    since: str | None = None
    detail: str = ""
    #: `bad`, `wait` or `muted`.
    tone: str = "wait"
    #: A text of the register, in its language.
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The top of a company's page."""

    #: The worst first.
    warnings: tuple[Warned, ...]
    #: `26 years`; empty if it is unknown.
    age: str
    directors: tuple[Role, ...]
    #: The owners with the largest share; several if they are equal.
    top_owners: tuple[Owner, ...]
    #: Those of 25 % or more, as computed, and none of the top owners alone.
    ultimate: tuple[UltimateOwner, ...]
    #: The latest accounts on one line; empty without any.
    accounts: str


def summary_of(company: Company, group: Group | None, *, today: date) -> Summary:
    """Returns the summary of a company; `group` is None if it is not known."""
    ultimate = () if group is None else tuple(group.ultimate_owners or ())
    reaching = [one for one in ultimate if group and group.reach(one) in ("yes", "maybe")]
    return Summary(
        warnings=tuple(_warnings(company, group, today)),
        age=_age(company, today),
        directors=tuple(role for role in company.roles or () if role.role == "director"),
        top_owners=_top(company.owners or ()),
        ultimate=tuple(reaching[:_MAX_NAMED]),
        accounts=latest_accounts(company.annual_accounts or ()),
    )


def _warnings(company: Company, group: Group | None, today: date) -> list[Warned]:
    found = []
    if company.status in _GRAVE:
        found.append(
            Warned(
                company.status.replace("_", " ").capitalize(),
                company.status_since or company.ended,
                facts.status(company.status),
                _GRAVE[company.status],
                company.status_text or "",
            )
        )
    dissolution = company.dissolution
    if dissolution:
        found += [
            Warned(
                f"To be dissolved: {_CAUSES.get(one.reason, one.reason).lower()}",
                one.since,
                tone="bad",
            )
            for one in dissolution.reasons
        ]
        if dissolution.warned:
            found.append(Warned("Warned that it may be dissolved", dissolution.warned))
    found += [Warned("Remark", one.since, quoted=one.text) for one in company.remarks]
    if due := late_since(company, today):
        found.append(Warned("Accounts are late", due, "They were due by this day."))
    found += _accounts_warnings(company)
    if company.status != "ended":
        if company.address is None and company.postal_address is None and company.as_of is None:
            found.append(Warned("No address", None, "The register does not know where it is."))
        found += _owner_warnings(group)
    return found


def _accounts_warnings(company: Company) -> list[Warned]:
    newest = next(iter(company.annual_accounts or ()), None)
    if newest is None:
        return []
    remarks = accounts_remarks(newest.model_dump(mode="json"))
    return [Warned(f"Accounts to {day(str(newest.period.end))}: {', '.join(remarks)}")] * bool(
        remarks
    )


def _owner_warnings(group: Group | None) -> list[Warned]:
    """Returns what is doubtful about the companies that own it directly."""
    owners = [one for one in group.companies if one.level == -1] if group else []
    return [
        Warned(f"Its owner {one.name} is {one.status.replace('_', ' ')}")
        if one.status != "ended"
        else Warned(f"Its owner {one.name} has ended")
        for one in owners
        if one.status in _GRAVE
    ]


def late_since(company: Company, today: date) -> str:
    """Returns the day by which accounts were due that are late; empty if none are, or unknown."""
    if company.accounts_state not in ("ok", "none") or company.as_of is not None:
        return ""
    ends = [str(one.period.end) for one in company.annual_accounts or ()]
    due = accounts_due(company.model_dump(mode="json"), max(ends, default=""))
    return due if due and due < today.isoformat() else ""


def _age(company: Company, today: date) -> str:
    began, ended = company.founded or company.registered, company.ended
    try:
        first = date.fromisoformat(began or "")
        last = date.fromisoformat(ended) if ended else company.as_of or today
    except ValueError:
        return ""
    years = last.year - first.year - ((last.month, last.day) < (first.month, first.day))
    if years < 0:
        return ""
    return "less than a year" if years == 0 else f"{years} year{'s'[: years > 1]}"


def _top(owners: Sequence[Owner]) -> tuple[Owner, ...]:
    known = [(Decimal(one.share.min), one) for one in owners if one.share is not None]
    if not known:
        return tuple(owners[:_MAX_NAMED]) if len(owners) <= _MAX_NAMED else ()
    highest = max(share for share, _ in known)
    return tuple(one for share, one in known if share == highest)[:_MAX_NAMED]


def latest_accounts(accounts: Sequence[AnnualAccounts]) -> str:
    """Returns `2025: revenue 12.3 m DKK, profit 1.1 m, equity 4.2 m`; empty without any."""
    newest = next((one for one in accounts if one.scope != "group"), None) or next(
        iter(accounts), None
    )
    if newest is None:
        return ""
    figures = newest.figures
    told = [name for name in _FIGURES if getattr(figures, name) is not None]
    if "revenue" in told and "gross_profit" in told:
        told.remove("gross_profit")
    parts = [
        f"{name.replace('_', ' ')} "
        f"{amount_in_words(getattr(figures, name), None if place else newest.currency)}"
        for place, name in enumerate(told)
    ]
    start, end = newest.period.start, newest.period.end
    is_year = (start.year, start.month, start.day) == (end.year, 1, 1) and (
        (end.month, end.day) == (12, 31)
    )
    label = str(end.year) if is_year else f"to {day(str(end))}"
    return f"{label}: {', '.join(parts) or 'no figures'}"
