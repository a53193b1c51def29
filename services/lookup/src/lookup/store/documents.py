"""Collections of the register's database."""

from datetime import timedelta
from typing import Any

COMPANIES = "companies"


UNITS = "production_units"


PARTICIPANTS = "participants"


TOMBSTONES = "tombstones"


LOADS = "loads"


CURSORS = "cursors"


#: A field of companies: the names that a company had here before a rename.
HELD_NAMES = "held_names"
OUTBOX = "outbox"
#: One document: the revisions up to `skipped` were given out before a restore.
REVISIONS = "revisions"
#: The order of the outbox's published events (ADR 0024).
EVENT_BATCHES = "event_batches"

#: Published events are deleted this long after the retention, so that a reader whose cursor has not
#: expired misses none.
EXPIRY_MARGIN = timedelta(minutes=10)


Document = dict[str, Any]
