"""What is written for a company, and what is read of it again to score a candidate."""

from binascii import b2a_base64
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country
from lookup.search.addresses import House, Place, places_of, without_quarter
from lookup.search.folding import Folded, fold_name_and_form, fold_text, one_line, refolded
from lookup.search.index import schema as fields
from lookup.search.index.beginnings import add_beginnings
from lookup.search.indexed import (
    AddressKind,
    IndexedAddress,
    IndexedCompany,
    NameKind,
    indexed_core,
    order_of,
    rank_order,
)
from lookup.search.scoring import Name
from lookup.search.streets import own_words

_PART, _LIST = "\x1f", "\x1e"
#: What stands in the field `house` for an address without a number, and for one abroad.
NO_HOUSE, ABROAD = "-", "abroad"
_NO_DWELLING = "-"
_KIND_OF_NAME, _KIND_OF_ADDRESS = itemgetter(1), attrgetter("kind")
_AREA = attrgetter("postal_code", "city", "municipality")
#: Of names and of addresses; those of one number weigh the same.
_KINDS = range(max(*NameKind, *AddressKind) + 1)

#: Fields and their values.
Document = dict[str, Any]


class _Named(NamedTuple):
    """A name to be written."""

    folded: Folded
    text: str
    form: str


class AddressRecord(NamedTuple):
    kind: AddressKind
    place: Place


def written(company: IndexedCompany, home: Country) -> list[str]:
    """The documents of a company as JSON, in half the time that tantivy takes for objects."""
    return [orjson.dumps(document).decode() for document in documents_of(company, home)]


def written_cores(cores: Sequence[bytes], home: Country) -> list[str]:
    """The same of many companies' stored JSON."""
    return [document for core in cores for document in written(indexed_core(core), home)]


def documents_of(company: IndexedCompany, home: Country) -> list[Document]:
    """The documents of a company; none when nothing of it could ever be found."""
    rank = rank_order(company.rank)
    names, places = _names(company.names), _places(company.addresses, home)
    around = place_words(company.addresses)
    documents = [
        _document(company.key, kind, name, place, rank, around)
        for kind in _KINDS
        for name, place in zip_longest(names[kind], places[kind])
    ]
    if documents:
        documents[0][fields.KIND].append(fields.A_COMPANY)
    return documents


def _names(names: tuple[tuple[str, NameKind], ...]) -> list[list[_Named]]:
    """By kind each name that differs, under its weightiest kind."""
    found: list[list[_Named]] = [[] for _ in _KINDS]
    seen: list[Folded] = []
    for text, kind in sorted(names, key=_KIND_OF_NAME) if len(names) > 1 else names:
        folded, form = fold_name_and_form(text)
        if folded.words and folded not in seen:
            seen.append(folded)
            found[kind].append(_Named(folded, text, form))
    return found


def place_words(addresses: Sequence[IndexedAddress]) -> str:
    """The folded words of the places where a company is."""
    if len(addresses) == 1:
        return " ".join(_place_words(*_AREA(addresses[0])))
    words = {word for address in addresses for word in _place_words(*_AREA(address))}
    return " ".join(sorted(words))


@lru_cache(maxsize=16_384)
def _place_words(*parts: str | None) -> list[str]:
    """Sorted; kept, because a register names few places and each of them often."""
    return sorted({word for part in parts if part for word in fold_text(part).words.split(" ")})


def _places(addresses: tuple[IndexedAddress, ...], home: Country) -> list[list[Place]]:
    """By kind each place that differs, under its weightiest kind."""
    found: list[list[Place]] = [[] for _ in _KINDS]
    seen: list[Place] = []
    for address in sorted(addresses, key=_KIND_OF_ADDRESS) if len(addresses) > 1 else addresses:
        for place in places_of(address, home):
            if _text(place).words and place not in seen:
                seen.append(place)
                found[address.kind].append(place)
    return found


