"""The Norwegian register's interface: entities, lists, and the feeds of their changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from itertools import takewhile
from typing import Annotated, Any, Final

from pydantic import Field

from ingest.changes.unit_plans import Ended
from ingest.following.register_client import PAGE, Answer, Call, RegisterClient, RegisterFault
from ingest.loading.stores import Cursor, Position
from ingest.records.fields import MAX_INT64, AnyDocument, Day, Document, Moment, Text, read_document
from ingest.records.records import CompanyRecord, OwnersRecord, Raw, RecordRejected, UnitRecord
from ingest.records.source import Part, RegisterSource, parse
from ingest.registers.brreg.documents import OrganisationNumber

#: The name of each part in URLs, and its whole file. Roles are below their entities.
RESOURCES: Final = {
    Part.COMPANY: "enheter",
    Part.UNIT: "underenheter",
    Part.OWNERS: "enheter",
}
FILES: Final = {
    Part.COMPANY: "enheter/lastned",
    Part.UNIT: "underenheter/lastned",
    Part.OWNERS: "roller/totalbestand",
}

_NUMBER = "organisasjonsnummer"


@dataclass(frozen=True, slots=True)
class Present:
    """The register's current record."""

    record: CompanyRecord | UnitRecord | OwnersRecord


class Absent(Enum):
    """Why the register has no record of a number."""

    #: Removed for legal reasons; every copy has to be removed too.
    REMOVED = "removed"
    #: An entity that the register has, of which it gives no roles any more.
    WITHOUT_ROLES = "without_roles"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Unusable:
    """The answer cannot be read."""

    reason: str


#: The register's answer about one number.
AboutNumber = Present | Ended | Absent | Unusable
#: A number that the register rejects must not block the feed.
_REFUSED: Final = Unusable("the register refuses the number")


class End(Document):
    """The end of an entity or unit, if the register has deleted it."""

    #: `SlettetEnhet` or `SlettetUnderEnhet` of a deleted one.
    respons_klasse: Text = Field(default=None, alias="respons_klasse")
    slettedato: Day = None

    def is_past(self, today: date) -> bool:
        """Returns True if the register has deleted the entity or unit, and not on a later day."""
        if (self.respons_klasse or "").startswith("Slettet"):
            return True
        return self.slettedato is not None and self.slettedato <= today.isoformat()


class Subject(Document):
    """The entity that an entry of a feed is about."""

    organisasjonsnummer: OrganisationNumber


@dataclass(frozen=True, slots=True)
class BrregEntities:
    """Entities, units or roles. Raises RegisterUnavailable and RegisterFault."""

    client: RegisterClient
    source: RegisterSource
    today: Callable[[], date]

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, AboutNumber]:
        """Returns the register's current answer for each number: from a list, or one by one."""
        documents = {} if self.source.part is Part.OWNERS else await self._list(numbers)
        return {
            number: self._meaning(documents[number])
            if number in documents
            else await self._one(number)
            for number in numbers
        }

    async def _list(self, numbers: Sequence[str]) -> Mapping[str, Raw]:
        """Returns the documents of numbers from one response; none if the list is rejected."""
        resource = RESOURCES[self.source.part]
        url = self.client.url(resource, {_NUMBER: ",".join(numbers), "size": str(len(numbers))})
        answer = await self.client.ask(Call("GET", url, accepted=(200, 400), limit=PAGE))
        if answer.status == 400:
            # The response does not name the rejected number, and the others are still needed.
            return {}
        return {str(raw.get(_NUMBER)): raw for raw in embedded(answer, resource)}

    async def _one(self, number: str) -> AboutNumber:
        """Returns the answer about one number; lists contain neither ended nor removed entities."""
        are_roles = self.source.part is Part.OWNERS
        path = f"{RESOURCES[self.source.part]}/{number}{'/roller' if are_roles else ''}"
        url = self.client.url(path)
        answer = await self.client.ask(Call("GET", url, accepted=(200, 400, 404, 410)))
        if answer.status == 400:
            return _REFUSED
        is_document = isinstance(answer.content, dict)
        if are_roles and answer.status in (404, 410):
            return await self._of_roles(number)
        if answer.status == 404 or (are_roles and not is_document):
            return Absent.UNKNOWN
        if answer.status == 410:
            # Its body may have a `slettedato`, as that of a deleted one, which is a 200.
            return Absent.REMOVED
        return self._meaning({**(answer.content if is_document else {}), _NUMBER: number})

    async def _of_roles(self, number: str) -> Absent:
        """Returns what it means that the register gives no roles of a number.

        Of an entity that it has, deleted or not, it gives none. Of another one nothing is known:
        the feed of companies reports a removal.
        """
        url = self.client.url(f"{RESOURCES[Part.OWNERS]}/{number}")
        answer = await self.client.ask(Call("GET", url, accepted=(200, 400, 404, 410)))
        is_entity = answer.status == 200 and isinstance(answer.content, dict)
        is_entity = is_entity and str(answer.content.get(_NUMBER)) == number
        return Absent.WITHOUT_ROLES if is_entity else Absent.UNKNOWN

    def _meaning(self, raw: Raw) -> AboutNumber:
        """Returns the answer of a document; that of a deleted subject has little but its end."""
        today, end = self.today(), End()
        try:
            end = read_document(End, raw)
            record = parse(self.source.parse, raw, today, self.source.ledger)
        except RecordRejected as refusal:
            return Ended(end.slettedato) if end.is_past(today) else Unusable(str(refusal))
        match record:
            case CompanyRecord() | UnitRecord():
                return Ended(end.slettedato, record) if end.is_past(today) else Present(record)
            case OwnersRecord():
                return Present(record)
            case _:
                return Unusable(f"not a record of {self.source.name}")


#: Of these a list has some, also an empty one.
_HAL: Final = frozenset({"_embedded", "_links", "page"})


def embedded(answer: Answer, name: str) -> Sequence[Raw]:
    """Returns the list of a HAL response, which omits an empty one."""
    content = answer.content
    if not isinstance(content, dict):
        raise RegisterFault("the response is not an object")
    if _HAL.isdisjoint(content):
        raise RegisterFault("the response is no list of the register")
    found = content.get("_embedded") or {}
    if not isinstance(found, dict):
        raise RegisterFault("_embedded: not an object")
    return listed(found.get(name, []))


def listed(content: Any) -> Sequence[Raw]:
    """Returns the objects of a response; raises RegisterFault if it is not a list of them."""
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise RegisterFault("the response is not a list of objects")
    return content


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
    """The feed of the entities or of the units."""

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
            [
                ChangeNotice(
                    update.organisasjonsnummer,
                    update.oppdateringsid,
                    update.dato,
                    removed=update.endringstype == _REMOVED,
                )
                for update in updates
            ],
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
    """The feed of the roles, which can only be requested by time."""

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


#: A feed of changes; their pages raise RegisterUnavailable and RegisterFault.
Feed = UpdateFeed | RoleFeed


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
