"""E-invoicing participants from the business cards of the Peppol Directory.

The export is JSON, XML, or CSV with a row for each entity on a card.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final

from common.contracts.company import CompanyKey, Country, EinvoicingEntry, UnitKey
from common.domain.numbers import InvalidIdentifier, parse_participant
from ingest.records.fields import (
    Day,
    Document,
    Many,
    Text,
    Word,
    each_once,
    read_document,
    required,
)
from ingest.records.files import RawRecord
from ingest.records.records import OutOfScope, ParticipantRecord, Raw, RecordRejected, Rejected
from ingest.records.tables import Dialect
from register_store.documents import dump

DIALECT = Dialect(
    encoding="iso-8859-1",
    first_column=b"Participant ID",
)

#: The element of a card in the XML export.
ELEMENT: Final = "businesscard"

#: Names of schemes on business cards, in capitals and without punctuation or a country's letters.
#: A company's number, which the country decides the meaning of.
_COMPANY_NUMBERS: Final = frozenset(
    {
        "ORG",
        "ORGNR",
        "ORGNO",
        "ORGNUMMER",
        "ORGNUMBER",
        "ORGANISASJONSNR",
        "ORGANISASJONSNUMMER",
        "ORGANISATIONSNR",
        "ORGANISATIONSNUMMER",
        "ORGANISATIONNUMBER",
        "ORGANIZATIONNUMBER",
        "VAT",
        "VATNR",
        "VATNO",
        "VATNUMBER",
    }
)
#: Numbers that exist in one country only.
_DANISH_NUMBERS: Final = {
    "CVR": "0184",
    "CVRNR": "0184",
    "CVRNO": "0184",
    "CVRNUMMER": "0184",
    "CVRNUMBER": "0184",
    "DIGST": "0184",
    "P": "0096",
    "PNR": "0096",
    "PNO": "0096",
    "PNUMMER": "0096",
    "PNUMBER": "0096",
}
_COMPANY_SCHEMES: Final = {Country.DK: "0184", Country.NO: "0192"}
_PUNCTUATION = re.compile(r"[\W_]+")

#: Maximum rows of one card. The largest have a few hundred.
_MAX_ROWS = 1000

_OURS = frozenset(Country)
_ELSEWHERE = OutOfScope("a participant of another country")


class CardIdentifier(Document):
    """Another identifier of an entity, such as its registration number."""

    scheme: Text = None
    value: Word = None


class CardEntity(Document):
    """An entity that a business card describes."""

    country_code: Text = None
    identifiers: Many[CardIdentifier] = ()
    regdate: Day = None


class DocumentType(Document):
    """A type of document that a participant receives."""

    scheme: Text = None
    value: Text = None


class BusinessCard(Document):
    """The business card of a participant, as the directory exports it."""

    pid: Text = None
    entities: Many[CardEntity] = ()
    doc_types: Many[DocumentType] = ()


def participant_record(raw: Raw, _today: date) -> ParticipantRecord | OutOfScope:
    """Returns the record of a card; raises RecordRejected, never with a personal number."""
    card = read_document(BusinessCard, raw)
    try:
        identifier = parse_participant(required(card.pid, "pid"))
    except InvalidIdentifier as fault:
        raise RecordRejected(f"pid: {fault}") from None
    # By the scheme, or for an international one by the countries on the card.
    countries = ((entity.country_code or "").lower() for entity in card.entities)
    if identifier.country is None and _OURS.isdisjoint(countries):
        return _ELSEWHERE
    types = {f"{one.scheme}::{one.value}" if one.scheme else one.value for one in card.doc_types}
    entry = EinvoicingEntry(
        identifier=str(identifier),
        scheme=identifier.scheme,
        # In order, since the directory keeps none.
        document_types=tuple(sorted(one for one in types if one)),
        registered=min((day.regdate for day in card.entities if day.regdate), default=None),
    )
    holder = identifier.holder or _holder_on(card)
    return ParticipantRecord(entry.identifier, holder, dump(entry), odd=each_once(card.odd))


def _holder_on(card: BusinessCard) -> CompanyKey | UnitKey | None:
    """Returns the holder: a company rather than a unit, since its number is the shorter one."""
    holders = (
        holder_on_card(identifier.scheme or "", identifier.value, entity.country_code)
        for entity in card.entities
        for identifier in entity.identifiers
        if identifier.value
    )
    return min((holder for holder in holders if holder is not None), key=len, default=None)


def holder_on_card(scheme: str, value: str, country: str | None) -> CompanyKey | UnitKey | None:
    """Returns the company or unit of an identifier on a business card; None if it is unreadable.

    Cards are written by hand: the scheme may be a code or a name such as `DK:CVR`, and the value
    may repeat the scheme or the country's letters. `OrgNr` on a card of Denmark is a CVR number.
    """
    name = _PUNCTUATION.sub("", scheme).upper()
    for text in (value, *(f"{code}:{value}" for code in _codes(name, value, country))):
        try:
            return parse_participant(text).holder
        except InvalidIdentifier:
            continue
    return None


def _codes(name: str, value: str, country: str | None) -> list[str]:
    """Returns the codes that the name of a scheme may stand for.

    The letters before the value count more than those before the name, and these more than the
    country of the card. Without any, the number of digits decides.
    """
    if name[:2].lower() in _OURS:
        country, name = name[:2], name[2:]
    if name in _DANISH_NUMBERS:
        return [_DANISH_NUMBERS[name]]
    if name not in _COMPANY_NUMBERS:
        return [name]
    if value.strip()[:2].lower() in _OURS:
        country = value.strip()[:2]
    return [
        code
        for of_country, code in _COMPANY_SCHEMES.items()
        if not country or country.lower() == of_country
    ]


def from_row(row: Raw) -> Raw:
    """Returns the card of a CSV row with one entity; the values of a cell are on separate lines."""
    identifiers = zip(
        _lines(row, "Identifier schemes"), _lines(row, "Identifier values"), strict=False
    )
    doc_types = (doc_type.partition("::") for doc_type in _lines(row, "Document types"))
    return {
        "pid": row.get("Participant ID"),
        "entities": [
            {
                "countryCode": row.get("Country code"),
                "identifiers": [
                    {"scheme": scheme, "value": value} for scheme, value in identifiers
                ],
                "regdate": row.get("Registration date"),
            }
        ],
        "docTypes": [{"scheme": scheme, "value": value} for scheme, _, value in doc_types],
    }


def _lines(row: Raw, column: str) -> list[str]:
    cell: str = row.get(column, "")
    return cell.splitlines()


def from_element(element: Raw) -> Raw:
    """Returns the card of an element of the XML export."""
    participant = _first(element, "participant")
    scheme, value = participant.get("scheme"), participant.get("value")
    return {
        "pid": f"{scheme}::{value}" if scheme and value else value,
        "entities": [
            {
                "countryCode": entity.get("countrycode"),
                "identifiers": [
                    {"scheme": one.get("scheme"), "value": one.get("value")}
                    for one in entity.get("id", ())
                ],
                "regdate": _first(entity, "regdate").get("#text"),
            }
            for entity in element.get("entity", ())
        ],
        "docTypes": [
            {"scheme": one.get("scheme"), "value": one.get("value")}
            for one in element.get("doctypeid", ())
        ],
    }


def _first(element: Raw, name: str) -> Raw:
    found: Raw = next(iter(element.get(name, ())), {})
    return found


def as_cards(
    found: Iterator[RawRecord | Rejected], _file_name: str = ""
) -> Iterator[RawRecord | Rejected]:
    """Yields the cards of any export; the consecutive rows of a participant are one card."""
    card: RawRecord | None = None
    for one in found:
        if isinstance(one, Rejected) or one.text is not None:
            yield one
            continue
        if "participant" in one.raw:
            yield replace(one, raw=from_element(one.raw))
            continue
        row = replace(one, raw=from_row(one.raw))
        if card is not None and card.raw["pid"] == row.raw["pid"]:
            if len(card.raw["entities"]) == _MAX_ROWS:
                yield Rejected(one.number, one.place, f"a card of more than {_MAX_ROWS:,} rows")
            else:
                card.raw["entities"].extend(row.raw["entities"])
                card.raw["docTypes"].extend(row.raw["docTypes"])
            continue
        if card is not None:
            yield card
        card = row
    if card is not None:
        yield card
