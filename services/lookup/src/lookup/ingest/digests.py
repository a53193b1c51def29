"""Knowing a document again without reading it: its digest is stored beside what was read from it.

Equal digests mean equal documents read by the same rules, so what is stored is what reading would
give. Whoever writes what a document gave stores that document's digest with it, or none.
"""

from enum import StrEnum
from typing import Final

from lookup.ingest.records import Kind


class Part(StrEnum):
    """What a document of some kind says something about; each part has a digest of its own."""

    COMPANY = "company"
    #: A company's owners, where they come in documents of their own.
    OWNERS = "owners"
    UNIT = "unit"
    PARTICIPANT = "participant"


PART_OF: Final[dict[Kind, Part]] = {
    Kind.NO_ENTITIES: Part.COMPANY,
    Kind.NO_UNITS: Part.UNIT,
    Kind.NO_ROLES: Part.OWNERS,
    Kind.DK_COMPANIES: Part.COMPANY,
    Kind.DK_UNITS: Part.UNIT,
    Kind.PEPPOL: Part.PARTICIPANT,
}
