"""Changes of companies in words: one entry for each kind of change.

Portal, command line, e-mails and feeds show changes by it. It takes events and entries of a history
as the service sends them, needs nothing but the standard library, and stands in two packages, whose
files are equal (ADR 0108).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple

#: Characters of a value; of a longer text the part that differs is shown.
MAX_VALUE: Final = 300
#: Lines about an event; the last says how many more there are.
MAX_LINES: Final = 40
#: Fields that a heading names.
_MAX_HEADED: Final = 3
#: Characters before the first difference of two long texts.
_CONTEXT: Final = 60

_Object = Mapping[str, Any]


class Line(NamedTuple):
    """A change in words; without `old` it is an addition, and without `new` a removal."""

    #: The field of the change, without the path inside it.
    field: str
    label: str
    old: str | None = None
    new: str | None = None

    @property
    def text(self) -> str:
        """The line as a text: `Name: Prøven ApS → Prøvefabrikken ApS`."""
        values = " → ".join(one for one in (self.old, self.new) if one is not None)
        return f"{self.label}: {values}" if values else self.label


def day(text: str) -> str:
    """Returns `2026-03-02` as `2 Mar 2026`; another text as it is."""
    try:
        given = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{given.day} {_MONTHS[given.month - 1]} {given.year}"


def day_of_year(text: str) -> str:
    """Returns `03-02` as `2 Mar`; another text as it is."""
    return day(f"2000-{text}").removesuffix(" 2000") if _DAY_OF_YEAR.fullmatch(text) else text


_DAY_OF_YEAR: Final = re.compile(r"(?:0[1-9]|1[0-2])-[0-3][0-9]")

_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)


# Values


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _words(value: Any) -> str:
    return str(value).replace("_", " ")


def _object(value: _Object) -> str:
    """Returns an object by the member that describes it, else by all of them."""
    for name in ("text", "description", "name", "identifier", "code"):
        if value.get(name):
            return str(value[name])
    known = [f"{_words(name)} {_plain(part)}" for name, part in value.items() if part is not None]
    return ", ".join(known) or "none"


def _named(value: _Object) -> str:
    """Returns a person or company by its name and number."""
    name, number = value.get("name"), value.get("vat")
    return f"{name} ({number})" if name and number else str(name or number)


def _percent(share: _Object | None) -> str:
    if share is None:
        return "unknown"
    low, high = share.get("min"), share.get("max")
    return f"{low} %" if low == high else f"{low}–{high} %"


def _owner(owner: _Object) -> str:
    share, votes = owner.get("share"), owner.get("votes")
    role = owner.get("role")
    parts = [
        _named(owner),
        "" if role in (None, "owner") else _words(role),
        "" if share is None else _percent(share),
        "" if votes is None or votes == share else f"{_percent(votes)} of the votes",
    ]
    return ", ".join(filter(None, parts))


def _count(count: _Object) -> str:
    """Returns a number of employees, or its bounds."""
    exact, low, high = (count.get(name) for name in ("exact", "min", "max"))
    if exact is not None:
        return _plain(exact)
    if low is None:
        return "unknown"
    return f"{_plain(low)} or more" if high is None else f"{_plain(low)}–{_plain(high)}"


def _money(capital: _Object) -> str:
    whole, point, rest = str(capital.get("amount")).partition(".")
    amount = f"{int(whole):,}" if whole.isdecimal() else whole
    return f"{amount}{point}{rest} {capital.get('currency') or ''}".rstrip()


def _year(year: _Object) -> str:
    """Returns the financial year and its special periods; of a change, those that are known."""
    periods = ((f"{name} period", year.get(name)) for name in ("first", "adjusted"))
    start, end = (day_of_year(year.get(name) or "") for name in ("start", "end"))
    parts = [
        f"{start} to {end}" if start and end else "",
        *(f"{name} {_period(each)}" for name, each in periods if each),
    ]
    return ", ".join(filter(None, parts)) or "none"


def _period(period: _Object) -> str:
    start, end = (day(period.get(name) or "") for name in ("start", "end"))
    return f"{start} to {end}" if start and end else f"from {start}" if start else f"to {end}"


#: A greater amount has one decimal and its unit; a smaller one has all its digits.
_UNITS: Final = ((Decimal(10**9), "bn"), (Decimal(10**6), "m"))
_LEAST_ROUNDED: Final = Decimal(100_000)


def amount_in_words(amount: str | None, currency: str | None = None) -> str:
    """Returns an amount as people say it: `12.3 m NOK`, `−0.4 m`, `63,109`; `not told` for None."""
    if amount is None:
        return "not told"
    value = Decimal(amount)
    size = abs(value)
    text = f"{size:,f}"
    if size >= _LEAST_ROUNDED:
        # Rounded first: 999,960,000 is 1.0 bn.
        unit, name = next(
            ((unit, name) for unit, name in _UNITS if round(size / unit, 1) >= 1), _UNITS[-1]
        )
        text = f"{size / unit:,.1f} {name}"
    return f"{'−' * (value < 0)}{text}{f' {currency}' if currency else ''}"


def _growth(old: str | None, new: str) -> str:
    """Returns ` (+8 %)`; empty where a share says nothing, as of a loss."""
    before, now = Decimal(old or 0), Decimal(new)
    if before <= 0 or now < 0:
        return ""
    percent = round((now - before) / before * 100)
    sign = "−" if percent < 0 else "+"
    return f" ({sign}{abs(percent)} %)" if abs(percent) < _MAX_GROWTH else ""


_MAX_GROWTH: Final = 1_000


def _accounts(accounts: Any) -> str:
    """Returns the last day of a period, or the figures of one that changed."""
    if not isinstance(accounts, Mapping):
        return day(accounts)
    figures = accounts.get("figures") or {}
    return ", ".join(f"{_words(name)} {amount_in_words(each)}" for name, each in figures.items())


def _company(key: Any) -> str:
    country, _, number = str(key).partition(":")
    return f"{country.upper()} {number}" if number else str(key)


#: Further registers of Norway, by their codes.
REGISTERS: Final[Mapping[str, str]] = {
    "business_enterprises": "Register of Business Enterprises",
    "vat": "VAT Register",
    "voluntary_organisations": "Register of Voluntary Organisations",
    "foundations": "Register of Foundations",
    "political_parties": "Register of Political Parties",
}


def _since(entry: _Object) -> str:
    register = entry.get("register")
    name = REGISTERS.get(str(register)) or _words(register)
    return f"{name}, since {day(entry['since'])}" if entry.get("since") else name


def _merger(entry: _Object) -> str:
    return ", ".join(filter(None, (_named(entry), day(entry.get("date") or ""))))


def _documents(types: Sequence[Any] | None) -> str:
    number = len(types or ())
    return f"{number:,} document type{'s'[: number != 1]}"


# Kinds


def _by(*names: str) -> Callable[[Any], Any]:
    """Returns the identity of an entry by the first of these members that it has."""

    def identity(entry: Any) -> Any:
        if not isinstance(entry, Mapping):
            return entry
        return next(((name, entry[name]) for name in names if entry.get(name)), repr(entry))

    return identity


def _by_role(entry: _Object) -> Any:
    return entry.get("role"), _by("vat", "name")(entry)


def _of(noun: str) -> Callable[[Any], str]:
    return lambda _entry: noun


def _role(entry: _Object) -> str:
    return _words(entry.get("role") or entry.get("role_text") or "role")


def _into(entry: _Object) -> str:
    return _words(entry.get("type") or "merger")


def _voluntary(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _plain(value)
    return "; ".join(map(str, value.get("activities") or ())) or day(value.get("since") or "")


def _dissolution(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _plain(value)
    given = value.get("reasons") or ()
    reasons = [f"{_words(one['reason'])} ({day(one['since'])})" for one in given]
    days = [f"{name} {day(on)}" for name in ("warned", "resumed") if (on := value.get(name))]
    return ", ".join((*reasons, *days)) or _plain(None)


_ENTRY: Final = _of("entry")
_IDENTITY: Final = _by("vat", "identifier", "number", "code", "name")


@dataclass(frozen=True, slots=True)
class Kind:
    """How one field of a company or of a production unit is shown."""

    label: str
    #: Of a value that is no list, or of an entry of a list.
    shown: Callable[[Any], str] = _plain


@dataclass(frozen=True, slots=True)
class Entries(Kind):
    """A list, of which each entry comes, goes or changes."""

    shown: Callable[[Any], str] = _plain
    #: The noun of an entry.
    noun: Callable[[Any], str] = _ENTRY
    #: Two entries of one identity are one that changed.
    identity: Callable[[Any], Any] = _IDENTITY
    #: Members that are shown of such an entry, with their labels; others only as `changed`.
    members: Mapping[str, Kind] = field(default_factory=dict)
    came: str = "New {}"
    went: str = "Removed {}"


_ADDRESS: Final = ("address", "postal_address")
_SINCE: Final = Kind("since", day)

#: By field, in the order in which a heading names them.
KINDS: Final[Mapping[str, Kind]] = {
    "status": Kind("Status", _words),
    "status_text": Kind("The register’s word for the status"),
    "status_since": Kind("Status since", day),
    "company": Kind("Moved", _company),
    "name": Kind("Name"),
    "owners": Entries(
        "Owners",
        _owner,
        _of("owner"),
        went="No longer an {}",
        members={
            "name": Kind("name"),
            "share": Kind("share", _percent),
            "votes": Kind("votes", _percent),
            "role": Kind("role", _words),
            "since": _SINCE,
            "reported_on": Kind("reported", day),
            "share_class": Kind("class of shares"),
            "conditions": Kind("conditions"),
            "contribution": Kind("contribution", _money),
            "country": Kind("country"),
        },
    ),
    "roles": Entries(
        "Roles",
        _named,
        _role,
        _by_role,
        went="No longer {}",
        members={
            "role_text": Kind("role"),
            "since": _SINCE,
            "elected_by": Kind("elected by", _words),
            "elected_by_text": Kind("elected by"),
            "approval": Kind("approval"),
        },
    ),
    "former_names": Entries("Former names", noun=_of("former name")),
    "trade_names": Entries("Trade names", noun=_of("trade name")),
    "form": Kind("Legal form", _object),
    "address": Kind("Address", _object),
    "postal_address": Kind("Postal address", _object),
    "phones": Entries("Phone numbers", noun=_of("phone number")),
    "phone": Kind("Phone"),
    "fax": Kind("Fax"),
    "email": Kind("E-mail"),
    "website": Kind("Website"),
    "industry": Kind("Industry", _object),
    "secondary_industries": Entries(
        "Secondary industries",
        _object,
        _of("secondary industry"),
        members={"description": Kind("text")},
    ),
    "employees": Kind("Employees", _count),
    "founded": Kind("Founded", day),
    "registered": Kind("Registered", day),
    "started": Kind("Started", day),
    "ended": Kind("Ended", day),
    "capital": Kind("Capital", _money),
    "shares": Kind("Number of shares"),
    "purpose": Kind("Purpose"),
    "activity": Kind("Activity"),
    "signing_rule": Kind("Signing rule"),
    "audit_waived": Kind("Audit waived"),
    "financial_year": Kind("Financial year", _year),
    "articles_dated": Kind("Articles dated", day),
    "listed": Kind("Listed on an exchange"),
    "founders": Entries("Founders", _named, _of("founder")),
    "merged_into": Entries("Mergers", _merger, _into, came="{} into", went="No {} into"),
    "merged_from": Entries("Mergers", _merger, _into, came="{} of", went="No {} of"),
    "vat_registered": Kind("Registered for VAT"),
    "vat_registered_since": Kind("VAT since", day),
    "voluntary_vat": Kind("Voluntary VAT", _voluntary),
    "dissolution": Kind("Dissolution", _dissolution),
    "minor_owners": Kind("Owners below 5 %"),
    "state_owned": Kind("Owned by the state"),
    "aml_obliged": Kind("Duties against money laundering"),
    "social_enterprise": Kind("Social-economic enterprise"),
    "owner_changed": Kind("New owner", day),
    "registrations": Entries(
        "Registers",
        _since,
        _of("register"),
        _by("register"),
        came="Entered in a {}",
        went="Left a {}",
        members={"since": _SINCE},
    ),
    "sector": Kind("Sector", _object),
    "in_group": Kind("In a group"),
    "language": Kind("Language"),
    "home_register": Kind("Home register", _object),
    "remarks": Entries("Remarks", _object, _of("remark"), _by("text")),
    "accounts": Kind("Last accounts"),
    "annual_accounts": Kind("Annual accounts", _accounts),
    "parent": Kind("Part of"),
    "main": Kind("Main unit"),
    "advertising_protected": Kind("Protected from advertising"),
    "einvoicing": Entries(
        "E-invoicing",
        _object,
        _of("e-invoicing identifier"),
        _by("identifier"),
        members={"document_types": Kind("documents", _documents)},
    ),
}

#: Fields that say nothing new if another changed as well.
_REPEATING: Final = {"phone": "phones"}
#: A member of an entry that is shown only where it differs from another one.
_EQUAL: Final = {"votes": "share"}


def kind_of(field: str) -> Kind:
    """Returns the kind of a field; a new one in the words of its name."""
    return KINDS.get(field) or Kind(_words(field).capitalize(), _any_entry)


_PLACES: Final = {field: place for place, field in enumerate(KINDS)}


def _place(field: str) -> int:
    return _PLACES.get(field, len(KINDS))


# Lines


def lines_of(
    changes: Iterable[_Object], after: _Object | None = None, accounts: _Object | None = None
) -> list[Line]:
    """Returns the lines about changes of a company or of a unit.

    `after` is the company or unit after the changes, if it is known: of an object whose parts
    changed, it has the parts that did not. `accounts` are those that were published.
    """
    changes = list(changes)
    if accounts:
        # Accounts of another shape, as a later release may send, are shown as other changes are.
        with suppress(AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
            return _accounts_lines(accounts, changes)
    groups: dict[str, list[_Object]] = {}
    for change in changes:
        groups.setdefault(change["field"].partition(".")[0], []).append(change)
    lines = [
        line
        for field in sorted(groups, key=_place)
        if _REPEATING.get(field) not in groups
        for line in _lines(field, groups[field], (after or {}).get(field))
    ]
    if len(lines) > MAX_LINES:
        more = len(lines) - MAX_LINES + 1
        lines = [*lines[: MAX_LINES - 1], Line("", f"And {more:,} more changes")]
    return lines


def _lines(field: str, changes: Sequence[_Object], after: Any) -> Iterator[Line]:
    kind = kind_of(field)
    parts = [change for change in changes if change["field"] != field]
    if parts:
        yield from _parts(field, kind, parts, after)
    for change in changes:
        old, new = change.get("old"), change.get("new")
        if change in parts:
            continue
        if isinstance(old, list) or isinstance(new, list):
            yield from _entries(field, kind, change)
        else:
            yield _line(field, kind.label, kind.shown, old, new)


def _line(field: str, label: str, shown: Callable[[Any], str], old: Any, new: Any) -> Line:
    before, now = ("none" if value is None else _shown(shown, value) for value in (old, new))
    return Line(field, label, *_around(before, now))


def _shown(shown: Callable[[Any], str], value: Any) -> str:
    """Returns a value in words; one of another type than is known, as a later release may send."""
    try:
        return " ".join(shown(value).split())
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        return " ".join(_plain(value).split())


def _parts(field: str, kind: Kind, changes: Sequence[_Object], after: Any) -> Iterator[Line]:
    """Yields the line about an object whose parts changed; of each part, if it shows none."""
    old, new = (dict(after) if isinstance(after, Mapping) else {} for _ in range(2))
    for change in changes:
        path = change["field"].split(".")[1:]
        _set(old, path, change.get("old"))
        _set(new, path, change.get("new"))
    whole = _line(field, kind.label, kind.shown, old, new)
    if whole.old != whole.new:
        yield whole
        return
    for change in changes:
        part = _words(change["field"].partition(".")[2].replace(".", ", "))
        shown = day if part.endswith("as of") else _any_entry
        yield _line(field, f"{kind.label}, {part}", shown, change.get("old"), change.get("new"))


def _set(target: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *parents, name = path
    for parent in parents:
        target[parent] = dict(target.get(parent) or {})
        target = target[parent]
    target[name] = value


def _entries(field: str, kind: Kind, change: _Object) -> Iterator[Line]:
    if not isinstance(kind, Entries):
        kind = Entries(kind.label, _any_entry)
    before, after = change.get("old") or [], change.get("new") or []
    if change.get("old") is None and not change.get("partial"):
        # Of a list that was unknown, or of which a person has been left out, nothing is new.
        for entry in after:
            yield Line(field, _headed(_noun(kind, entry)), None, _cut(_shown(kind.shown, entry)))
        return
    gone, come = _without(before, after), _without(after, before)
    if not gone and not come:
        # No list and an empty one differ.
        yield Line(field, kind.label, None, "in another order" if after else "none")
    # Two people may have one name.
    earlier: dict[str, list[Any]] = {}
    for entry in gone:
        earlier.setdefault(_identity(kind, entry), []).append(entry)
    for entry in come:
        same = earlier.get(_identity(kind, entry))
        if not same:
            label = kind.came.format(_noun(kind, entry))
            yield Line(field, _headed(label), None, _cut(_shown(kind.shown, entry)))
        else:
            yield from _changed(field, kind, same.pop(0), entry)
    for entry in chain.from_iterable(earlier.values()):
        label = kind.went.format(_noun(kind, entry))
        yield Line(field, _headed(label), _cut(_shown(kind.shown, entry)))


def _changed(field: str, kind: Entries, old: Any, new: Any) -> Iterator[Line]:
    name = f"{_headed(_noun(kind, new))} {_cut(_shown(_object, new))}"
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        yield Line(field, name)
        return
    known = [
        one
        for one in kind.members
        if old.get(one) != new.get(one)
        and not all(one in _EQUAL and each.get(one) == each.get(_EQUAL[one]) for each in (old, new))
    ]
    for member in known:
        part = kind.members[member]
        label = f"{name}, {part.label}"
        yield _line(field, label, part.shown, old.get(member), new.get(member))
    if not known:
        yield Line(field, name, None, "changed")


def _any_entry(entry: Any) -> str:
    return _object(entry) if isinstance(entry, Mapping) else _plain(entry)


def _identity(kind: Entries, entry: Any) -> str:
    return repr(kind.identity(entry) if isinstance(entry, Mapping) else entry)


def _noun(kind: Entries, entry: Any) -> str:
    return kind.noun(entry if isinstance(entry, Mapping) else {})


def _without(entries: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    known = {repr(entry) for entry in others}
    return [entry for entry in entries if repr(entry) not in known]


def _headed(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def _around(old: str, new: str) -> tuple[str, str]:
    """Returns two texts, of long ones the part from shortly before the first difference."""
    if max(len(old), len(new)) <= MAX_VALUE:
        return old, new
    pairs = enumerate(zip(old, new, strict=False))
    first = next((place for place, (one, other) in pairs if one != other), 0)
    begin = max(0, first - _CONTEXT)
    mark = "…" if begin else ""
    return f"{mark}{_cut(old[begin:])}", f"{mark}{_cut(new[begin:])}"


# Headings

#: By type of event; a changed status or company has a heading of its own.
HEADINGS: Final = {
    "company.created": "New company",
    "company.updated": "Company changed",
    "company.status_changed": "Status changed",
    "company.removed": "Company removed",
    "company.accounts_published": "Annual accounts published",
    "owners.changed": "Owners changed",
    "production_unit.created": "New production unit",
    "production_unit.updated": "Production unit changed",
    "production_unit.ended": "Production unit ended",
    "einvoicing.changed": "E-invoicing changed",
    "webhook.test": "Test of a webhook",
    "webhook.failing": "A webhook fails",
    "webhook.disabled": "A webhook was disabled",
}


def heading_of(type_: str, changes: Sequence[_Object] = ()) -> str:
    """Returns the heading of an event: `Bankrupt`, `Name and address changed`."""
    by_field = {change["field"]: change for change in changes}
    if type_ == "company.status_changed" and by_field.get("status", {}).get("new"):
        change = by_field["status"]
        again = " again" if change["new"] == "active" and change.get("old") else ""
        return f"{_headed(_words(change['new']))}{again}"
    if type_ == "company.accounts_published" and any(
        each.startswith(_FIGURES) for each in by_field
    ):
        return HEADINGS[type_] if "annual_accounts" in by_field else "Annual accounts corrected"
    if type_ == "production_unit.updated" and "company" in by_field:
        return "Production unit moved"
    if type_ != "company.updated" or not changes:
        return HEADINGS.get(type_) or _headed(type_.replace(".", " ").replace("_", " "))
    fields = dict.fromkeys(each.partition(".")[0] for each in by_field)
    told = [field for field in fields if _REPEATING.get(field) not in fields]
    labels = dict.fromkeys(kind_of(field).label for field in sorted(told, key=_place))
    return f"{_listed(list(labels))} changed"


def _listed(labels: Sequence[str]) -> str:
    names = [labels[0], *(label[0].lower() + label[1:] for label in labels[1:])]
    if len(names) > _MAX_HEADED:
        names = [*names[: _MAX_HEADED - 1], f"{len(names) - _MAX_HEADED + 1} other fields"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Annual accounts

_SCOPES: Final = {"group": "Group accounts", "unknown": "Accounts of company or group"}
_OPINIONS: Final = {
    "qualified": "qualified opinion of the auditor",
    "adverse": "adverse opinion of the auditor",
    "disclaimer": "disclaimer of opinion by the auditor",
}


def accounts_heading(accounts: _Object) -> str:
    """Returns `Accounts 2025`; of no calendar year `Group accounts to 30 Jun 2025`."""
    period = accounts.get("period") or {}
    start, end = (str(period.get(name)) for name in ("start", "end"))
    is_year = (start[:4], start[4:], end[4:]) == (end[:4], "-01-01", "-12-31")
    name = _SCOPES.get(str(accounts.get("scope")), "Accounts")
    return f"{name} {end[:4] if is_year else f'to {day(end)}'}"


def accounts_remarks(accounts: _Object) -> list[str]:
    """Returns what a reader should know first: the auditor's remarks, and a liquidation."""
    audit = accounts.get("audit") or {}
    return [
        *filter(None, [_OPINIONS.get(str(audit.get("opinion")))]),
        *["doubt about going concern"] * bool(audit.get("going_concern")),
        *["emphasis of matter by the auditor"] * bool(audit.get("emphasis")),
        *["auditor’s report not delivered"] * (audit.get("type") == "missing"),
        *["on liquidation"] * bool(accounts.get("liquidation")),
    ]


