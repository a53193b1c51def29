"""The Norwegian register: entities, units and roles, and its interface `/enhetsregisteret/api`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from aiohttp import web

from register_samples import files
from register_samples.groups import groups_of
from register_samples.names import named
from register_samples.norway import API, group
from register_samples.registers import Document
from register_samples.server.messages import (
    BadRequest,
    Snapshot,
    Stamps,
    iso,
    json_answer,
    moment,
    read,
    whole_number,
)

PREFIX = "/enhetsregisteret/api"
_NUMBER = "organisasjonsnummer"

#: The size of a page of a list or a feed.
_SIZE = whole_number(1, 10_000)
_DEFAULT_SIZE = 20

#: Sequence numbers of the feeds start at the milliseconds since this time. So a new register never
#: reuses a number of an earlier one, and a cursor of the earlier one stays valid.
_COUNTED_FROM = datetime(2018, 1, 1, tzinfo=UTC)


@dataclass
class Section:
    """Entities (`enheter`) or units (`underenheter`), and the feed of their changes."""

    name: str
    #: The feed's name for an entry's link.
    entry: str
    stamps: Stamps
    #: By number, including deleted entries.
    documents: dict[str, Document] = field(default_factory=dict)
    #: The days on which entries were removed for legal reasons, by number.
    removed: dict[str, date] = field(default_factory=dict)
    #: Well-formed numbers that the register rejects as invalid.
    refused: set[str] = field(default_factory=set)
    #: The feed in its order, which is that of `oppdateringsid` unless a test disturbs it.
    updates: list[Document] = field(default_factory=list)
    _count: int = field(init=False)

    def __post_init__(self) -> None:
        self._count = (self.stamps.next() - _COUNTED_FROM) // timedelta(milliseconds=1)

    def standing(self) -> Iterable[Document]:
        """The entries that are neither deleted nor removed."""
        return (found for found in self.documents.values() if "slettedato" not in found)

    def add(self, document: Document) -> str:
        number: str = document[_NUMBER]
        self.documents[number] = document
        self.tell(number, "Ny")
        return number

    def change(self, number: str, fields: Mapping[str, Any]) -> None:
        """Sets fields of an entry; a field that is None is left out."""
        changed = {**self.documents[number], **fields}
        self.documents[number] = {k: v for k, v in changed.items() if v is not None}
        self.tell(number, "Endring")

    def delete(self, number: str, on: date) -> None:
        """Marks the entry as deleted on a day."""
        self.documents[number] = {**self.documents[number], "slettedato": on.isoformat()}
        self.tell(number, "Sletting")

    def remove(self, number: str) -> None:
        """Removes an entry for legal reasons."""
        self.withdraw(number)
        self.tell(number, "Fjernet")

    def withdraw(self, number: str) -> None:
        """Removes an entry without one of the feed."""
        self.documents.pop(number, None)
        self.removed[number] = self.stamps.now().date()

    def tell(self, number: str, kind: str) -> Document:
        """Adds an entry to the feed, also for an unknown number."""
        self._count += 1
        update = {
            "oppdateringsid": self._count,
            "dato": iso(self.stamps.next()),
            _NUMBER: number,
            "endringstype": kind,
            "_links": {self.entry: {"href": f"{API}/{self.name}/{number}"}},
        }
        self.updates.append(update)
        return update

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get(f"{PREFIX}/{self.name}", self._list),
            web.get(f"{PREFIX}/{self.name}/{{number}}", self._one),
            web.get(f"{PREFIX}/oppdateringer/{self.name}", self._feed),
        ]

    def check(self, *numbers: str) -> None:
        """Raises BadRequest for a number that the register rejects."""
        for number in self.refused.intersection(numbers):
            raise BadRequest(f"{number} is not an organisation number")

    def absence(self, number: str) -> web.Response | None:
        """Returns the answer for a number without a record: removed or unknown."""
        if number in self.removed:
            # Its day looks like that of an end; only the status tells them apart.
            gone = {_NUMBER: number, "slettedato": str(self.removed[number])}
            return json_answer(self._linked(gone), status=410)
        if number not in self.documents:
            return json_answer({"status": 404, "feil": "Not Found"}, status=404)
        return None

    def _remains(self, document: Document) -> Document:
        """Returns the answer for a deleted entry, or a whole entry."""
        if "slettedato" not in document:
            return document
        told = (_NUMBER, "navn", "organisasjonsform", "historiskeNavn", "slettedato")
        deleted = {"enhet": "SlettetEnhet", "underenhet": "SlettetUnderEnhet"}[self.entry]
        return {
            "respons_klasse": deleted,
            **{name: document[name] for name in told if name in document},
        }

    async def _one(self, request: web.Request) -> web.Response:
        read(request)
        [number] = _numbers(request.match_info["number"])
        self.check(number)
        if absence := self.absence(number):
            return absence
        return json_answer(self._linked(self._remains(self.documents[number])))

    async def _list(self, request: web.Request) -> web.Response:
        asked = read(request, organisasjonsnummer=_numbers, size=_SIZE)
        numbers = asked.get(_NUMBER, self.documents)
        self.check(*numbers)
        known = [self.documents[number] for number in numbers if number in self.documents]
        standing = [self._linked(found) for found in known if "slettedato" not in found]
        return _page(self.name, self.name, standing, asked)

    async def _feed(self, request: web.Request) -> web.Response:
        asked = read(request, dato=moment, oppdateringsid=whole_number(0), size=_SIZE)
        first, since = asked.get("oppdateringsid", 0), asked.get("dato")
        found = [
            update
            for update in self.updates
            if update["oppdateringsid"] >= first
            and (since is None or moment(update["dato"]) >= since)
        ]
        key = f"oppdaterte{self.name.capitalize()}"
        return _page(key, f"oppdateringer/{self.name}", found, asked)

    def _linked(self, document: Document) -> Document:
        """Returns a record of the API, with `_links` instead of a bulk file's empty `links`."""
        unlinked = {name: value for name, value in document.items() if name != "links"}
        target = f"{API}/{self.name}/{document[_NUMBER]}"
        return unlinked | {"_links": {"self": {"href": target}}}


