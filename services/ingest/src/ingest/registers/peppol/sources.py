"""The Peppol Directory (directory.peppol.eu): its export of all business cards."""

from typing import Final

from common.domain.numbers import InvalidIdentifier, parse_participant
from ingest.records.digests import Part
from ingest.records.records import Raw
from ingest.records.source import RawRecords, RegisterSource
from ingest.registers.peppol.business_cards import (
    DIALECT,
    ELEMENT,
    as_cards,
    participant_record,
)


def _key(raw: Raw) -> str | None:
    identifier = raw.get("pid")
    try:
        return str(parse_participant(identifier)) if isinstance(identifier, str) else None
    except InvalidIdentifier:
        return None


def _documents(found: RawRecords, _file_name: str) -> RawRecords:
    return as_cards(found)


PEPPOL: Final = RegisterSource(
    name="peppol",
    part=Part.PARTICIPANT,
    country=None,
    parse=participant_record,
    key=_key,
    dialect=DIALECT,
    element=ELEMENT,
    documents=_documents,
)

SOURCES: Final = (PEPPOL,)