def _document(  # noqa: PLR0913 (what a document says)
    company: CompanyKey,
    kind: int,
    name: _Named | None,
    place: Place | None,
    rank: int,
    around: str,
) -> Document:
    """A name and an address of the same kind, or one of them."""
    named = pack_name(kind, name, around) if name else ""
    record = f"{company}{fields.RECORD_PART}{named}{fields.RECORD_PART}"
    document: Document = {
        fields.COMPANY: company,
        fields.KIND: [],
        fields.RECORD: _packed(record + pack_address(kind, place) if place else record),
        fields.ORDER: order_of(kind, rank),
    }
    if name:
        _add_name(document, name)
    if place:
        _add_place(document, place)
    return document


def _add_name(document: Document, name: _Named) -> None:
    document[fields.KIND].append(fields.A_NAME)
    if name.form:
        document[fields.KIND].append(fields.OF_FORM + name.form)
    document[fields.NAME] = name.folded.key
    add_beginnings(document, name.folded)


def _add_place(document: Document, place: Place) -> None:
    document[fields.KIND].append(fields.AN_ADDRESS)
    document[fields.STREET], document[fields.STREET_GRAMS] = _street_terms(_text(place).words)
    document[fields.HOUSE] = ABROAD if place.whole else house_terms(place.house)
    document[fields.AREA] = area_terms(place)
    document[fields.DWELLING] = dwelling_term(place)


@lru_cache(maxsize=16_384)
def _street_terms(words: str) -> tuple[str, list[str]]:
    """Its key, and what its grams are taken of; kept, because many companies share a street."""
    return words.replace(" ", ""), fields.padded(own_words(words))


def _packed(record: str) -> str:
    """As bytes, which stand in JSON so: unlike a text they are kept and not indexed."""
    return b2a_base64(record.encode(), newline=False).decode()


def _text(place: Place) -> Folded:
    return place.whole or place.street


def house_terms(house: House | None) -> list[str]:
    if house is None:
        return [NO_HOUSE]
    if house.number == house.last:
        return [str(house.number)]
    return [str(number) for number in house.numbers()]


def area_terms(place: Place) -> list[str]:
    """Postcode and towns, each town also without its quarter (`odense` for `odense c`)."""
    return _area_terms(place.postal_code, place.towns)


@lru_cache(maxsize=16_384)
def _area_terms(postal_code: str, towns: tuple[str, ...]) -> list[str]:
    names = {name for town in towns for name in (town, without_quarter(town))}
    return [postal_code, *sorted(names)] if postal_code else sorted(names)


def dwelling_term(place: Place) -> str:
    """Floor, door and house letter as one term, for houses with more companies than are scored."""
    parts = (place.house.letter if place.house else "", place.floor, place.door)
    return _PART.join(parts) if any(parts) else _NO_DWELLING


def pack_name(kind: int, name: _Named, around: str) -> str:
    return _PART.join((f"{kind}{name.folded.spelled}", around, one_line(name.text)))


def read_name(record: str) -> Name:
    spelled, places, text = record[1:].split(_PART, 2)
    return Name(NameKind(int(record[0])), refolded(spelled), text, frozenset(places.split(" ")))


def pack_address(kind: int, place: Place) -> str:
    house = place.house
    parts = (
        f"{kind:d}",
        place.street.spelled,
        f"{house.number} {house.last} {house.letter}" if house else "",
        place.floor,
        place.door,
        place.postal_code,
        _LIST.join(place.towns),
        place.co,
        place.whole.spelled if place.whole else "",
    )
    return _PART.join(parts)


def read_address_record(record: str) -> AddressRecord:
    kind, street, house, floor, door, postal_code, towns, co, whole = record.split(_PART)
    place = Place(
        street=refolded(street),
        house=_read_house(house),
        floor=floor,
        door=door,
        postal_code=postal_code,
        towns=tuple(towns.split(_LIST)) if towns else (),
        co=co,
        whole=refolded(whole) if whole else None,
    )
    return AddressRecord(AddressKind(int(kind)), place)


def _read_house(packed: str) -> House | None:
    if not packed:
        return None
    number, last, letter = packed.split(" ")
    return House(int(number), letter=letter, last=int(last))
