"""Change notices of the Norwegian feeds."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from lookup.loading.progress import Cursor, Position


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """An entry of a feed: the number of a changed entity, hardly ever its new content."""

    number: str
    sequence: int = 0
    #: The register's time of the change; None if the entry has none.
    at: datetime | None = None
    #: True if the register orders the removal (`Fjernet`).
    removed: bool = False


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of a change feed."""

    notices: tuple[ChangeNotice, ...]
    #: The position of the next page.
    position: Position
    #: True if the feed ends with this page.
    is_last: bool
    #: Errors of unreadable entries.
    faults: tuple[str, ...] = ()
    #: Unreadable entries at the end of the feed; the position is before them.
    unreadable_tail: int = 0


class Feed(Protocol):
    """A feed of changes. Raises RegisterUnavailable and RegisterFault."""

    async def page(self, after: Position) -> FeedPage:
        """Returns the entries after a position, the oldest first."""


def split_notices(notices: Iterable[ChangeNotice]) -> tuple[list[str], list[ChangeNotice]]:
    """Returns the numbers to remove, and the last notice of each number to fetch."""
    removed: dict[str, None] = {}
    changed: dict[str, ChangeNotice] = {}
    for notice in notices:
        if notice.removed:
            removed[notice.number] = None
        elif notice.sequence >= changed.get(notice.number, notice).sequence:
            changed[notice.number] = notice
    return list(removed), [one for one in changed.values() if one.number not in removed]


def after_page(cursor: Cursor, page: FeedPage, requested_at: datetime) -> Cursor:
    """Returns the cursor after a page, requested at `requested_at`, was stored."""
    reached_end = page.is_last and not page.unreadable_tail
    until = requested_at if reached_end else max(cursor.until, min(page.position.at, requested_at))
    return replace(cursor, position=page.position, until=until)
