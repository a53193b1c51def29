"""Collections of the register's database."""

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


Document = dict[str, Any]
