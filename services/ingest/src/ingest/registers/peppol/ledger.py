"""The ledger of the Peppol Directory: each member of a business card, read as or left out because.

Collected from the directory's own software. Tables and XML become cards of what is read alone.
"""

from collections.abc import Mapping
from typing import Final

from ingest.records.fields import Document
from ingest.records.ledger import Ledger, Members
from ingest.registers.peppol.business_cards import (
    BusinessCard,
    CardEntity,
    CardIdentifier,
    DocumentType,
)

_OF_THE_HOLDER: Final = "the register of the holder's country has it"
_OF_THE_TYPE: Final = "follows from the type of documents"

MEMBERS: Final[Mapping[type[Document], Members]] = {
    BusinessCard: Members(
        {
            "pid": "identifier, scheme",
            "entities": "whose identifier it is",
            "docTypes": "document_types",
        }
    ),
    CardEntity: Members(
        {
            "countryCode": "whether it is of this register",
            "identifiers": "whose identifier it is",
            "regdate": "registered",
        },
        {
            **dict.fromkeys(("names", "geoinfo", "websiteURIs", "additionalInfo"), _OF_THE_HOLDER),
            "contacts": "of persons (docs/privacy.md)",
        },
    ),
    CardIdentifier: Members(dict.fromkeys(("scheme", "value"), "whose identifier it is")),
    DocumentType: Members(
        dict.fromkeys(("scheme", "value"), "document_types"),
        dict.fromkeys(("displayName", "state", "nonStandard"), _OF_THE_TYPE),
    ),
}

CARDS: Final = Ledger.of(BusinessCard, MEMBERS)
