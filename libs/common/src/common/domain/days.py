"""Days of the registers: they begin at midnight in Denmark and Norway."""

from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

#: Oslo's clocks are the same.
_COPENHAGEN: Final = ZoneInfo("Europe/Copenhagen")


def day_of(moment: datetime) -> date:
    """Returns the day in Denmark and Norway at a time."""
    return moment.astimezone(_COPENHAGEN).date()
