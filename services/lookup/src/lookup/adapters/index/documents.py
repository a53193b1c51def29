"""What is written for a company, and what is read of it again to score a candidate."""

from binascii import b2a_base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from common.contracts.company import Country
from lookup.adapters.index import schema as fields
from lookup.adapters.index.beginnings import beginnings, word_beginnings
from lookup.domain.addresses import House, Place, place_of, without_quarter
from lookup.domain.folding import Folded, fold_name, refolded
from lookup.domain.indexed import (
    AddressKind,
    IndexedAddress,
    IndexedCompany,
    NameKind,
    indexed_core,
    order_of,
    rank_order,
)
from lookup.domain.streets import own_words

_PART, _LIST = "\x1f", "\x1e"
#: What stands in the field `house` for an address without a number, and for one abroad.
NO_HOUSE, ABROAD = "-", "abroad"
_NO_DWELLING = "-"

#: Fields and their values.
Document = dict[str, Any]


class NameRecord(NamedTuple):
    kind: NameKind
    name: Folded


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
    documents = _name_documents(company.names, rank)
    documents += _address_documents(company.addresses, rank, home)
    for document in documents:
        document[fields.COMPANY] = company.key
    if documents:
        documents[0][fields.KIND] = [documents[0][fields.KIND], fields.A_COMPANY]
    return documents


def _name_documents(names: tuple[tuple[str, NameKind], ...], rank: int) -> list[Document]:
    """One for each name that differs, of its weightiest kind."""
    kinds: dict[Folded, NameKind] = {}
    for text, kind in names:
        name = fold_name(text)
        kinds[name] = min(kind, kinds.get(name, kind))
    return [_name_document(name, kind, rank) for name, kind in kinds.items() if name.words]


def _name_document(name: Folded, kind: NameKind, rank: int) -> Document:
    return {
        fields.KIND: fields.A_NAME,
        fields.NAME: name.key,
        fields.SAME_WORDS: name.sorted_key,
        fields.NAME_GRAMS: fields.padded(name.words),
        fields.BEGINNING: beginnings(name),
        fields.WORD_BEGINNING: word_beginnings(name),
        fields.RECORD: _packed(f"{kind:d}{name.spelled}"),
        fields.ORDER: order_of(kind, rank),
    }


def _address_documents(
    addresses: tuple[IndexedAddress, ...], rank: int, home: Country
) -> list[Document]:
    """One for each place that differs, of its weightiest kind."""
    kinds: dict[Place, AddressKind] = {}
    for address in addresses:
        place = place_of(address, home)
        if not _text(place).words:
            continue
        kinds[place] = min(address.kind, kinds.get(place, address.kind))
    return [_address_document(place, kind, rank) for place, kind in kinds.items()]


def _address_document(place: Place, kind: AddressKind, rank: int) -> Document:
    text = _text(place)
    return {
        fields.KIND: fields.AN_ADDRESS,
        fields.STREET: text.key,
        fields.STREET_GRAMS: fields.padded(own_words(text.words)),
        fields.HOUSE: ABROAD if place.whole else house_terms(place.house),
        fields.AREA: area_terms(place),
        fields.DWELLING: dwelling_term(place),
        fields.RECORD: _packed(pack_address(kind, place)),
        fields.ORDER: order_of(kind, rank),
    }


def _packed(record: str) -> str:
    """As bytes, which stand in JSON so: unlike a text they are kept and not indexed."""
    return b2a_base64(record.encode(), newline=False).decode()


def _text(place: Place) -> Folded:
    return place.whole or place.street


def house_terms(house: House | None) -> list[str]:
    return [str(number) for number in house.numbers()] if house else [NO_HOUSE]


def area_terms(place: Place) -> list[str]:
    """Postcode and towns, each town also without its quarter (`odense` for `odense c`)."""
    towns = {name for town in place.towns for name in (town, without_quarter(town))}
    return [place.postal_code, *sorted(towns)] if place.postal_code else sorted(towns)


def dwelling_term(place: Place) -> str:
    """Floor, door and house letter as one term, for houses with more companies than are scored."""
    parts = (place.house.letter if place.house else "", place.floor, place.door)
    return _PART.join(parts) if any(parts) else _NO_DWELLING


def read_name(record: str) -> NameRecord:
    return NameRecord(NameKind(int(record[0])), refolded(record[1:]))


def pack_address(kind: AddressKind, place: Place) -> str:
    house = place.house
    parts = (
        str(int(kind)),
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