def _numbers(text: str) -> list[str]:
    """Returns organisation numbers separated by commas."""
    numbers = [part.strip() for part in text.split(",")]
    for number in numbers:
        if len(number) != 9 or not number.isdecimal():
            raise BadRequest(f"{number} is not an organisation number")
    return numbers


def _page(key: str, path: str, found: list[Document], asked: Mapping[str, Any]) -> web.Response:
    """Returns the first page of a list; an empty one is left out."""
    size, total = asked.get("size", _DEFAULT_SIZE), len(found)
    return json_answer(
        {
            **({"_embedded": {key: found[:size]}} if found else {}),
            "_links": {"self": {"href": f"{API}/{path}"}},
            "page": {
                "size": size,
                "totalElements": total,
                "totalPages": -(-total // size),
                "number": 0,
            },
        }
    )


class NorwegianRegister:
    """Entities, units and roles; changes by a test or a trial appear in the feeds immediately."""

    def __init__(self, stamps: Stamps, *, companies: int) -> None:
        self._stamps = stamps
        self.entities = Section("enheter", "enhet", stamps)
        self.units = Section("underenheter", "underenhet", stamps)
        self.roles: dict[str, Document] = {}
        #: The feed of the roles.
        self.role_events: list[Document] = []
        self.snapshots: dict[str, Snapshot] = {}
        for source, kept in (
            (files.companies_no, self.entities.documents),
            (files.units_no, self.units.documents),
            (files.roles_no, self.roles),
        ):
            kept.update((found[_NUMBER], found) for found in source(companies))
        self.groups = groups_of(self.entities.documents.values())
        self.publish()

    def publish(self) -> None:
        """Generates the files again, as the register does every night."""
        modified = self._stamps.next()
        files = {
            "enheter": self.entities.standing(),
            "underenheter": self.units.standing(),
            "roller": [self.roles[number] for number in self._with_roles()],
        }
        self.snapshots = {
            name: Snapshot.gzipped_array(found, modified) for name, found in files.items()
        }

    def _with_roles(self) -> Iterable[str]:
        """The entities with roles; the register gives none of a deleted one."""
        found = self.entities.documents
        return (one for one in self.roles if one in found and "slettedato" not in found[one])

    def add_company(self, index: int) -> str:
        """Registers the company that the generator has at this position, its units and roles."""
        [entity] = files.companies_no(1, start=index)
        number = self.entities.add(entity)
        for unit in files.units_no(1, start=index):
            self.units.add(unit)
        for roles in files.roles_no(1, start=index):
            self.set_roles(number, roles["rollegrupper"])
        return number

    def go_bankrupt(self, number: str, on: date) -> None:
        self.entities.change(number, {"konkurs": True, "konkursdato": on.isoformat()})

    def move_unit(self, number: str, *, to: str, on: date) -> None:
        """Moves a unit to another company."""
        self.units.change(number, {"overordnetEnhet": to, "datoEierskifte": on.isoformat()})

    def set_roles(self, number: str, groups: Sequence[Document]) -> None:
        self.roles[number] = {_NUMBER: number, "rollegrupper": list(groups)}
        self.tell_roles(number)

    def tell_roles(self, number: str, *, at: datetime | None = None) -> None:
        """Adds an entry to the feed of the roles, also for an unknown number."""
        event = {
            "specversion": "1.0",
            "id": str(len(self.role_events) + 1),
            "source": f"{API}/oppdateringer/roller",
            "type": "no.brreg.enhetsregisteret.rolle.oppdatert",
            "time": iso(at or self._stamps.next()),
            "data": {_NUMBER: number},
        }
        self.role_events.append(event)

    def units_of(self, company: str) -> list[str]:
        found = self.units.documents
        return [number for number, unit in found.items() if unit["overordnetEnhet"] == company]

    def routes(self) -> list[web.RouteDef]:
        """Returns the table of the interface."""
        return [
            # Before the paths of the sections, where `lastned` would be taken for a number.
            web.get(f"{PREFIX}/enheter/lastned", self._whole("enheter")),
            web.get(f"{PREFIX}/underenheter/lastned", self._whole("underenheter")),
            web.get(f"{PREFIX}/roller/totalbestand", self._whole("roller")),
            web.get(f"{PREFIX}/enheter/{{number}}/roller", self._roles_of),
            web.get(f"{PREFIX}/oppdateringer/roller", self._role_feed),
            web.get(f"{PREFIX}/konsernstruktur/{{number}}", self._group_of),
            *self.entities.routes(),
            *self.units.routes(),
        ]

    def _whole(self, name: str) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            read(request)
            return self.snapshots[name].answer(request)

        return answer

    async def _roles_of(self, request: web.Request) -> web.Response:
        """Returns the roles; the company's number is in the answer's links only."""
        read(request)
        number = request.match_info["number"]
        self.entities.check(number)
        target = f"{API}/enheter/{number}"
        links = {"self": {"href": f"{target}/roller"}, "enhet": {"href": target}}
        if "slettedato" in self.entities.documents.get(number, {}):
            return web.Response(status=404)
        groups = self.roles.get(number, {}).get("rollegrupper", [])
        return self.entities.absence(number) or json_answer(
            {"rollegrupper": groups, "_links": links}
        )

    async def _group_of(self, request: web.Request) -> web.Response:
        """Returns the whole group of a company; of one in none a 404 without a body."""
        read(request)
        [number] = _numbers(request.match_info["number"])
        self.entities.check(number)
        answer = self.groups.answer(number)
        return web.Response(status=404) if answer is None else json_answer(answer)

    async def _role_feed(self, request: web.Request) -> web.Response:
        asked = read(request, afterTime=moment, size=_SIZE)
        after = asked.get("afterTime")
        found = [
            event for event in self.role_events if after is None or moment(event["time"]) > after
        ]
        return json_answer(found[: asked.get("size", _DEFAULT_SIZE)])


def innehaver(given: str, family: str, born: str) -> list[Document]:
    """Returns the roles of a sole trader: the owner alone."""
    owner = named({"given": given, "family": family}, date.fromisoformat(born))
    return [group("INNH", [("INNH", owner)])]
