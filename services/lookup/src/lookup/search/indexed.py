"""The data of a company in the search index: its names, its places, and its rank."""

from collections.abc import Sequence
from datetime import date
from enum import IntEnum
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Status
from common.domain.contacts import read_contacts
from lookup.search.find.facts import Facts, facts_of
from lookup.store.ranking import FOREIGN_FORM, Rank, day_of, known_employees


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


#: The stored form; inside a JSON text its quotes would be escaped.
_NO_FORMER_NAMES = b'"former_names":[]'


def indexed_core(core: bytes, owners: bytes = b"", *, einvoicing: bool = False) -> IndexedCompany:
    """Returns the searched part of a company's stored JSON, unvalidated for speed.

    Fields that a company of an older release lacks are empty.
    """
    company: dict[str, Any] = orjson.loads(core)
    names = [(company["name"], NameType.CURRENT)]
    if trade_names := company.get("trade_names"):
        names += [(name, NameType.TRADE) for name in trade_names]
    if former_names := company.get("former_names"):
        names += [(name, NameType.FORMER) for name in former_names]
    addresses = [
        IndexedAddress(type_, *map(address.get, _PARTS_OF_ADDRESS))
        for field, type_ in _ADDRESSES
        if (address := company.get(field))
    ]
    vat, employees, form = company["vat"], company.get("employees"), company.get("form")
    rank = Rank(
        _STATUSES[company["status"]],
        known_employees(employees.get("exact"), employees.get("min")) if employees else 0,
        day_of(company.get("founded") or company.get("registered")),
        int(vat),
        form is not None and form.get("code") == FOREIGN_FORM,
    )
    key = CompanyKey(company["country"], vat)
    facts = facts_of(company, owners, einvoicing=einvoicing)
    contacts = read_contacts(company.get("email"), company.get("website"))
    return IndexedCompany(key, tuple(names), tuple(addresses), rank, facts, tuple(contacts.terms))


def searched_core(core: bytes, held_names: Sequence[str]) -> bytes:
    """Returns a company's stored JSON for the index: held names are searched like former names."""
    if not held_names:
        return core
    return core.replace(_NO_FORMER_NAMES, b'"former_names":' + orjson.dumps(held_names), 1)
