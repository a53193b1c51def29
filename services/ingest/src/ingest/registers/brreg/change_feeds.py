"""The change feeds of the Norwegian register (data.brreg.no)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Annotated, Final, Protocol

from pydantic import Field

from ingest.following.register_client import Call, RegisterClient
from ingest.following.responses import PAGE, RegisterFault
from ingest.loading.progress import Cursor, Position
from ingest.records.digests import Part
from ingest.records.fields import MAX_INT64, AnyDocument, Document, Moment, Text, read_document
from ingest.records.records import Raw, RecordRejected
from ingest.registers.brreg.api import RESOURCES, Subject, embedded, listed
from ingest.registers.brreg.documents import OrganisationNumber

#: Removed for legal reasons.
_REMOVED = "Fjernet"
_JUST_BEFORE = timedelta(milliseconds=1)
#: Maximum entries per page that the feeds allow.
_MAX_ENTRIES: Final = 10_000
#: More numbers than the register has assigned in eight years. A cursor that followed an entry
#: further ahead than this would skip everything before it.
_MAX_STEP: Final = 100_000_000


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


class Update(Document):
    """An entry of the feed of entities or units."""

    oppdateringsid: Annotated[int, Field(ge=1, le=MAX_INT64)]
    dato: Moment
    organisasjonsnummer: OrganisationNumber
    endringstype: Text = None


class RoleEvent(Document):
    """A CloudEvent of the feed of roles."""

    id: Annotated[str, Field(max_length=200)]
    time: Moment
    data: Subject


@dataclass(frozen=True, slots=True)
class _Unreadable:
    fault: str
    #: The entry's number, if it is readable: its entity has changed.
    number: str | None


@dataclass(frozen=True, slots=True)
class UpdateFeed:
    """`Feed` of the entities or of the units."""

    client: RegisterClient
    part: Part
    page_size: int

    async def page(self, after: Position) -> FeedPage:
        """Returns the updates after a position; an unreadable page is read again, larger."""
        size = self.page_size
        entries = await self._entries(after, size)
        if len(entries) >= size and not _readable(entries):
            size = _MAX_ENTRIES
            entries = await self._entries(after, size)
        updates = _readable(entries)
        # The entries may be in any order.
        reached = max([after.sequence, *(update.oppdateringsid for update in updates)])
        at = max([after.at, *(update.dato for update in updates if update.dato)])
        return _page(
            entries,
            [_notice(update) for update in updates],
            Position(at, reached),
            is_full=len(entries) >= size,
            advanced=reached > after.sequence,
        )

    async def _entries(self, after: Position, size: int) -> list[Update | _Unreadable]:
        start = (
            {"oppdateringsid": str(after.sequence + 1)}
            if after.sequence
            else {"dato": _rfc3339(after.at)}
        )
        resource = RESOURCES[self.part]
        url = self.client.url(f"oppdateringer/{resource}", {**start, "size": str(size)})
        answer = await self.client.ask(Call("GET", url, limit=PAGE))
        entries = embedded(answer, f"oppdaterte{resource.capitalize()}")
        return _credible([_read(Update, entry) for entry in entries], after)


@dataclass(frozen=True, slots=True)
class RoleFeed:
    """`Feed` of the roles, which can only be requested by time."""

    client: RegisterClient
    page_size: int
    now: Callable[[], datetime]

    async def page(self, after: Position) -> FeedPage:
        """Returns the changes since a position's time that were not read before."""
        requested_at = self.now()
        # Events of the same time may be on two pages, so that time is requested again.
        size = self.page_size
        entries = await self._entries(after, size)
        if len(entries) >= size and not _fresh(entries, after):
            # More events of the same time, or more unreadable events, than fit on a page.
            size = _MAX_ENTRIES
            entries = await self._entries(after, size)
        fresh = _fresh(entries, after)
        return _page(
            entries,
            [ChangeNotice(event.data.organisasjonsnummer) for event in fresh],
            _reached(_readable(entries), after, requested_at),
            is_full=len(entries) >= size,
            advanced=bool(fresh),
        )

    async def _entries(self, after: Position, size: int) -> list[RoleEvent | _Unreadable]:
        asked = {"afterTime": _rfc3339(after.at - _JUST_BEFORE), "size": str(size)}
        url = self.client.url("oppdateringer/roller", asked)
        entries = listed((await self.client.ask(Call("GET", url, limit=PAGE))).content)
        return [_read(RoleEvent, entry) for entry in entries]