def _accounts_lines(accounts: _Object, changes: Sequence[_Object]) -> list[Line]:
    """Returns the line about accounts that were published; of a correction, what it changed."""
    heading, currency = accounts_heading(accounts), accounts.get("currency")
    old = {each["field"].rpartition(".")[2]: each.get("old") for each in changes}
    if accounts.get("correction"):
        changed = [each for each in changes if each["field"].startswith(_FIGURES)]
        return [
            Line(
                "annual_accounts",
                f"{heading}, {_words(each['field'].removeprefix(_FIGURES))}",
                *(_figure(each, value, currency) for value in ("old", "new")),
            )
            for each in changed
        ] or [Line("annual_accounts", heading, None, "the same figures")]
    figures = accounts.get("figures") or {}
    sales = "gross_profit" if figures.get("revenue") is None else "revenue"
    told = [name for name in (sales, "profit") if figures.get(name) is not None]
    parts = [
        f"{_words(name)} {amount_in_words(figures[name], currency if name == told[0] else None)}"
        f"{_growth(old.get(name), figures[name])}"
        for name in told
    ]
    shown = ", ".join([*(parts or ["no figures"]), *accounts_remarks(accounts)])
    return [Line("annual_accounts", heading, None, shown)]


_FIGURES: Final = "annual_accounts.figures."


