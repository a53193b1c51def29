"""The documents of a company in the index, and the records that are read to score a candidate."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country
from lookup.search.addresses import House, ParsedAddress, parsed_addresses, without_quarter
from lookup.search.find.columns import Segment
from lookup.search.folding import FoldedText, fold_name_and_form, fold_text, one_line, refolded
from lookup.search.index import schema as fields
from lookup.search.index.prefixes import add_beginnings
from lookup.search.indexed_company import (
    NO_ACCOUNTS,
    AccountsFacts,
    AddressType,
    IndexedAddress,
    IndexedCompany,
    NameType,
    indexed_core,
    order_of,
    rank_order,
)
from lookup.search.scoring import Name
from lookup.search.streets import proper_words

_PART, _LIST = "\x1f", "\x1e"
#: Values of the field `house` for an address without a number, and for one abroad.
NO_HOUSE, ABROAD = "-", "abroad"
_NO_DWELLING = "-"
_TYPE_OF_NAME, _TYPE_OF_ADDRESS = itemgetter(1), attrgetter("type")
_AREA = attrgetter("postal_code", "city", "municipality")

#: Fields and their values.
Document = dict[str, Any]


class _NameEntry(NamedTuple):
    """A name to index."""

    type: NameType
    folded: FoldedText
    text: str
    form: str


class AddressRecord(NamedTuple):
    """An indexed address as it is read again to be scored."""

    type: AddressType
    address: ParsedAddress


def written(company: IndexedCompany, home: Country) -> list[str]:
    """Returns a company's documents as JSON, in half the time of tantivy's objects."""
    return [orjson.dumps(document).decode() for document in documents_of(company, home)]


class Batch(NamedTuple):
    """New companies, as the index takes them."""

    documents: Sequence[str]
    segment: Segment


class StoredParts(NamedTuple):
    """The stored parts of a company that are searched."""

    core: bytes
    owners: bytes
    einvoicing: bool = False
    accounts: AccountsFacts = NO_ACCOUNTS


def batch_of(companies: Iterable[IndexedCompany], home: Country) -> Batch:
    """Returns companies as the index takes them."""
    documents: list[str] = []
    facts = []
    for company in companies:
        documents += written(company, home)
        facts.append(company.facts)
    return Batch(documents, Segment.of(facts))


def stored_batch(companies: Sequence[StoredParts], home: Country) -> Batch:
    """Returns many companies as the index takes them, from their stored JSON."""
    return batch_of((indexed(each) for each in companies), home)


def indexed(parts: StoredParts) -> IndexedCompany:
    """Returns the searched part of a stored company."""
    return indexed_core(
        parts.core, parts.owners, einvoicing=parts.einvoicing, accounts=parts.accounts
    )


def documents_of(company: IndexedCompany, home: Country) -> list[Document]:
    """Returns the documents of a company; none if it has no searchable name or address."""
    rank = rank_order(company.rank)
    places = place_words(company.addresses)
    addresses = _address_records(company.addresses, home)
    documents = []
    for name in _names(company.names):
        type_: int = name.type
        of_same_type = None
        for address in addresses:
            if address.type == type_:
                of_same_type = address
                addresses.remove(address)
                break
        documents.append(_document(company.key, type_, name, of_same_type, rank, places))
    for address in addresses:
        documents.append(_document(company.key, address.type, None, address, rank, places))
    if documents:
        documents[0][fields.KIND].append(fields.A_COMPANY)
        documents[0][fields.KIND] += [fields.CONTACT + term for term in company.contacts]
    return documents


def _names(names: tuple[tuple[str, NameType], ...]) -> list[_NameEntry]:
    found: list[_NameEntry] = []
    for text, type_ in sorted(names, key=_TYPE_OF_NAME) if len(names) > 1 else names:
        folded, form = fold_name_and_form(text)
        if folded.words and folded not in [other.folded for other in found]:
            found.append(_NameEntry(type_, folded, text, form))
    return found


def place_words(addresses: Sequence[IndexedAddress]) -> str:
    """Returns the folded words of a company's places."""
    if len(addresses) == 1:
        return " ".join(_place_words(*_AREA(addresses[0])))
    words = {word for address in addresses for word in _place_words(*_AREA(address))}
    return " ".join(sorted(words))


@lru_cache(maxsize=16_384)
def _place_words(*parts: str | None) -> list[str]:
    """Returns sorted words; cached, because a register has few places."""
    return sorted({word for part in parts if part for word in fold_text(part).words.split(" ")})


