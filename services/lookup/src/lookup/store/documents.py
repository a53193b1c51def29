"""Collections of the register's database, and what is read of them."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

COMPANIES = "companies"
#: A field of companies: the names that a company had here before a rename.
HELD_NAMES = "held_names"
UNITS = "production_units"
PARTICIPANTS = "participants"
TOMBSTONES = "tombstones"
LOADS = "loads"
CURSORS = "cursors"
OUTBOX = "outbox"
#: One document: the revisions up to `skipped` were given out before a restore.
REVISIONS = "revisions"
#: The order of the outbox's published events (ADR 0024).
EVENT_BATCHES = "event_batches"

#: Published events are deleted this long after the retention, so that a reader whose cursor has not
#: expired misses none.
EXPIRY_MARGIN = timedelta(minutes=10)

Document = dict[str, Any]


class CompanyRow(NamedTuple):
    """The stored parts of a response."""

    revision: int
    core: bytes
    #: A JSON list, or JSON null if unknown.
    owners: bytes
    roles: bytes
    updated_at: datetime | None