def _figure(change: _Object, value: str, currency: str | None) -> str:
    is_count = change["field"] == f"{_FIGURES}employees"
    return amount_in_words(change.get(value), None if is_count else currency)


# Events


class EventWords(NamedTuple):
    """An event of a company in words."""

    #: The company's name, or its number if the event has no name.
    company: str
    heading: str
    #: The production unit that the event is about, or empty.
    unit: str
    lines: Sequence[Line]
    #: The same on one line.
    brief: "Brief"

    @property
    def title(self) -> str:
        """The event on one line: `Prøvefabrikken ApS: bankrupt`."""
        return f"{self.company}: {self.heading[0].lower()}{self.heading[1:]}"


def in_words(event: _Object) -> EventWords:
    """Returns a public event of a company in words."""
    data = event.get("data") or {}
    company, unit = data.get("company") or {}, data.get("production_unit") or {}
    changes = data.get("changes") or ()
    number = f"{str(event.get('country')).upper()} {event.get('vat')}"
    names = (str(unit[name]) for name in ("number", "name") if unit.get(name))
    named = f"Production unit {', '.join(names)}"
    return EventWords(
        " ".join(str(company.get("name") or number).split()),
        heading_of(event["type"], changes),
        " ".join(named.split()) if unit else "",
        lines_of(changes, unit or company, data.get("accounts")),
        brief_of(event["type"], changes, unit or company, data.get("accounts")),
    )


