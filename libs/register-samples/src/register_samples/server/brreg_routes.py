"""The interface of the Norwegian register: `/enhetsregisteret/api`."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from register_samples.facts import Document
from register_samples.norway.parts import API
from register_samples.server import parameters
from register_samples.server.answers import conditional, json_answer
from register_samples.server.norwegian import NorwegianRegister, Section

PREFIX = "/enhetsregisteret/api"

#: The largest page of a list or a feed, and the default.
_MAX_SIZE, _DEFAULT_SIZE = 10_000, 20
_NUMBER = "organisasjonsnummer"

_LIST_PARAMETERS: Mapping[str, parameters.Reader] = {
    _NUMBER: parameters.numbers,
    "size": parameters.count(_MAX_SIZE),
}
_FEED_PARAMETERS: Mapping[str, parameters.Reader] = {
    "dato": parameters.moment,
    "oppdateringsid": parameters.natural,
    "size": parameters.count(_MAX_SIZE),
}
_ROLE_FEED_PARAMETERS: Mapping[str, parameters.Reader] = {
    "afterTime": parameters.moment,
    "size": parameters.count(_MAX_SIZE),
}


def routes(register: NorwegianRegister) -> list[web.RouteDef]:
    roles = _Roles(register)
    found = [
        web.get(f"{PREFIX}/enheter/{{number}}/roller", roles.one),
        web.get(f"{PREFIX}/roller/totalbestand", roles.whole),
        web.get(f"{PREFIX}/oppdateringer/roller", roles.feed),
    ]
    for section in (register.entities, register.units):
        part = _Searchable(register, section)
        path = f"{PREFIX}/{section.name}"
        found += [
            web.get(f"{path}/lastned", part.whole),
            web.get(path, part.list),
            web.get(f"{path}/{{number}}", part.one),
            web.get(f"{PREFIX}/oppdateringer/{section.name}", part.feed),
        ]
    return found


class _Searchable:
    """Entities or units."""

    def __init__(self, register: NorwegianRegister, section: Section) -> None:
        self._register = register
        self._section = section

    async def one(self, request: web.Request) -> web.Response:
        parameters.read(request.query, {})
        number = request.match_info["number"]
        if len(number) != 9 or not number.isdecimal():
            raise parameters.BadRequest(f"{number} is not an organisation number")
        _check(self._section, number)
        document = self._section.documents.get(number)
        if number in self._section.removed:
            return json_answer({_NUMBER: number}, status=410)
        if document is None:
            return _not_found()
        if "slettedato" in document:
            ended = {_NUMBER: number, "slettedato": document["slettedato"]}
            return json_answer(ended, status=410)
        return json_answer(self._linked(document))

    async def list(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, _LIST_PARAMETERS)
        numbers, size = asked.get(_NUMBER), asked.get("size", _DEFAULT_SIZE)
        _check(self._section, *(numbers or ()))
        known = self._section.documents
        standing = [
            known[number]
            for number in (known if numbers is None else numbers)
            if number in known and "slettedato" not in known[number]
        ]
        page = [self._linked(document) for document in standing[:size]]
        return json_answer(
            {
                **({"_embedded": {self._section.name: page}} if page else {}),
                "_links": {"self": {"href": f"{API}/{self._section.name}"}},
                "page": _counts(size, len(standing)),
            }
        )

    async def feed(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, _FEED_PARAMETERS)
        found = _updates(self._section.updates, asked)
        key = f"oppdaterte{self._section.name.capitalize()}"
        size = asked.get("size", _DEFAULT_SIZE)
        return json_answer(
            {
                **({"_embedded": {key: found[:size]}} if found else {}),
                "_links": {"self": {"href": f"{API}/oppdateringer/{self._section.name}"}},
                "page": _counts(size, len(found)),
            }
        )

    async def whole(self, request: web.Request) -> web.StreamResponse:
        parameters.read(request.query, {})
        return conditional(request, self._register.snapshots[self._section.name])

    def _linked(self, document: Document) -> Document:
        """A record of the API: it has `_links` where one of a bulk file has an empty `links`."""
        unlinked = {name: value for name, value in document.items() if name != "links"}
        target = f"{API}/{self._section.name}/{document[_NUMBER]}"
        return unlinked | {"_links": {"self": {"href": target}}}


def _check(section: Section, *numbers: str) -> None:
    """Raises BadRequest for a number that the register rejects."""
    for number in section.refused.intersection(numbers):
        raise parameters.BadRequest(f"{number} is not an organisation number")


def _not_found() -> web.Response:
    return json_answer({"status": 404, "feil": "Not Found"}, status=404)


def _updates(updates: Sequence[Document], asked: Mapping[str, Any]) -> list[Document]:
    since = asked.get("dato")
    return [
        update
        for update in updates
        if update["oppdateringsid"] >= asked.get("oppdateringsid", 0)
        and (since is None or parameters.moment(update["dato"]) >= since)
    ]


def _counts(size: int, total: int) -> Document:
    return {"size": size, "totalElements": total, "totalPages": -(-total // size), "number": 0}


class _Roles:
    def __init__(self, register: NorwegianRegister) -> None:
        self._register = register

    async def one(self, request: web.Request) -> web.Response:
        """The company's number is in the links of the answer only."""
        parameters.read(request.query, {})
        number = request.match_info["number"]
        _check(self._register.entities, number)
        entity = self._register.entities.documents.get(number)
        if number in self._register.entities.removed or "slettedato" in (entity or {}):
            return json_answer({_NUMBER: number}, status=410)
        if entity is None:
            return _not_found()
        target = f"{API}/enheter/{number}"
        links = {"self": {"href": f"{target}/roller"}, "enhet": {"href": target}}
        groups = self._register.roles.get(number, {}).get("rollegrupper", [])
        return json_answer({"rollegrupper": groups, "_links": links})

    async def feed(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, _ROLE_FEED_PARAMETERS)
        after = asked.get("afterTime")
        found = [
            event
            for event in self._register.role_events
            if after is None or parameters.moment(event["time"]) > after
        ]
        return json_answer(found[: asked.get("size", _DEFAULT_SIZE)])

    async def whole(self, request: web.Request) -> web.StreamResponse:
        parameters.read(request.query, {})
        return conditional(request, self._register.snapshots["roller"])
