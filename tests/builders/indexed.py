"""Companies as the search index takes them; a test names only what matters to it."""

from datetime import date

from common.contracts.company import CompanyKey, Country, Status
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import (
    AddressType,
    IndexedAddress,
    IndexedCompany,
    NameType,
    facts_of,
)
from lookup.store.ranking import Rank


def an_indexed_company(
    name: str = "Prøvefabrikken ApS",
    *,
    number: int = 12345674,
    country: Country = Country.DK,
    trade_names: tuple[str, ...] = (),
    former_names: tuple[str, ...] = (),
    addresses: tuple[IndexedAddress, ...] = (),
    status: Status = Status.ACTIVE,
    employees: int = 0,
    founded: date | None = None,
    contacts: tuple[str, ...] = (),
) -> IndexedCompany:
    names = [(name, NameType.CURRENT)]
    names += [(text, NameType.TRADE) for text in trade_names]
    names += [(text, NameType.FORMER) for text in former_names]
    rank = Rank(status=status, employees=employees, founded=founded, number=number)
    facts = facts_of({"vat": str(number), "name": name, "status": status})
    key = CompanyKey(country, str(number))
    return IndexedCompany(key, tuple(names), addresses, rank, facts, contacts)


def an_indexed_address(line: str, *, kind: AddressType = AddressType.BUSINESS) -> IndexedAddress:
    """From `<street and dwelling>[, <district>], <postcode> <town>`."""
    street, _, area = line.rpartition(", ")
    postal_code, _, city = area.partition(" ")
    return IndexedAddress(kind, street=street, postal_code=postal_code, city=city)


def filled(index: SearchIndex, *companies: IndexedCompany) -> SearchIndex:
    index.apply(companies)
    index.commit(b"here")
    return index
