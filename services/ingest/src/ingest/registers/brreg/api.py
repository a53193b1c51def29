"""The interface of the Norwegian register (data.brreg.no): answers about numbers, and files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pydantic import Field

from ingest.changes.ended import Ended
from ingest.following.register_client import Answer, Call, RegisterClient
from ingest.following.responses import PAGE, RegisterFault
from ingest.records.digests import Part
from ingest.records.fields import Day, Document, Text, read_document
from ingest.records.records import CompanyRecord, OwnersRecord, Raw, RecordRejected, UnitRecord
from ingest.records.source import RegisterSource, parse
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


@dataclass(frozen=True, slots=True)
class Gone:
    """Removed for legal reasons; every copy has to be removed too."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The register has no such number."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The answer cannot be read."""

    reason: str


#: The register's answer about one number.
AboutNumber = Present | Ended | Gone | Unknown | Unusable
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
        # The feed of companies reports whether a company with roles was removed.
        if answer.status == 404 or (are_roles and not (answer.status == 200 and is_document)):
            return Unknown()
        if answer.status == 410:
            # Its body may have a `slettedato`, as that of a deleted one, which is a 200.
            return Gone()
        return self._meaning({**(answer.content if is_document else {}), _NUMBER: number})

    def _meaning(self, raw: Raw) -> AboutNumber:
        """Returns the answer of a document; that of a deleted subject has little but its end."""
        today, end = self.today(), End()
        try:
            end = read_document(End, raw)
            record = parse(self.source.parse, raw, today)
        except RecordRejected as refusal:
            return Ended(end.slettedato) if end.is_past(today) else Unusable(str(refusal))
        match record:
            case CompanyRecord() | UnitRecord():
                return Ended(end.slettedato, record) if end.is_past(today) else Present(record)
            case OwnersRecord():
                return Present(record)
            case _:
                return Unusable(f"not a record of {self.source.name}")


def embedded(answer: Answer, name: str) -> Sequence[Raw]:
    """Returns the list of a HAL response, which omits an empty one."""
    content = answer.content
    if not isinstance(content, dict):
        raise RegisterFault("the response is not an object")
    found = content.get("_embedded") or {}
    if not isinstance(found, dict):
        raise RegisterFault("_embedded: not an object")
    return listed(found.get(name, []))


def listed(content: Any) -> Sequence[Raw]:
    """Returns the objects of a response; raises RegisterFault if it is not a list of them."""
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise RegisterFault("the response is not a list of objects")
    return content
