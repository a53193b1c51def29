"""The interface of the Norwegian register: `/enhetsregisteret/api`."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from register_samples.facts import Document
from register_samples.norway.shape import API
from register_samples.server import parameters
from register_samples.server.answers import conditional, json_answer
from register_samples.server.brreg_queries import (
    ENTITY_FILTERS,
    PAGING,
    UNIT_FILTERS,
    Filter,
    Page,
    search,
)
from register_samples.server.norwegian import NorwegianRegister, Section

PREFIX = "/enhetsregisteret/api"

#: The most entries of a feed in one answer, and how many there are unless asked.
_MOST, _USUAL = 10_000, 20

_FEED_PARAMETERS: Mapping[str, parameters.Reader] = {
    "dato": parameters.moment,
    "oppdateringsid": parameters.natural,
    "size": parameters.count(_MOST),
    "organisasjonsnummer": parameters.numbers,
    "includeChanges": parameters.flag,
    # Taken and passed over: the feed is always oldest first.
    "sort": str,
}
_ROLE_FEED_PARAMETERS: Mapping[str, parameters.Reader] = {
    "afterTime": parameters.moment,
    "size": parameters.count(_MOST),
}


def routes(register: NorwegianRegister) -> list[web.RouteDef]:
    entities = _Searchable(register, register.entities, ENTITY_FILTERS)
    units = _Searchable(register, register.units, UNIT_FILTERS)
    roles = _Roles(register)
    found = [
        web.get(f"{PREFIX}/enheter/{{number}}/roller", roles.one),
        web.get(f"{PREFIX}/roller/totalbestand", roles.whole),
        web.get(f"{PREFIX}/oppdateringer/roller", roles.feed),
    ]
    for part in (entities, units):
        path = f"{PREFIX}/{part.section.name}"
        found += [
            web.get(f"{path}/lastned", part.whole),
            web.get(path, part.list),
            web.get(f"{path}/{{number}}", part.one),
            web.get(f"{PREFIX}/oppdateringer/{part.section.name}", part.feed),
        ]
    return found


class _Searchable:
    """Entities or units."""

    def __init__(
        self, register: NorwegianRegister, section: Section, filters: Mapping[str, Filter]
    ) -> None:
        self._register = register
        self.section = section
        self._filters = filters
        self._known = {name: each.read for name, each in filters.items()} | dict(PAGING)

    async def one(self, request: web.Request) -> web.Response:
        parameters.read(request.query, {})
        number = request.match_info["number"]
        if len(number) != 9 or not number.isdecimal():
            raise parameters.BadRequest(f"{number} is not an organisation number")
        _check(self.section, number)
        document = self.section.documents.get(number)
        if number in self.section.removed:
            return json_answer({"organisasjonsnummer": number}, status=410)
        if document is None:
            return json_answer({"status": 404, "feil": "Not Found"}, status=404)
        if "slettedato" in document:
            ended = {"organisasjonsnummer": number, "slettedato": document["slettedato"]}
            return json_answer(ended, status=410)
        return json_answer(document)

    async def list(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, self._known)
        _check(self.section, *asked.get(_NUMBER, ()))
        # Looking up by number alone, as lists are fetched, need not look at all there is.
        some = [self.section.documents.get(number) for number in asked.get(_NUMBER, ())]
        standing = (
            [each for each in some if each is not None and "slettedato" not in each]
            if _NUMBER in asked
            else self.section.standing()
        )
        page = search(standing, self._filters, asked)
        return json_answer(_hal(self.section.name, page))

    async def feed(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, _FEED_PARAMETERS)
        found = _updates(self.section.updates, asked)
        key = f"oppdaterte{self.section.name.capitalize()}"
        size = asked.get("size", _USUAL)
        return json_answer(
            {
                **({"_embedded": {key: found[:size]}} if found else {}),
                "_links": {"self": {"href": f"{API}/oppdateringer/{self.section.name}"}},
                "page": _counts(size, len(found), 0),
            }
        )

    async def whole(self, request: web.Request) -> web.StreamResponse:
        parameters.read(request.query, {})
        return conditional(request, self._register.snapshots[self.section.name])


_NUMBER = "organisasjonsnummer"


def _check(section: Section, *numbers: str) -> None:
    """Raises BadRequest for a number that the register takes for none."""
    for number in section.refused.intersection(numbers):
        raise parameters.BadRequest(f"{number} is not an organisation number")


def _updates(updates: Sequence[Document], asked: Mapping[str, Any]) -> list[Document]:
    numbers, since = asked.get(_NUMBER), asked.get("dato")
    found = [
        update
        for update in updates
        if update["oppdateringsid"] >= asked.get("oppdateringsid", 0)
        and (numbers is None or update[_NUMBER] in numbers)
        and (since is None or parameters.moment(update["dato"]) >= since)
    ]
    if asked.get("includeChanges"):
        return found
    return [{k: v for k, v in update.items() if k != "endringer"} for update in found]


def _hal(name: str, page: Page) -> Document:
    answer: Document = {}
    if page.documents:
        answer["_embedded"] = {name: page.documents}
    answer["_links"] = {"self": {"href": f"{API}/{name}?page={page.number}&size={page.size}"}}
    if page.number + 1 < page.pages:
        href = f"{API}/{name}?page={page.number + 1}&size={page.size}"
        answer["_links"]["next"] = {"href": href}
    return answer | {"page": _counts(page.size, page.total, page.number)}


def _counts(size: int, total: int, number: int) -> Document:
    return {
        "size": size,
        "totalElements": total,
        "totalPages": -(-total // size),
        "number": number,
    }


class _Roles:
    def __init__(self, register: NorwegianRegister) -> None:
        self._register = register

    async def one(self, request: web.Request) -> web.Response:
        """The answer tells whose roles they are in its own address only."""
        parameters.read(request.query, {})
        number = request.match_info["number"]
        _check(self._register.entities, number)
        entity = self._register.entities.documents.get(number)
        if number in self._register.entities.removed or "slettedato" in (entity or {}):
            return json_answer({"organisasjonsnummer": number}, status=410)
        if entity is None:
            return json_answer({"status": 404, "feil": "Not Found"}, status=404)
        links = {"self": {"href": f"{API}/enheter/{number}/roller"}}
        held = self._register.roles.get(number, {"rollegrupper": [], "_links": links})
        return json_answer({k: v for k, v in held.items() if k != _NUMBER})

    async def feed(self, request: web.Request) -> web.Response:
        asked = parameters.read(request.query, _ROLE_FEED_PARAMETERS)
        after = asked.get("afterTime")
        found = [
            event
            for event in self._register.role_events
            if after is None or parameters.moment(event["time"]) > after
        ]
        return json_answer(found[: asked.get("size", _USUAL)])

    async def whole(self, request: web.Request) -> web.StreamResponse:
        parameters.read(request.query, {})
        return conditional(request, self._register.snapshots["roller"])