# One line


#: Fields of a status beside the status itself.
_OF_STATUS: Final = frozenset({"status", "status_text"})
#: Types whose lines say what happened.
_LINES_TELL: Final = frozenset(
    {
        *("company.updated", "company.status_changed", "company.accounts_published"),
        *("owners.changed", "production_unit.updated", "einvoicing.changed"),
    }
)


#: In the place of a value that is null.
_NOTHING: Final = "none"


class Brief(NamedTuple):
    """What happened, for one line."""

    #: Such as `New company` or `Founded as Prøven ApS`; empty where the lines tell it.
    lead: str
    lines: Sequence[Line]

    @property
    def text(self) -> str:
        """`Name: Prøven ApS → Prøvefabrikken ApS · Capital: 125,000 DKK`."""
        return " · ".join(filter(None, (self.lead, *(line.text for line in self.lines))))


def brief_of(
    type_: str,
    changes: Iterable[_Object],
    after: _Object | None = None,
    accounts: _Object | None = None,
) -> Brief:
    """Returns an event, or a change that was seen, for one line; see `lines_of`."""
    changes = list(changes)
    lines = _joined(_without_repetition(lines_of(changes, after, accounts)))
    return Brief("" if lines and type_ in _LINES_TELL else heading_of(type_, changes), lines)


