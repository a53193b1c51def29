"""Companies as entities of the protocol: the properties to query by and to fetch, and a preview.

The preview is a small page that other applications show in a frame.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any, Final, NamedTuple

from common.contracts.company import Country, Include, Status
from common.contracts.lookup import LookupRequest, Question, SearchType
from common.domain.displayed import displayed

#: The type of every entity.
TYPE: Final = {"id": "company", "name": "Company"}

Company = Mapping[str, Any]
#: `{"str": …}`, `{"int": …}`, `{"date": …}`, or an entity with `id` and `name`.
Value = dict[str, Any]


def lookup_of(country: Country, number: str, *include: Include) -> LookupRequest:
    """Returns the lookup of an entity."""
    question = Question(type=SearchType.VAT, term=number)
    return LookupRequest(country=country, questions=(question,), include=include)


def entity(number: str, name: str, city: str | None, status: str) -> dict[str, str]:
    """Returns an entity, with what tells namesakes apart: `Oslo`, `Oslo, ended`."""
    unusual = "" if status == Status.ACTIVE else status.replace("_", " ")
    description = ", ".join(filter(None, (city, unusual)))
    return {"id": number, "name": name, "description": description}


class Property(NamedTuple):
    """A property, and how its values are read from a company as a lookup gives it."""

    id: str
    name: str
    description: str
    read: Callable[[Company], Iterable[Value]]
    #: The part of a company that has it; None if every lookup has it.
    include: Include | None = None


def _text(*path: str) -> Callable[[Company], Iterable[Value]]:
    def read(company: Company) -> Iterable[Value]:
        found: Any = company
        for name in path:
            found = None if found is None else found.get(name)
        if isinstance(found, bool):
            found = "true" if found else "false"
        return () if found is None else ({"str": found},)

    return read


def _texts(name: str) -> Callable[[Company], Iterable[Value]]:
    return lambda company: [{"str": text} for text in company.get(name) or ()]


def _day(name: str) -> Callable[[Company], Iterable[Value]]:
    # The protocol has no days, only times.
    return lambda company: [{"date": f"{company[name]}T00:00:00Z"}] if company.get(name) else ()


def _employees(company: Company) -> Iterable[Value]:
    employees = company.get("employees") or {}
    count = employees.get("exact") if employees.get("exact") is not None else employees.get("min")
    return () if count is None else ({"int": count},)


def _companies(name: str) -> Callable[[Company], Iterable[Value]]:
    def read(company: Company) -> Iterable[Value]:
        for each in company.get(name) or ():
            is_entity = each.get("vat") is not None
            yield {"id": each["vat"], "name": each["name"]} if is_entity else {"str": each["name"]}

    return read


def _roles(company: Company) -> Iterable[Value]:
    for each in company.get("roles") or ():
        yield {"str": f"{each['role']}: {each['name']}"}


def _identifiers(company: Company) -> Iterable[Value]:
    return [{"str": each["identifier"]} for each in company.get("einvoicing") or ()]


def _accounts(read: Callable[[Company], Iterable[Value]]) -> Callable[[Company], Iterable[Value]]:
    """Returns the reading of the newest accounts: of the company itself, else of its group."""

    def read_newest(company: Company) -> Iterable[Value]:
        accounts: Sequence[Company] = company.get("annual_accounts") or ()
        ends = [one["period"]["end"] for one in accounts]
        newest = [one for one in accounts if one["period"]["end"] == max(ends)]
        return read(min(newest, key=_preference)) if newest else ()

    return read_newest


#: Figures of a company are preferred, as by the filters of a list.
_SCOPES: Final = ("company", "unknown", "group")


def _preference(accounts: Company) -> int:
    return _SCOPES.index(accounts["scope"])


def _of_accounts(
    id_: str, name: str, description: str, read: Callable[[Company], Iterable[Value]]
) -> Property:
    return Property(id_, name, description, _accounts(read), Include.ANNUAL_ACCOUNTS)


#: In the order in which they are proposed.
PROPERTIES: Final = {
    each.id: each
    for each in (
        Property("name", "Name", "the current name", _text("name")),
        Property("number", "Registration number", "CVR or organisation number", _text("vat")),
        Property("address", "Address", "the business address, on a line", _text("address", "text")),
        Property("street", "Street", "street and house number", _text("address", "street")),
        Property("postal_code", "Postal code", "four digits", _text("address", "postal_code")),
        Property("city", "City", "the postal town", _text("address", "city")),
        Property("municipality", "Municipality", "by name", _text("address", "municipality")),
        Property(
            "municipality_code",
            "Municipality, code",
            "of the register",
            _text("address", "municipality_code"),
        ),
        Property("phone", "Phone", "the national number", _text("phone")),
        Property("email", "E-mail", "the address that is registered", _text("email")),
        Property("website", "Website", "as it is registered", _text("website")),
        Property("status", "Status", "active, ended or between", _text("status")),
        Property("status_since", "Status since", "a day", _day("status_since")),
        Property("form_short", "Legal form, short", "as in ApS, A/S, AS", _text("form", "short")),
        Property("form", "Legal form", "in words", _text("form", "description")),
        Property("form_code", "Legal form, code", "of the register", _text("form", "code")),
        Property("industry", "Industry", "in words", _text("industry", "description")),
        Property("industry_code", "Industry, code", "of the register", _text("industry", "code")),
        Property("employees", "Employees", "exact, or the lower end of a class", _employees),
        Property("founded", "Founded", "a day", _day("founded")),
        Property("registered", "Registered", "the day it was entered", _day("registered")),
        Property("ended", "Ended", "a day", _day("ended")),
        Property("capital", "Capital", "an amount", _text("capital", "amount")),
        Property("currency", "Currency", "of the capital", _text("capital", "currency")),
        Property("purpose", "Purpose", "as it is registered", _text("purpose")),
        Property("activity", "Activity", "Norway only: what it says it does", _text("activity")),
        Property("signing_rule", "Signing rule", "Denmark only", _text("signing_rule")),
        Property("sector", "Sector", "Norway only, in words", _text("sector", "description")),
        Property("trade_names", "Trade names", "other current names", _texts("trade_names")),
        Property("former_names", "Former names", "names until a change", _texts("former_names")),
        Property("vat_registered", "Registered for VAT", "Norway only", _text("vat_registered")),
        Property(
            "advertising_protected",
            "Protected against advertising",
            "Denmark only: the law forbids to write to them",
            _text("advertising_protected"),
        ),
        Property("parent", "Parent", "number of the entity it is a part of", _text("parent")),
        Property("owners", "Owners", "and partners, by name", _companies("owners"), Include.OWNERS),
        Property(
            "subsidiaries",
            "Subsidiaries",
            "companies that it owns",
            _companies("subsidiaries"),
            Include.SUBSIDIARIES,
        ),
        Property("roles", "Roles", "management, board and auditor", _roles, Include.ROLES),
        Property(
            "einvoicing",
            "E-invoicing identifiers",
            "under which it receives documents",
            _identifiers,
            Include.EINVOICING,
        ),
        _of_accounts(
            "accounts_end",
            "Accounts until",
            "last day of the newest",
            lambda accounts: _day("end")(accounts["period"]),
        ),
        *(
            _of_accounts(name, name.capitalize(), "of the newest accounts", _text("figures", name))
            for name in ("revenue", "profit", "equity")
        ),
        _of_accounts(
            "accounts_employees",
            "Employees, in the accounts",
            "Denmark only: average of the newest",
            _text("figures", "employees"),
        ),
        _of_accounts("accounts_currency", "Currency of the accounts", "code", _text("currency")),
        _of_accounts("accounts_scope", "Scope of the accounts", "company or group", _text("scope")),
    )
}


def named(properties: Iterable[Property]) -> list[dict[str, str]]:
    """Returns properties as clients list them."""
    return [{"id": one.id, "name": one.name, "description": one.description} for one in properties]


def suggested(prefix: str) -> list[dict[str, str]]:
    """Returns the properties of which the id or a word of the name begins with the text."""
    text = prefix.strip().lower()
    return named(
        one
        for one in PROPERTIES.values()
        if any(word.startswith(text) for word in (one.id, *one.name.lower().split()))
    )


_SHOWN: Final = (
    *("number", "status", "form", "address", "industry", "employees"),
    *("founded", "ended", "phone", "website"),
)
_STYLE: Final = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:12px;color:#1b1f24;background:#fff}"
    "h1{font-size:17px;margin:0 0 8px}dl{display:grid;grid-template-columns:auto 1fr;"
    "gap:2px 12px;margin:0}dt{color:#57606a}dd{margin:0;overflow-wrap:anywhere}a{color:#0550ae}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "dt{color:#9198a1}a{color:#4493f8}}"
)
_DIGEST: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()

#: The page loads nothing but its own style, and any site may frame it, as the protocol requires.
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors *"
)


def preview(company: Company, view: str) -> str:
    """Returns the page of a company; `view` is the address of its own page, or empty."""
    name = escape(displayed(company["name"]))
    heading = (
        f'<a href="{escape(view)}" target="_blank" rel="noopener noreferrer">{name}</a>'
        if view
        else name
    )
    facts = "".join(
        f"<dt>{escape(PROPERTIES[each].name)}</dt><dd>{escape(displayed(text))}</dd>"
        for each in _SHOWN
        if (text := _joined(PROPERTIES[each].read(company)))
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{heading}</h1><dl>{facts}</dl></body></html>"
    )


def _joined(values: Iterable[Value]) -> str:
    # A time is shown as its day.
    return ", ".join(str(next(iter(value.values()))).removesuffix("T00:00:00Z") for value in values)