def _page(
    entries: Sequence[AnyDocument | _Unreadable],
    notices: Sequence[ChangeNotice],
    position: Position,
    *,
    is_full: bool,
    advanced: bool,
) -> FeedPage:
    """Returns a page; raises RegisterFault for a full one that does not advance the cursor.

    Unreadable entries at the end are not passed: the next request returns them again. They are
    counted if the feed ends with them.
    """
    if is_full and not advanced:
        raise RegisterFault(f"{len(entries):,} consecutive entries without a readable position")
    trailing = sum(1 for _ in takewhile(lambda e: isinstance(e, _Unreadable), reversed(entries)))
    counted = entries[: len(entries) - trailing] if is_full else entries
    unreadable = [entry for entry in counted if isinstance(entry, _Unreadable)]
    return FeedPage(
        (*notices, *(ChangeNotice(entry.number) for entry in unreadable if entry.number)),
        position,
        is_last=not is_full,
        faults=tuple(entry.fault for entry in unreadable),
        unreadable_tail=0 if is_full else trailing,
    )


def _read(model: type[AnyDocument], entry: Raw) -> AnyDocument | _Unreadable:
    try:
        return read_document(model, entry)
    except RecordRejected as refusal:
        return _Unreadable(f"entry of the feed: {refusal}", _number(entry))


def _number(entry: Raw) -> str | None:
    """Returns the number of an entry: at its top level, or in an event's data."""
    data = entry.get("data", entry)
    try:
        return read_document(Subject, data if isinstance(data, dict) else {}).organisasjonsnummer
    except RecordRejected:
        return None


def _credible(
    entries: Sequence[Update | _Unreadable], after: Position
) -> list[Update | _Unreadable]:
    """Returns the entries; one far ahead of the others and of the cursor counts as unreadable."""
    lowest = min((update.oppdateringsid for update in _readable(entries)), default=0)
    highest = (after.sequence or lowest) + _MAX_STEP
    return [
        _Unreadable("entry of the feed: oppdateringsid: too far ahead", entry.organisasjonsnummer)
        if isinstance(entry, Update) and entry.oppdateringsid > highest
        else entry
        for entry in entries
    ]


def _readable(entries: Iterable[AnyDocument | _Unreadable]) -> list[AnyDocument]:
    return [entry for entry in entries if not isinstance(entry, _Unreadable)]


def _fresh(entries: Iterable[RoleEvent | _Unreadable], after: Position) -> list[RoleEvent]:
    return [event for event in _readable(entries) if event.id not in after.seen]


def _notice(update: Update) -> ChangeNotice:
    return ChangeNotice(
        update.organisasjonsnummer,
        update.oppdateringsid,
        update.dato,
        removed=update.endringstype == _REMOVED,
    )


def _reached(events: Sequence[RoleEvent], after: Position, requested_at: datetime) -> Position:
    """Returns the position; raises RegisterFault for too many events of one time to remember.

    An event dated in the future does not move the position, which would skip everything before it.
    Like one without a time it is remembered by its id, so that a full page of them still advances.
    """
    times = (event.time for event in events if event.time and event.time <= requested_at)
    reached = max([after.at, *times])
    seen = {event.id for event in events if event.time is None or event.time >= reached}
    if reached == after.at:
        seen |= set(after.seen)
    if len(seen) > 2 * _MAX_ENTRIES:
        raise RegisterFault(f"the feed has over {len(seen) - 1:,} events of one time")
    return Position(reached, seen=tuple(sorted(seen)))


def _rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
