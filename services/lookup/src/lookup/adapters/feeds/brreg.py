"""The Norwegian register (data.brreg.no): its feeds, its answers about numbers, its files."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lookup.adapters.feeds.http import Answer, Call, RegisterClient
from lookup.adapters.registers.brreg_documents import OrganisationNumber
from lookup.adapters.registers.documents import (
    AnyDocument,
    Day,
    Document,
    Moment,
    Text,
    read_document,
)
from lookup.adapters.registers.files import Raw
from lookup.adapters.registers.reading import parse
from lookup.domain import feeds
from lookup.domain.feeds import FeedPage, Mention, Position
from lookup.domain.records import (
    CompanyRecord,
    Kind,
    OwnersRecord,
    RecordRefused,
    UnitRecord,
)
from lookup.usecases.sync.sources import RegisterFault

#: What each kind is called in the addresses, and its whole file.
RESOURCES: Final = {Kind.NO_ENTITIES: "enheter", Kind.NO_UNITS: "underenheter"}
FILES: Final = {
    Kind.NO_ENTITIES: "enheter/lastned",
    Kind.NO_UNITS: "underenheter/lastned",
    Kind.NO_ROLES: "roller/totalbestand",
}

#: Removed for legal reasons.
_REMOVED = "Fjernet"
_JUST_BEFORE = timedelta(milliseconds=1)
#: The most entries that a feed gives at a time.
_MOST_ENTRIES: Final = 10_000
_NUMBER = "organisasjonsnummer"
#: One number that the register takes for none must not hold up the feed.
_REFUSED: Final = feeds.Unusable("the register refuses the number")


class Update(Document):
    """An entry of the feed of entities or units."""

    oppdateringsid: int
    dato: Moment
    organisasjonsnummer: OrganisationNumber
    endringstype: Text = None


class End(Document):
    """The last day of an entity or unit that the register has deleted."""

    slettedato: Day = None


class Subject(Document):
    organisasjonsnummer: OrganisationNumber


class RoleEvent(Document):
    """A CloudEvent of the feed of roles."""

    id: str
    time: Moment
    data: Subject


class UpdateFeed:
    """`Feed` of the entities or of the units."""

    def __init__(self, client: RegisterClient, kind: Kind, *, page_size: int) -> None:
        self._client = client
        self._resource = RESOURCES[kind]
        self._size = page_size

    async def page(self, after: Position) -> FeedPage:
        start = (
            {"oppdateringsid": str(after.sequence + 1)}
            if after.sequence
            else {"dato": _rfc3339(after.at)}
        )
        url = self._client.url(
            f"oppdateringer/{self._resource}", {**start, "size": str(self._size)}
        )
        answer = await self._client.ask(Call("GET", url))
        entries = _embedded(answer, f"oppdaterte{self._resource.capitalize()}")
        updates, faults = _read_all(Update, entries)
        # The order of the entries is not relied on, and one that is no good is passed all the same.
        reached = max([after.sequence, *(_sequence(entry) for entry in entries)])
        at = max([after.at, *(update.dato for update in updates if update.dato)])
        return FeedPage(
            tuple(
                Mention(
                    update.organisasjonsnummer,
                    update.oppdateringsid,
                    update.dato,
                    removed=update.endringstype == _REMOVED,
                )
                for update in updates
            ),
            Position(at, reached),
            is_last=len(entries) < self._size or reached == after.sequence,
            faults=faults,
        )


class RoleFeed:
    """`Feed` of the roles, which can only be asked for what came after a time."""

    def __init__(
        self, client: RegisterClient, *, page_size: int, now: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._size = page_size
        self._now = now

    async def page(self, after: Position) -> FeedPage:
        asked_at = self._now()
        # Several events may have one time and fall on two pages, so that time is asked for again.
        entries = await self._entries(after.at - _JUST_BEFORE, self._size)
        if len(entries) >= self._size and all(entry.get("id") in after.seen for entry in entries):
            # More of them than fit on a page.
            entries = await self._entries(after.at - _JUST_BEFORE, _MOST_ENTRIES)
        events, faults = _read_all(RoleEvent, entries)
        fresh = [event for event in events if event.id not in after.seen]
        # One that is dated ahead is told now and moves nothing: it would hide all that comes until
        # then. Like one without a time it is known by its id, so that a full page of them is no
        # page without an end.
        times = (event.time for event in events if event.time and event.time <= asked_at)
        reached = max([after.at, *times])
        seen = {event.id for event in events if event.time is None or event.time >= reached}
        if reached == after.at:
            seen |= set(after.seen)
        return FeedPage(
            tuple(Mention(event.data.organisasjonsnummer) for event in fresh),
            Position(reached, seen=tuple(sorted(seen))),
            is_last=len(entries) < self._size or not fresh,
            faults=faults,
        )

    async def _entries(self, after: datetime, size: int) -> Sequence[Raw]:
        asked = {"afterTime": _rfc3339(after), "size": str(size)}
        answer = await self._client.ask(
            Call("GET", self._client.url("oppdateringer/roller", asked))
        )
        return _listed(answer.content)


class BrregEntities:
    """`Entities` for entities and units: in lists, and one by one what a list leaves out."""

    def __init__(self, client: RegisterClient, kind: Kind) -> None:
        self._client = client
        self._kind = kind
        self._resource = RESOURCES[kind]

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, feeds.Answer]:
        documents = await self._list(numbers)
        return {
            number: _meaning(self._kind, documents[number])
            if number in documents
            else await self._one(number)
            for number in numbers
        }

    async def _list(self, numbers: Sequence[str]) -> Mapping[str, Raw]:
        """What the register has of them in one answer; nothing where it refuses the list."""
        asked = {_NUMBER: ",".join(numbers), "size": str(len(numbers))}
        url = self._client.url(self._resource, asked)
        answer = await self._client.ask(Call("GET", url, accepted=(200, 400)))
        if answer.status == 400:
            # It does not tell which number it refuses, and the others are wanted.
            return {}
        return {raw.get(_NUMBER, ""): raw for raw in _embedded(answer, self._resource)}

    async def _one(self, number: str) -> feeds.Answer:
        """A list has neither what has ended nor what is gone."""
        url = self._client.url(f"{self._resource}/{number}")
        answer = await self._client.ask(Call("GET", url, accepted=(200, 400, 404, 410)))
        raw = answer.content if isinstance(answer.content, dict) else {}
        match answer.status:
            case 400:
                return _REFUSED
            case 404:
                return feeds.Unknown()
            case 410 if not raw.get("slettedato"):
                return feeds.Gone()
            case 410:
                return _end(self._kind, {_NUMBER: number, **raw})
            case _:
                return _meaning(self._kind, {_NUMBER: number, **raw})


class BrregRoles:
    """`Entities` for roles, which are told of one company at a time."""

    def __init__(self, client: RegisterClient) -> None:
        self._client = client

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, feeds.Answer]:
        return {number: await self._one(number) for number in numbers}

    async def _one(self, number: str) -> feeds.Answer:
        url = self._client.url(f"enheter/{number}/roller")
        answer = await self._client.ask(Call("GET", url, accepted=(200, 400, 404, 410)))
        if answer.status == 400:
            return _REFUSED
        # Whether a company is gone is for the feed of the companies to tell.
        if answer.status != 200 or not isinstance(answer.content, dict):
            return feeds.Unknown()
        return _meaning(Kind.NO_ROLES, {_NUMBER: number, **answer.content})


def _meaning(kind: Kind, raw: Raw) -> feeds.Answer:
    """What a document says of its subject, which may have ended."""
    try:
        end = read_document(End, raw).slettedato
        record = parse(kind, raw)
    except RecordRefused as refusal:
        return feeds.Unusable(str(refusal))
    match record:
        case CompanyRecord() | UnitRecord():
            return feeds.Present(record) if end is None else feeds.Ended(end, record)
        case OwnersRecord():
            return feeds.Present(record)
        case _:
            return feeds.Unusable(f"it is no record of {kind}")


def _end(kind: Kind, raw: Raw) -> feeds.Answer:
    """What is told of one that has ended: its last day, and perhaps no more."""
    told = _meaning(kind, raw)
    if not isinstance(told, feeds.Unusable):
        return told
    try:
        end = read_document(End, raw).slettedato
    except RecordRefused:
        return told
    return told if end is None else feeds.Ended(end)


def _read_all(
    kind: type[AnyDocument], entries: Sequence[Raw]
) -> tuple[list[AnyDocument], tuple[str, ...]]:
    """The entries that can be read, and what is wrong with the others."""
    found, faults = [], []
    for entry in entries:
        try:
            found.append(read_document(kind, entry))
        except RecordRefused as refusal:
            faults.append(f"entry of the feed: {refusal}")
    return found, tuple(faults)


def _sequence(entry: Raw) -> int:
    sequence = entry.get("oppdateringsid")
    return sequence if type(sequence) is int else 0


def _embedded(answer: Answer, name: str) -> Sequence[Raw]:
    """The list of a HAL answer, which leaves out an empty one."""
    content = answer.content
    if not isinstance(content, dict):
        raise RegisterFault("an answer is not an object")
    embedded = content.get("_embedded") or {}
    if not isinstance(embedded, dict):
        raise RegisterFault("_embedded: it is not an object")
    return _listed(embedded.get(name, []))


def _listed(content: Any) -> Sequence[Raw]:
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise RegisterFault("an answer is not a list of objects")
    return content


def _rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
