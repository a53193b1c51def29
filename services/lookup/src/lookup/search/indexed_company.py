"""A company in the index: its names, its places, its rank, its facts; and as a search's result."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import IntEnum, IntFlag
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country, Status
from common.domain.accounts_due import accounts_due
from common.domain.countries import FORMATS
from common.domain.known_values import digits, municipality_key
from common.domain.written import read_contacts
from register_store.documents import FOREIGN_FORM, Rank, day_of, home_key, known_employees

INDUSTRY, MUNICIPALITY, CITY, POSTAL_CODE = "industry", "municipality", "city", "postal_code"
MUNICIPALITY_CODE = "municipality_code"
FORM, STATUS, EMPLOYEES, FOUNDED, ENDED = "form", "status", "employees", "founded", "ended"
ACCOUNTS_YEAR, ACCOUNTS_DUE = "accounts_year", "accounts_due"
STATUS_SINCE = "status_since"
FIELDS = (
    INDUSTRY, MUNICIPALITY, MUNICIPALITY_CODE, CITY, POSTAL_CODE, FORM, STATUS, EMPLOYEES, FOUNDED,
    ENDED, ACCOUNTS_YEAR, ACCOUNTS_DUE, STATUS_SINCE,
)  # fmt: skip
REVENUE, EQUITY = "revenue", "equity"
#: Of which nearly each company has another value, so that they have no table of values.
AMOUNTS = (REVENUE, EQUITY)
#: The amount that is not told; others are at most `MAX_AMOUNT`, with either sign.
NO_AMOUNT, MAX_AMOUNT = -(1 << 63), 10**18

#: Bytes of a name that decide its place.
_MAX_NAME = 120
_OWNED_BY_A_COMPANY = b'"type":"company"'
#: The order of the Danish and Norwegian alphabets; Swedish letters are sorted like theirs.
_LETTERS = str.maketrans(
    {"æ": "{", "ä": "{", "ø": "|", "ö": "|", "å": "}", "ü": "y", "ð": "d", "þ": "th", "ß": "ss"}
)


#: Greenland's and Svalbard's postal codes are Danish and Norwegian ones.
_HOMES = {"GL": "dk", "SJ": "no"}


class Flag(IntFlag):
    """Yes-or-no facts of a company, and whether its register states them."""

    PHONE = 1
    EMAIL = 2
    WEBSITE = 4
    EINVOICING = 8
    VAT_REGISTERED = 16
    NOT_VAT_REGISTERED = 32
    PROTECTED = 64
    NOT_PROTECTED = 128


class Facts(NamedTuple):
    """A company in the arrays."""

    number: int
    #: The key of the order by name.
    name: bytes
    #: The values of `FIELDS`; empty where the register does not say.
    values: tuple[str, ...]
    flags: int
    #: The numbers of the companies of its register that own it, and its own in the other register,
    #: by which it is found from there. The numbers of two registers differ in length.
    owners: tuple[int, ...] = ()
    #: The values of `AMOUNTS`.
    amounts: tuple[int, ...] = (NO_AMOUNT, NO_AMOUNT)


class AccountsFacts(NamedTuple):
    """The newest annual accounts of a company, of itself if there are some, else of its group."""

    #: The last day of their period.
    end: str = ""
    revenue: str | None = None
    equity: str | None = None


NO_ACCOUNTS = AccountsFacts()
#: Figures of the company itself come first, and those of its group where it has no others.
_SCOPES = ("company", "unknown", "group")


def newest_accounts(bodies: Sequence[bytes]) -> AccountsFacts:
    """Returns the facts of the stored accounts of a company's last period."""
    accounts = [orjson.loads(body) for body in bodies]
    if not accounts:
        return NO_ACCOUNTS
    first = min(accounts, key=lambda one: _SCOPES.index(one["scope"]))
    figures = first["figures"]
    return AccountsFacts(first["period"]["end"], figures["revenue"], figures["equity"])


#: Plain integers, because adding a flag of an enumeration takes a microsecond.
_YES_OR_NO = {
    "vat_registered": (int(Flag.VAT_REGISTERED), int(Flag.NOT_VAT_REGISTERED)),
    "advertising_protected": (int(Flag.PROTECTED), int(Flag.NOT_PROTECTED)),
}
_PARTS = (
    ("phone", int(Flag.PHONE)),
    ("email", int(Flag.EMAIL)),
    ("website", int(Flag.WEBSITE)),
)
_EINVOICING = int(Flag.EINVOICING)


