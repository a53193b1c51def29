"""What the search index knows of a company: its names, its places, and its rank among equals."""

from collections.abc import Mapping, Sequence
from datetime import date
from enum import IntEnum
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Status, company_key
from lookup.store.ranking import FOREIGN_FORM, Rank, day_of, known_employees


class NameKind(IntEnum):
    """Smaller weighs more (decisions section 3)."""

    CURRENT = 0
    TRADE = 1
    FORMER = 2


class AddressKind(IntEnum):
    """Smaller weighs more: a company is at its business address before it is at its letter box."""

    BUSINESS = 0
    POSTAL = 1


class IndexedAddress(NamedTuple):
    kind: AddressKind
    #: Street, house number, floor and door, as the register writes them.
    street: str | None = None
    co: str | None = None
    postal_code: str | None = None
    city: str | None = None
    district: str | None = None
    #: ISO 3166 alpha-2; None counts as the register's own country.
    country: str | None = None
    municipality: str | None = None


class IndexedCompany(NamedTuple):
    key: CompanyKey
    names: tuple[tuple[str, NameKind], ...]
    addresses: tuple[IndexedAddress, ...]
    rank: Rank


#: As the contract names them, too.
_PARTS_OF_ADDRESS = IndexedAddress._fields[1:]

# How `rank_order` lays a rank into 62 bits: two for life, then these.
_EMPLOYEE_BITS, _FOUNDED_BITS, _NUMBER_BITS = 15, 17, 28
_RANK_BITS = 2 + _EMPLOYEE_BITS + _FOUNDED_BITS + _NUMBER_BITS
_OLDEST = date(1700, 1, 1).toordinal()
_YOUNGEST = (1 << _FOUNDED_BITS) - 1
#: Norwegian numbers begin here; counted from it they fit into 28 bits, as Danish ones do anyhow.
_FIRST_NORWEGIAN_NUMBER = 800_000_000
_LIFE = {Status.ACTIVE: 3, Status.ENDED: 0}
_BETWEEN_ACTIVE_AND_ENDED, _FOREIGN = 2, 1
_LIGHTEST_KIND = int(max(NameKind))
#: Found sooner than by `Status(text)`.
_STATUSES = {status.value: status for status in Status}


def rank_order(rank: Rank) -> int:
    """A rank as one number, greater is better.

    What does not fit is cut to the ends of its range: companies above 32,767 employees, or from
    before 1700, are equal in that.
    """
    order = _LIFE.get(rank.status, _BETWEEN_ACTIVE_AND_ENDED)
    if rank.is_foreign:
        order = min(order, _FOREIGN)
    order = order << _EMPLOYEE_BITS | _cut(rank.employees, _EMPLOYEE_BITS)
    founded = rank.founded.toordinal() - _OLDEST if rank.founded else _YOUNGEST
    order = order << _FOUNDED_BITS | _YOUNGEST - _cut(founded, _FOUNDED_BITS)
    norwegian = rank.number >= _FIRST_NORWEGIAN_NUMBER
    number = rank.number - _FIRST_NORWEGIAN_NUMBER if norwegian else rank.number
    return order << _NUMBER_BITS | (1 << _NUMBER_BITS) - 1 - _cut(number, _NUMBER_BITS)


def is_foreign(order: int) -> bool:
    """Whether an order is that of a foreign company's own record."""
    return order >> _RANK_BITS - 2 & 3 == _FOREIGN


def order_of(kind: int, rank: int) -> int:
    """A kind and a `rank_order` as one unsigned number of 64 bits; the kind weighs more."""
    return (_LIGHTEST_KIND - kind) << _RANK_BITS | rank


def _cut(value: int, bits: int) -> int:
    return min(max(value, 0), (1 << bits) - 1)


#: How the store writes it; inside a text its quotes would be escaped.
_NO_FORMER_NAMES = b'"former_names":[]'


def indexed_core(core: bytes) -> IndexedCompany:
    """What of a company's stored JSON is searched; a model of all of it would take thrice as long.

    Fields that a company of an older release lacks are empty.
    """
    company: dict[str, Any] = orjson.loads(core)
    names = [(company["name"], NameKind.CURRENT)]
    if trade_names := company.get("trade_names"):
        names += [(name, NameKind.TRADE) for name in trade_names]
    if former_names := company.get("former_names"):
        names += [(name, NameKind.FORMER) for name in former_names]
    addresses = []
    if address := company.get("address"):
        addresses.append(_indexed_address(address, AddressKind.BUSINESS))
    if address := company.get("postal_address"):
        addresses.append(_indexed_address(address, AddressKind.POSTAL))
    employees = company.get("employees") or {}
    return IndexedCompany(
        key=company_key(company["country"], company["vat"]),
        names=tuple(names),
        addresses=tuple(addresses),
        rank=Rank(
            status=_STATUSES[company["status"]],
            employees=known_employees(employees.get("exact"), employees.get("min")),
            founded=day_of(company.get("founded") or company.get("registered")),
            number=int(company["vat"]),
            is_foreign=(company.get("form") or {}).get("code") == FOREIGN_FORM,
        ),
    )


def searched_core(core: bytes, held_names: Sequence[str]) -> bytes:
    """A company's stored JSON for the index: held names are searched like former names."""
    if not held_names:
        return core
    return core.replace(_NO_FORMER_NAMES, b'"former_names":' + orjson.dumps(held_names), 1)


def _indexed_address(address: Mapping[str, str | None], kind: AddressKind) -> IndexedAddress:
    return IndexedAddress(kind, *map(address.get, _PARTS_OF_ADDRESS))
