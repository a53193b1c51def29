"""E-invoicing participants from the business cards of the Peppol Directory.

The export is JSON, or CSV with a row for each entity on a card.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final

from common.contracts.company import CompanyKey, Country, EinvoicingEntry, UnitKey
from common.domain.numbers import InvalidIdentifier
from common.domain.participants import Participant, parse_participant
from lookup.records.csv_records import Dialect
from lookup.records.fields import Day, Document, Many, Text, Word, read_document, required
from lookup.records.raw_records import RawRecord
from lookup.records.records import OutOfScope, ParticipantRecord, Raw, RecordRejected, Rejected

DIALECT = Dialect(
    encoding="iso-8859-1",
    first_column=b"Participant ID",
    row_start=re.compile(rb'"?iso6523-actorid-upis::', re.IGNORECASE),
)

#: Names of the schemes on business cards, without punctuation.
_SCHEMES_BY_NAME: Final = {
    "DKCVR": "0184",
    "CVR": "0184",
    "DKDIGST": "0184",
    "DKVAT": "0184",
    "DKP": "0096",
    "DKPNR": "0096",
    "PNR": "0096",
    "NOORG": "0192",
    "NOORGNR": "0192",
    "ORGNR": "0192",
    "NOVAT": "0192",
}
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
    if not _is_ours(identifier, card):
        return _ELSEWHERE
    return ParticipantRecord.of(
        EinvoicingEntry(
            identifier=str(identifier),
            scheme=identifier.scheme,
            document_types=_document_types(card),
            registered=min((day.regdate for day in card.entities if day.regdate), default=None),
        ),
        holder=identifier.holder or _holder_on(card),
        version=None,
        odd=card.odd,
    )


def _is_ours(identifier: Participant, card: BusinessCard) -> bool:
    """Returns True by the scheme, or for an international one by the countries on the card."""
    if identifier.country is not None:
        return True
    return any((entity.country_code or "").lower() in _OURS for entity in card.entities)


def _holder_on(card: BusinessCard) -> CompanyKey | UnitKey | None:
    """Returns the holder: a company rather than a unit, since its number is the shorter one."""
    holders = (
        holder_on_card(identifier.scheme or "", identifier.value)
        for entity in card.entities
        for identifier in entity.identifiers
        if identifier.value
    )
    return min((holder for holder in holders if holder is not None), key=len, default=None)


def holder_on_card(scheme: str, value: str) -> CompanyKey | UnitKey | None:
    """Returns the company or unit of an identifier on a business card; None if it is unreadable.

    Cards are written by hand: the scheme may be a code or a name such as `DK:CVR`, and the value
    may repeat the scheme or the country's letters.
    """
    name = _PUNCTUATION.sub("", scheme).upper()
    if name == "VAT":
        name = value.strip()[:2].upper() + name
    code = _SCHEMES_BY_NAME.get(name, name)
    for text in (value, f"{code}:{value}"):
        try:
            return parse_participant(text).holder
        except InvalidIdentifier:
            continue
    return None


def _document_types(card: BusinessCard) -> tuple[str, ...]:
    """Returns the types in order, since the directory keeps none."""
    given = {
        f"{doc_type.scheme}::{doc_type.value}" if doc_type.scheme else doc_type.value
        for doc_type in card.doc_types
    }
    return tuple(sorted(doc_type for doc_type in given if doc_type))


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


def with_joined_rows(found: Iterator[RawRecord | Rejected]) -> Iterator[RawRecord | Rejected]:
    """Joins the consecutive rows of a participant into one card."""
    card: RawRecord | None = None
    for one in found:
        if isinstance(one, Rejected) or one.text is not None:
            yield one
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
