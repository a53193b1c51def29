"""Companies as the search index takes them; a test names only what matters to it."""

from collections.abc import Iterable, Sequence
from datetime import date

from common.contracts.company import CompanyKey, Country, Status
from common.domain.written import read_contacts
from lookup.search.folding import cut
from lookup.search.index import SearchIndex
from lookup.search.index.addresses import search_addresses
from lookup.search.index.documents import batch_of
from lookup.search.index.names import search_names
from lookup.search.indexed_company import (
    AddressType,
    IndexedAddress,
    IndexedCompany,
    NameType,
    SearchHit,
    facts_of,
)
from lookup.search.scheduling import Budget
from register_store.documents import Rank


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


def a_listed_company(line: str, number: int) -> IndexedCompany:
    """From `Nordlys ApS | trade: Lyset | at: Storgade 5, 5000 Odense C | employees: 5`."""
    name, *parts = line.split(" | ")
    fields: dict[str, list[str]] = {}
    for part in parts:
        field, _, value = part.partition(": ")
        fields.setdefault(field, []).append(value)
    addresses = [an_indexed_address(one) for one in fields.get("at", ())]
    addresses += [
        an_indexed_address(one, kind=AddressType.POSTAL) for one in fields.get("post", ())
    ]
    contacts = read_contacts(*(fields.get(field, [None])[0] for field in ("email", "site")))
    return an_indexed_company(
        name,
        number=int(fields.get("number", [number])[0]),
        trade_names=tuple(fields.get("trade", ())),
        former_names=tuple(fields.get("former", ())),
        addresses=tuple(addresses),
        status=Status(fields.get("status", ["active"])[0]),
        employees=int(fields.get("employees", [0])[0]),
        founded=date(int(fields["founded"][0]), 1, 1) if "founded" in fields else None,
        contacts=tuple(contacts.terms),
    )


def listed(index: SearchIndex, lines: Sequence[str]) -> SearchIndex:
    """Builds an index of the companies in these lines, which are numbered from 1."""
    companies = (a_listed_company(line, number) for number, line in enumerate(lines, 1))
    rebuild(index, companies, b"here")
    return index


def rebuild(index: SearchIndex, companies: Iterable[IndexedCompany], save_point: bytes) -> None:
    """Builds the index from these companies, in a batch each."""
    country = index.view().country
    index.rebuild((batch_of([one], country) for one in companies), save_point)


def search_name(index: SearchIndex, text: str, budget: Budget | None = None) -> SearchHit | None:
    hits = search_names(index.view(budget), cut(text), 1)
    return next((hit for hit in hits if not hit.is_other), None)


def search_address(index: SearchIndex, text: str, budget: Budget | None = None) -> SearchHit | None:
    return next(iter(search_addresses(index.view(budget), cut(text), 1)), None)
