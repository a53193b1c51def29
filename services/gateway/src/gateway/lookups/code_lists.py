"""The codes of stored companies, and their lists over HTTP."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.company import Country
from common.contracts.find import CodeList, Codes, Facet, FindReply, FindRequest
from gateway.access.single_flight import SingleFlight
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import COUNTRY
from gateway.http.responses import json_response
from gateway.lookups.codes import codes_of, takes_words
from gateway.lookups.find_queries import NO_CODES, FindReading
from gateway.lookups.handlers import CACHE_CONTROL

CODES_PATH: Final = "/api/codes/{list}"

#: Seconds for which counts and texts are kept.
_KEPT: Final = 600.0


class Finds(Protocol):
    """Finds the companies of one country that fit filters."""

    async def companies(self, request: FindRequest, *, request_id: str) -> FindReply:
        """Returns a page of one country's companies; raises as `Lookups.find`."""


@dataclass(frozen=True, slots=True)
class StoredCodes:
    """The codes that stored companies have, counted by the lookup service and kept for a while."""

    finds: Finds
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    _kept: dict[Country, tuple[float, FindReply]] = field(default_factory=dict)
    _reads: SingleFlight[FindReply] = field(default_factory=SingleFlight)

    async def of(
        self, countries: Iterable[Country], *, request_id: str
    ) -> Mapping[Country, FindReply]:
        """Returns the codes of registers; raises as `Finds.companies`."""
        return {country: await self._of(country, request_id) for country in countries}

    async def explaining(
        self, parameters: Mapping[str, Sequence[str]], *, request_id: str
    ) -> Mapping[Country, FindReply]:
        """Returns the codes that the words of filters may mean; none without words."""
        if not takes_words(parameters):
            return NO_CODES
        reading = FindReading(parameters)
        return await self.of(reading.countries(reading.owner()), request_id=request_id)

    async def _of(self, country: Country, request_id: str) -> FindReply:
        at, reply = self._kept.get(country, (0.0, None))
        if reply is not None and self.clock() - at < _KEPT:
            return reply

        async def read() -> FindReply:
            counted = FindRequest(country=country, limit=0, facets=tuple(Facet))
            return await self.finds.companies(counted, request_id=request_id)

        reply = await self._reads(country, read)
        self._kept[country] = self.clock(), reply
        return reply


def codes_handler(stored: StoredCodes) -> Handler:
    """Returns the handler of lists of codes; a client may reuse one for a minute."""

    async def codes(request: web.Request) -> web.Response:
        parameters = parameters_of(request)
        reading = FindReading({COUNTRY: parameters.get(COUNTRY, ())})
        countries = reading.countries(None)
        reading.check()
        kind = CodeList(request.match_info["list"])
        known = await stored.of(countries, request_id=request[REQUEST_CONTEXT].request_id)
        body = Codes(codes=tuple(codes_of(kind, known))).model_dump_json().encode()
        return json_response(body, cache_control=CACHE_CONTROL)

    return codes