def facts_of(
    company: Mapping[str, Any],
    owners: bytes = b"",
    *,
    einvoicing: bool = False,
    accounts: AccountsFacts = NO_ACCOUNTS,
) -> Facts:
    """Returns the facts of a company's JSON, of its owners' JSON and of its newest accounts."""
    address = company.get("address") or {}
    employees = company.get("employees")
    count = known_employees(employees["exact"], employees["min"]) if employees else None
    flags = _EINVOICING if einvoicing else 0
    for part, flag in _PARTS:
        if company.get(part):
            flags |= flag
    for field, (yes, no) in _YES_OR_NO.items():
        if (value := company.get(field)) is not None:
            flags |= yes if value else no
    return Facts(
        int(company["vat"]),
        name_key(company["name"]),
        (
            digits((company.get("industry") or _NO_CODE)["code"]),
            address.get("municipality") or "",
            municipality_key(address.get("municipality_code") or ""),
            address.get("city") or "",
            _home_postal_code(address, company.get("country", "")),
            (company.get("form") or _NO_CODE)["code"],
            company["status"],
            "" if count is None else employees_text(count),
            company.get("founded") or "",
            company.get("ended") or "",
            # Norway's register says the year before the accounts themselves are known.
            max(accounts.end[:4], company.get("accounts") or ""),
            accounts_due(company, accounts.end),
            company.get("status_since") or "",
        ),
        flags,
        _owners(company, owners),
        (_amount(accounts.revenue, ROUND_FLOOR), _amount(accounts.equity, ROUND_CEILING)),
    )


def _amount(text: str | None, rounding: str) -> int:
    """Returns an amount in whole units; rounded so that a filter by whole units stays exact."""
    if text is None:
        return NO_AMOUNT
    whole = int(Decimal(text).to_integral_value(rounding))
    return min(max(whole, -MAX_AMOUNT), MAX_AMOUNT)


_NO_CODE = {"code": ""}


def _home_postal_code(address: Mapping[str, Any], register: str) -> str:
    """Returns the postal code; empty for an address abroad.

    A code such as the Swedish 53592 would sort among those of the register.
    """
    return (address.get("postal_code") or "") if is_home(address.get("country"), register) else ""


def is_home(country: str | None, register: str) -> bool:
    """Returns True if a register writes an address in this country like those of its own."""
    return not country or register in (country.lower(), _HOMES.get(country))


def employees_text(count: int) -> str:
    """Returns a number of employees as a text that sorts like it."""
    return f"{count:08d}"


def name_key(name: str) -> bytes:
    """Returns a text that sorts names as people expect: regardless of case and of accents."""
    folded = name.casefold()
    if not folded.isascii():
        folded = folded.translate(_LETTERS)
        # Most names have no other letters.
        if not folded.isascii():
            decomposed = unicodedata.normalize("NFKD", folded)
            folded = "".join(each for each in decomposed if not unicodedata.combining(each))
    return folded.encode()[:_MAX_NAME].decode(errors="ignore").encode()


@lru_cache(maxsize=16_384)
def folded(value: str) -> str:
    """Returns a value as filters compare it; cached, because a register has few places."""
    return value.casefold()


def _owners(company: Mapping[str, Any], owners: bytes) -> tuple[int, ...]:
    listed = (orjson.loads(owners) or ()) if _OWNED_BY_A_COMPANY in owners else ()
    numbers = {int(owner["vat"]) for owner in listed if owner.get("vat")}
    home = home_key(company) if company.get("home_register") else None
    return tuple(sorted(numbers | {int(home.vat)} if home else numbers))


class NameType(IntEnum):
    """Types of names; a smaller value weighs more (decisions section 3)."""

    CURRENT = 0
    TRADE = 1
    FORMER = 2


class AddressType(IntEnum):
    """Types of addresses; a smaller value weighs more."""

    BUSINESS = 0
    POSTAL = 1


class IndexedAddress(NamedTuple):
    """An address of a company, to be indexed."""

    type: AddressType
    #: Street, house number, floor and door, as in the register.
    street: str | None = None
    co: str | None = None
    postal_code: str | None = None
    city: str | None = None
    district: str | None = None
    #: ISO 3166 alpha-2; None means the register's own country.
    country: str | None = None
    municipality: str | None = None


class IndexedCompany(NamedTuple):
    """A company, to be indexed."""

    key: CompanyKey
    names: tuple[tuple[str, NameType], ...]
    addresses: tuple[IndexedAddress, ...]
    rank: Rank
    facts: Facts
    #: Its own domains, or else its e-mail address.
    contacts: tuple[str, ...] = ()


#: The contract uses the same names.
_PARTS_OF_ADDRESS = IndexedAddress._fields[1:]
_ADDRESSES = (("address", AddressType.BUSINESS), ("postal_address", AddressType.POSTAL))

# Layout of a rank in 62 bits: two bits for the life cycle, then these.
_EMPLOYEE_BITS, _FOUNDED_BITS, _NUMBER_BITS = 15, 17, 28
#: The bits of a rank in an order, below those of the type.
RANK_BITS = 2 + _EMPLOYEE_BITS + _FOUNDED_BITS + _NUMBER_BITS
_OLDEST = date(1700, 1, 1).toordinal()
_LARGEST, _YOUNGEST, _LAST_NUMBER = (
    (1 << bits) - 1 for bits in (_EMPLOYEE_BITS, _FOUNDED_BITS, _NUMBER_BITS)
)
#: The smallest Norwegian number; relative to it they fit into 28 bits, like Danish ones.
_FIRST_NORWEGIAN_NUMBER = 800_000_000
_LIFE = {Status.ACTIVE: 3, Status.ENDED: 0}
_BETWEEN_ACTIVE_AND_ENDED, _FOREIGN = 2, 1
_LIGHTEST_TYPE = int(max(NameType))
#: Faster than `Status(text)`.
_STATUSES = {status.value: status for status in Status}