def _without_repetition(lines: Sequence[Line]) -> Sequence[Line]:
    """Returns the lines without what another one tells, each value that was unknown left out."""
    told = {line.field: line for line in lines}
    name, status, since = (told.get(field) for field in ("name", "status", "status_since"))
    ended = told.get("ended")
    repeated = []
    if status:
        repeated.append(told.get("status_text"))
    if since and ended and since.new == ended.new:
        repeated.append(ended)
    if name:
        repeated += [
            line for line in lines if line.field == "former_names" and line.new == name.old
        ]
    shown = [line for line in lines if line not in repeated]
    return [_since_when(line, is_told=status is not None) for line in shown]


def _since_when(line: Line, *, is_told: bool) -> Line:
    if line.field == "status_since" and is_told:
        return line._replace(label="Since", old=None)
    return line._replace(old=None) if line.old == _NOTHING and line.new is not None else line


def _joined(lines: Iterable[Line]) -> list[Line]:
    """Returns the lines with entries that came, or went, under one label on one line."""
    found: dict[Any, Line] = {}
    for line in lines:
        is_one = (line.old is None) != (line.new is None)
        key = (line.field, line.label, line.old is None) if is_one else len(found)
        before = found.get(key)
        if before is None:
            found[key] = line
        elif line.old is None:
            found[key] = before._replace(new=f"{before.new}; {line.new}")
        else:
            found[key] = before._replace(old=f"{before.old}; {line.old}")
    return list(found.values())


