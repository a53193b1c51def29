"""Collections of the register's database, and the fields that are read.

A release may read more of a document than the one before. A company that an earlier one stored is
updated when its document is next read, with a new revision and without an event, since the company
itself did not change (ADR 0020).
"""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from common.contracts.company import Company
from register_store.canonical_json import dump

COMPANIES = "companies"
#: A field of companies: the names that a company had here before a rename.
HELD_NAMES = "held_names"
UNITS = "production_units"
PARTICIPANTS = "participants"
TOMBSTONES = "tombstones"
#: What is to come of companies and units, until its day (ADR 0068).
UPCOMING = "upcoming"
LOADS = "loads"
CURSORS = "cursors"
OUTBOX = "outbox"
#: One document: the revisions up to `skipped` were used before a restore.
REVISIONS = "revisions"
#: The order of the outbox's published events (ADR 0024).
EVENT_BATCHES = "event_batches"

#: Published events are deleted this long after the retention, so that a reader whose cursor has not
#: expired misses none.
EXPIRY_MARGIN = timedelta(minutes=10)

Document = dict[str, Any]

_FIELDS: Final = tuple(f'"{name}":'.encode() for name in Company.model_fields)


class CompanyRow(NamedTuple):
    """The stored parts of a response."""

    revision: int
    core: bytes
    #: A JSON list, or JSON null if unknown.
    owners: bytes
    roles: bytes
    updated_at: datetime | None


def is_outdated(core: bytes) -> bool:
    """Returns True if an earlier release stored the company: a field of this release is missing."""
    found = 0
    for field in _FIELDS:  # In their order, so that the text is read once.
        found = core.find(field, found)
        if found < 0:
            return True
    return False


def completed(core: bytes) -> bytes:
    """Returns the stored company with every field of this release; missing ones are null."""
    return dump(Company.model_validate_json(core)) if is_outdated(core) else core


#: The fields of a company that `row_of` reads.
ROW_FIELDS = {"revision": 1, "core": 1, "owners": 1, "roles": 1, "updated_at": 1}


def row_of(document: Document) -> CompanyRow:
    """Returns the parts of a response from a document with `ROW_FIELDS`."""
    return CompanyRow(
        document["revision"],
        document["core"],
        document["owners"] or b"null",
        document.get("roles") or b"null",
        document.get("updated_at"),
    )
