"""Suggestions of entities, properties and types for a partly typed text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import web

from common.contracts.company import Country
from common.contracts.lookup import MAX_SUGGESTIONS, SuggestRequest
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import Rank, Reading
from gateway.http.responses import json_response
from gateway.lookups.batches import Lookups
from gateway.lookups.handlers import CACHE_CONTROL, Suggestions
from gateway.lookups.terms import NAME_LENGTH
from gateway.problems import CompanyNotFound
from gateway.reconcile.properties import TYPE, entity, lookup_of, suggested
from gateway.reconcile.queries import registration_number

ENTITIES_PATH = "/reconcile/{country}/suggest/entity"
NAMES_PATH = "/reconcile/{country}/suggest/property"
TYPES_PATH = "/reconcile/{country}/suggest/type"

#: Companies in a list of suggestions, and how many a client may skip.
SUGGESTED: Final = 10
MAX_SKIPPED: Final = 200
_PREFIX, _CURSOR = "prefix", "cursor"


def country_of(request: web.Request) -> Country:
    """Returns the register of a path."""
    # The pattern of the route has no other.
    return Country(request.match_info["country"])


@dataclass(frozen=True, slots=True)
class Completions:
    """The handlers of suggestions, which clients may reuse for a minute."""

    lookups: Lookups
    suggestions: Suggestions

    async def entities(self, request: web.Request) -> web.Response:
        """Completes names; a whole registration number is that company."""
        country, reading = country_of(request), _PrefixReading(parameters_of(request))
        text, skipped = reading.prefix(), reading.skipped()
        reading.check()
        found = await self._numbered(request, country, text) if not skipped else []
        if not found:
            found = await self._named(request, country, text, skipped)
        return _suggestions([{**each, "notable": [TYPE]} for each in found])

    async def properties(self, request: web.Request) -> web.Response:
        """Completes the names of properties."""
        reading = _PrefixReading(parameters_of(request))
        text, skipped = reading.prefix(), reading.skipped()
        reading.check()
        return _suggestions(suggested(text)[skipped:])

    async def types(self, request: web.Request) -> web.Response:
        """Completes the name of the only type."""
        reading = _PrefixReading(parameters_of(request))
        text, skipped = reading.prefix().strip().lower(), reading.skipped()
        reading.check()
        return _suggestions([TYPE][skipped:] if TYPE["id"].startswith(text) else [])

    async def _numbered(
        self, request: web.Request, country: Country, text: str
    ) -> list[dict[str, str]]:
        """Returns the company with a whole registration number."""
        number = registration_number(text, country)
        if number is None:
            return []
        try:
            reply = await self.lookups.find(
                lookup_of(country, number), request_id=request[REQUEST_CONTEXT].request_id
            )
        except CompanyNotFound:
            return []
        company = orjson.loads(reply.body)
        city = (company["address"] or {}).get("city")
        return [entity(number, company["name"], city, company["status"])]

    async def _named(
        self, request: web.Request, country: Country, text: str, skipped: int
    ) -> list[dict[str, str]]:
        """Returns the companies whose names the text begins; none for one letter."""
        shortest, longest = NAME_LENGTH
        if len(text) < shortest:
            return []
        found: list[dict[str, Any]] = []
        after: str | None = None
        # Bounded: a client that skips many suggestions may get a short page.
        for _ in range(1 + (skipped + SUGGESTED) // MAX_SUGGESTIONS):
            asked = SuggestRequest(
                country=country, text=text[:longest], limit=MAX_SUGGESTIONS, after=after
            )
            request_id = request[REQUEST_CONTEXT].request_id
            page = orjson.loads((await self.suggestions.suggest(asked, request_id=request_id)).body)
            found += page["suggestions"]
            after = page["cursor"]
            if after is None:
                break
        return [
            entity(one["vat"], one["name"], one["city"], one["status"])
            for one in found[skipped : skipped + SUGGESTED]
        ]


class _PrefixReading(Reading):
    """The parameters of suggestions."""

    def prefix(self) -> str:
        """Returns the text typed so far, which may be empty."""
        values = self.parameters.get(_PREFIX, ())
        if not values:
            self.fault(Rank.MISSING_SEARCH, _PREFIX, "required; give the text typed so far")
            return ""
        return (self.single(_PREFIX) or "").strip() if values[0].strip() else ""

    def skipped(self) -> int:
        """Returns the number of suggestions to skip."""
        return self.number(_CURSOR, 0, MAX_SKIPPED, 0)


def _suggestions(found: Sequence[Any]) -> web.Response:
    return json_response(orjson.dumps({"result": found}), cache_control=CACHE_CONTROL)
