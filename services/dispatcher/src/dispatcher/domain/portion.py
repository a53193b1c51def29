"""How many due deliveries a lane takes at a time."""

from datetime import timedelta

#: Taken at first: twice what is in flight to one webhook, so that a slot need not wait for rows.
FIRST = 8
LEAST = 4
MOST = 64

#: Worked off sooner than this, more at a time spare the database.
_SOON = timedelta(seconds=0.5)
#: Later than this, fewer do: what is taken has a lease, and nobody else takes it meanwhile.
_LATE = timedelta(seconds=2)


def next_portion(last: int, took: timedelta) -> int:
    """After one of `last` deliveries, which found their slots in this time."""
    if took < _SOON:
        return min(2 * last, MOST)
    if took > _LATE:
        return max(last // 2, LEAST)
    return last
