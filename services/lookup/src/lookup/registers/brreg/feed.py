"""The Norwegian register (data.brreg.no): its answers about numbers, its files."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lookup.ingest import feeds
from lookup.ingest.bodies import PAGE
from lookup.ingest.digests import Part
from lookup.ingest.document_fields import Day, Document, read_document
from lookup.ingest.files.raw_records import Raw
from lookup.ingest.http_client import Answer, Call, RegisterClient
from lookup.ingest.reading import parse
from lookup.ingest.records import CompanyRecord, OwnersRecord, RecordRejected, UnitRecord
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import RegisterFault
from lookup.registers.brreg.documents import OrganisationNumber

#: The name of each part in the addresses, and its whole file.
RESOURCES: Final = {Part.COMPANY: "enheter", Part.UNIT: "underenheter"}
FILES: Final = {
    Part.COMPANY: "enheter/lastned",
    Part.UNIT: "underenheter/lastned",
    Part.OWNERS: "roller/totalbestand",
}

_NUMBER = "organisasjonsnummer"
#: One number that the register takes for none must not hold up the feed.
_REFUSED: Final = feeds.Unusable("the register refuses the number")


class End(Document):
    """The last day of an entity or unit that the register has deleted."""

    slettedato: Day = None


class Subject(Document):
    organisasjonsnummer: OrganisationNumber


class BrregEntities:
    """`Entities` for entities and units: in lists, and one by one what a list leaves out."""

    def __init__(self, client: RegisterClient, source: RegisterSource) -> None:
        self._client = client
        self._source = source
        self._resource = RESOURCES[source.part]

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, feeds.Answer]:
        documents = await self._list(numbers)
        return {
            number: _meaning(self._source, documents[number])
            if number in documents
            else await self._one(number)
            for number in numbers
        }

    async def _list(self, numbers: Sequence[str]) -> Mapping[str, Raw]:
        """What the register has of them in one answer; nothing where it refuses the list."""
        asked = {_NUMBER: ",".join(numbers), "size": str(len(numbers))}
        url = self._client.url(self._resource, asked)
        answer = await self._client.ask(Call("GET", url, accepted=(200, 400), limit=PAGE))
        if answer.status == 400:
            # It does not tell which number it refuses, and the others are wanted.
            return {}
        return {str(raw.get(_NUMBER)): raw for raw in embedded(answer, self._resource)}

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
                return _end(self._source, {**raw, _NUMBER: number})
            case _:
                return _meaning(self._source, {**raw, _NUMBER: number})


class BrregRoles:
    """`Entities` for roles, which are told of one company at a time."""

    def __init__(self, client: RegisterClient, source: RegisterSource) -> None:
        self._client = client
        self._source = source

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
        return _meaning(self._source, {**answer.content, _NUMBER: number})


def _meaning(source: RegisterSource, raw: Raw) -> feeds.Answer:
    """What a document says of its subject, which may have ended."""
    try:
        end = read_document(End, raw).slettedato
        record = parse(source.parse, raw)
    except RecordRejected as refusal:
        return feeds.Unusable(str(refusal))
    match record:
        case CompanyRecord() | UnitRecord():
            return feeds.Present(record) if end is None else feeds.Ended(end, record)
        case OwnersRecord():
            return feeds.Present(record)
        case _:
            return feeds.Unusable(f"it is no record of {source.name}")


def _end(source: RegisterSource, raw: Raw) -> feeds.Answer:
    """What is told of one that has ended: its last day, and perhaps no more."""
    told = _meaning(source, raw)
    if not isinstance(told, feeds.Unusable):
        return told
    try:
        end = read_document(End, raw).slettedato
    except RecordRejected:
        return told
    return told if end is None else feeds.Ended(end)


def embedded(answer: Answer, name: str) -> Sequence[Raw]:
    """The list of a HAL answer, which leaves out an empty one."""
    content = answer.content
    if not isinstance(content, dict):
        raise RegisterFault("an answer is not an object")
    found = content.get("_embedded") or {}
    if not isinstance(found, dict):
        raise RegisterFault("_embedded: it is not an object")
    return listed(found.get(name, []))


def listed(content: Any) -> Sequence[Raw]:
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise RegisterFault("an answer is not a list of objects")
    return content