def rank_order(rank: Rank) -> int:
    """Returns a rank as one number; greater is better.

    Values are clamped: companies with more than 32,767 employees, or founded before 1700, are equal
    in that.
    """
    order = _LIFE.get(rank.status, _BETWEEN_ACTIVE_AND_ENDED)
    if rank.is_foreign:
        order = min(order, _FOREIGN)
    order = order << _EMPLOYEE_BITS | min(max(rank.employees, 0), _LARGEST)
    founded = rank.founded.toordinal() - _OLDEST if rank.founded else _YOUNGEST
    order = order << _FOUNDED_BITS | _YOUNGEST - min(max(founded, 0), _YOUNGEST)
    norwegian = rank.number >= _FIRST_NORWEGIAN_NUMBER
    number = rank.number - _FIRST_NORWEGIAN_NUMBER if norwegian else rank.number
    return order << _NUMBER_BITS | _LAST_NUMBER - min(number, _LAST_NUMBER)


def is_foreign(order: int) -> bool:
    """Returns True if an order is that of a foreign company's own record."""
    return order >> RANK_BITS - 2 & 3 == _FOREIGN


def is_active(order: int) -> bool:
    """Returns True if an order is that of an active company."""
    return order >> RANK_BITS - 2 & 3 == _LIFE[Status.ACTIVE]


def order_of(type_: int, rank: int) -> int:
    """Returns a type and a `rank_order` as one unsigned 64-bit number; the type weighs more."""
    return (_LIGHTEST_TYPE - type_) << RANK_BITS | rank


def type_of(order: int) -> int:
    """Returns the type in an order."""
    return _LIGHTEST_TYPE - (order >> RANK_BITS)


def rank_of(order: int) -> int:
    """Returns the `rank_order` of an order; it is unique to a company."""
    return order & (1 << RANK_BITS) - 1


def indexed_core(
    core: bytes,
    owners: bytes = b"",
    *,
    einvoicing: bool = False,
    accounts: AccountsFacts = NO_ACCOUNTS,
) -> IndexedCompany:
    """Returns the searched part of a company's stored JSON, unvalidated for speed.

    Fields that a company of an older release lacks are empty.
    """
    company: dict[str, Any] = orjson.loads(core)
    vat, employees, form = company["vat"], company.get("employees"), company.get("form")
    rank = Rank(
        _STATUSES[company["status"]],
        known_employees(employees.get("exact"), employees.get("min")) if employees else 0,
        day_of(company.get("founded") or company.get("registered")),
        int(vat),
        form is not None and form.get("code") == FOREIGN_FORM,
    )
    key = CompanyKey(company["country"], vat)
    facts = facts_of(company, owners, einvoicing=einvoicing, accounts=accounts)
    contacts = read_contacts(company.get("email"), company.get("website"))
    names, addresses = names_of(company), addresses_of(company)
    return IndexedCompany(key, names, addresses, rank, facts, tuple(contacts.terms))


def names_of(company: Mapping[str, Any]) -> tuple[tuple[str, NameType], ...]:
    """Returns the names in a company's JSON with their types, the current one first."""
    names = [(company["name"], NameType.CURRENT)]
    if trade_names := company.get("trade_names"):
        names += [(name, NameType.TRADE) for name in trade_names]
    if former_names := company.get("former_names"):
        names += [(name, NameType.FORMER) for name in former_names]
    return tuple(names)


def addresses_of(company: Mapping[str, Any]) -> tuple[IndexedAddress, ...]:
    """Returns the addresses in a company's JSON, the business address first."""
    return tuple(
        IndexedAddress(type_, *map(address.get, _PARTS_OF_ADDRESS))
        for field, type_ in _ADDRESSES
        if (address := company.get(field))
    )


def searched_core(core: bytes, held_names: Sequence[str]) -> bytes:
    """Returns a company's stored JSON for the index: held names are searched like former names."""
    if not held_names:
        return core
    company = orjson.loads(core)
    return orjson.dumps({**company, "former_names": company.get("former_names") or held_names})


def company_key(country: Country, number: int) -> CompanyKey:
    """Returns the key of a company that the index has by its number."""
    return CompanyKey(country, f"{number:0{FORMATS[country].vat_digits}d}")


class SearchHit(NamedTuple):
    """A company that a search found."""

    key: CompanyKey
    #: 0 to 100; 100 exactly if the texts are equal after folding.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None
    #: The number of other companies that match with the same score; known of the first hit.
    others: int = 0
    #: True if a number, a Roman numeral or a single letter makes it another name than the queried
    #: one: it is proposed, and never the answer. Such hits come last.
    is_other: bool = False


class SuggestionPage(NamedTuple):
    """A page of the companies that match a partly typed name."""

    hits: Sequence[SearchHit]
    #: The cursor of the next page; None on the last one.
    cursor: str | None = None
