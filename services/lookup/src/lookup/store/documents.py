"""Collections of the register's database."""

from typing import Any

COMPANIES = "companies"


UNITS = "production_units"


PARTICIPANTS = "participants"


TOMBSTONES = "tombstones"


LOADS = "loads"


CURSORS = "cursors"


OUTBOX = "outbox"


Document = dict[str, Any]