def _address_records(addresses: tuple[IndexedAddress, ...], home: Country) -> list[AddressRecord]:
    found: list[AddressRecord] = []
    for address in sorted(addresses, key=_TYPE_OF_ADDRESS) if len(addresses) > 1 else addresses:
        for parsed in parsed_addresses(address, home):
            if _text(parsed).words and parsed not in [other.address for other in found]:
                found.append(AddressRecord(address.type, parsed))
    return found


def _document(  # noqa: PLR0913 (the contents of a document)
    company: CompanyKey,
    type_: int,
    name: _NameEntry | None,
    address: AddressRecord | None,
    rank: int,
    places: str,
) -> Document:
    packed_name = pack_name(type_, name, places) if name else ""
    packed_address = pack_address(type_, address.address) if address else ""
    kinds: list[str] = []
    document: Document = {
        fields.COMPANY: company,
        fields.KIND: kinds,
        fields.RECORD: fields.RECORD_PART.join((company, packed_name, packed_address)),
        fields.ORDER: order_of(type_, rank),
        fields.NUMBER: int(company.vat),
    }
    if name:
        kinds.append(fields.A_NAME)
        if name.form:
            kinds.append(fields.OF_FORM + name.form)
        document[fields.NAME] = name.folded.key
        add_beginnings(document, name.folded)
    if address:
        kinds.append(fields.AN_ADDRESS)
        _add_address(document, address.address)
    return document


def _add_address(document: Document, address: ParsedAddress) -> None:
    document[fields.STREET], document[fields.STREET_GRAMS] = _street_terms(_text(address).words)
    document[fields.HOUSE] = ABROAD if address.whole else house_terms(address.house)
    document[fields.AREA] = area_terms(address)
    document[fields.DWELLING] = dwelling_term(address)


@lru_cache(maxsize=16_384)
def _street_terms(words: str) -> tuple[str, list[str]]:
    """Returns the street's key and its text for grams; cached, because companies share streets."""
    return words.replace(" ", ""), fields.padded(proper_words(words))


def _text(address: ParsedAddress) -> FoldedText:
    return address.whole or address.street


def house_terms(house: House | None) -> list[str]:
    """Returns the terms of a house, one for each number of a range."""
    if house is None:
        return [NO_HOUSE]
    if house.number == house.last:
        return [str(house.number)]
    return [str(number) for number in house.numbers()]


def area_terms(address: ParsedAddress) -> list[str]:
    """Returns the postal code and towns, each town also without its quarter: `odense`."""
    return _area_terms(address.postal_code, address.towns)


@lru_cache(maxsize=16_384)
def _area_terms(postal_code: str, towns: tuple[str, ...]) -> list[str]:
    names = {name for town in towns for name in (town, without_quarter(town))}
    return [postal_code, *sorted(names)] if postal_code else sorted(names)


def dwelling_term(address: ParsedAddress) -> str:
    """Returns the term of floor, door and house letter, for houses with many companies."""
    letter = address.house.letter if address.house else ""
    if letter or address.floor or address.door:
        return _PART.join((letter, address.floor, address.door))
    return _NO_DWELLING


def pack_name(type_: int, name: _NameEntry, places: str) -> str:
    """Returns the stored record of a name; `read_name` reads it."""
    return f"{type_:d}{name.folded.spelled}{_PART}{places}{_PART}{one_line(name.text)}"


def read_name(record: str) -> Name:
    """Returns the name of a record that `pack_name` wrote."""
    spelled, places, text = record[1:].split(_PART, 2)
    return Name(NameType(int(record[0])), refolded(spelled), text, frozenset(places.split(" ")))


def pack_address(type_: int, address: ParsedAddress) -> str:
    """Returns the stored record of an address; `read_address_record` reads it."""
    street, house, floor, door, postal_code, towns, co, whole = address
    return _PART.join((
        f"{type_:d}",
        street.spelled,
        f"{house.number} {house.last} {house.letter}" if house else "",
        floor,
        door,
        postal_code,
        _LIST.join(towns),
        co,
        whole.spelled if whole else "",
    ))  # fmt: skip


def read_address_record(record: str) -> AddressRecord:
    """Returns the address of a record that `pack_address` wrote."""
    type_, street, house, floor, door, postal_code, towns, co, whole = record.split(_PART)
    address = ParsedAddress(
        street=refolded(street),
        house=_read_house(house),
        floor=floor,
        door=door,
        postal_code=postal_code,
        towns=tuple(towns.split(_LIST)) if towns else (),
        co=co,
        whole=refolded(whole) if whole else None,
    )
    return AddressRecord(AddressType(int(type_)), address)


def _read_house(packed: str) -> House | None:
    if not packed:
        return None
    number, last, letter = packed.split(" ")
    return House(int(number), letter=letter, last=int(last))