def brief_of_day(on: str, changes: Iterable[_Object]) -> Brief:
    """Returns what a register dates to one day, `YYYY-MM-DD`, for one line.

    The day itself is left out of what is said, since all of it happened then.
    """
    lines = _without_repetition(lines_of(changes))
    told = {line.field: line for line in lines}
    is_founded = "founded" in told
    lead, said = "", frozenset[str]()
    if is_founded:
        lead, said = _foundation(told), _TOLD_BY_FOUNDATION
    shown = (_of_day(on, line, is_first=is_founded) for line in lines if line.field not in said)
    return Brief(lead, _joined(shown))


_TOLD_BY_FOUNDATION: Final = frozenset(
    {*_OF_STATUS, "founded", "name", "address", "registered", "status_since", "articles_dated"}
)


def _foundation(told: Mapping[str, Line]) -> str:
    name, address = (told.get(field) for field in ("name", "address"))
    return (
        "Founded" + (f" as {name.new}" if name else "") + (f" at {address.new}" if address else "")
    )


def _of_day(on: str, line: Line, *, is_first: bool) -> Line:
    label, old, new = line.label, line.old, line.new
    if is_first and label.startswith("New "):
        label = _headed(label.removeprefix("New "))
    if old is None and new is not None:
        if new in (day(on), _plain(value=True)):
            new = None
        else:
            new = new.removesuffix(f", {day(on)}").removesuffix(f", since {day(on)}")
    return Line(line.field, label, old, new)
