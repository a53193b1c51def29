"""The Reconciliation Service API over HTTP (ADR 0053)."""

from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import hdrs, web

from common.contracts.lookup import LookupReply
from common.contracts.match import MatchDecision, MatchResult
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import Parameters, Rank, Reading, invalid_parameters
from gateway.http.responses import body_of, json_response
from gateway.lookups.batches import Charge, LookUpAll, Lookups
from gateway.lookups.handlers import CACHE_CONTROL
from gateway.lookups.match_queries import MatchQuery
from gateway.lookups.matching import MatchAll
from gateway.problems import CompanyNotFound, UnsupportedMediaType
from gateway.reconcile.manifest import KEY_PARAMETER, Links, manifest
from gateway.reconcile.preview import CONTENT_SECURITY_POLICY, preview
from gateway.reconcile.properties import PROPERTIES, TYPE, entity, lookup_of, named
from gateway.reconcile.queries import (
    EXTEND,
    QUERIES,
    QUERY,
    Query,
    batch_of,
    parse_extension,
    parse_queries,
    read_form,
    registration_number,
)
from gateway.reconcile.suggestions import country_of

RECONCILE_PATH = "/reconcile/{country}"
PROPOSALS_PATH = f"{RECONCILE_PATH}/properties"
PREVIEW_PATH = f"{RECONCILE_PATH}/preview"
_FORM: Final = "application/x-www-form-urlencoded"
_ID, _TYPE, _LIMIT = "id", "type", "limit"


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The handlers of the service; authentication has counted a batch as one request."""

    lookups: Lookups
    match_all: MatchAll
    look_up_all: LookUpAll
    charge: Charge
    #: Addresses for browsers, without a slash at their ends. Without `public_url`, the address of
    #: the request is used.
    public_url: str
    portal_url: str
    anonymous: bool

    async def get(self, request: web.Request) -> web.Response:
        """Handles GET: the manifest, a batch of queries or a request for data."""
        answer = await self._answered(request, parameters_of(request))
        if answer is None:
            answer = manifest(country_of(request), self._links(request))
        return json_response(orjson.dumps(answer))

    async def post(self, request: web.Request) -> web.Response:
        """Handles POST: a form with a batch of queries or a request for data."""
        if request.content_type != _FORM:
            raise UnsupportedMediaType(f"send the body as Content-Type: {_FORM}")
        answer = await self._answered(request, read_form(await body_of(request)))
        if answer is None:
            raise invalid_parameters([(QUERIES, f"give {QUERIES}, {QUERY} or {EXTEND}")])
        return json_response(orjson.dumps(answer))

    async def propose(self, request: web.Request) -> web.Response:
        """Lists the properties that can be fetched, which are the same for every type."""
        reading = Reading(parameters_of(request))
        type_ = reading.single(_TYPE) or TYPE["id"]
        limit = reading.number(_LIMIT, 1, 999, len(PROPERTIES))
        reading.check()
        properties = named(list(PROPERTIES.values())[:limit])
        document = {"properties": properties, "type": type_, "limit": limit}
        return json_response(orjson.dumps(document), cache_control=CACHE_CONTROL)

    async def preview(self, request: web.Request) -> web.Response:
        """Shows a company in a small page."""
        country, reading = country_of(request), Reading(parameters_of(request))
        given = reading.single(_ID)
        if given is None and not reading.faults:
            reading.fault(Rank.MISSING_SEARCH, _ID, "required; give a registration number")
        if given is None:
            raise reading.problem()
        number = registration_number(given, country)
        if number is None:
            raise CompanyNotFound("this is no registration number of the register")
        reply = await self.lookups.find(
            lookup_of(country, number), request_id=request[REQUEST_CONTEXT].request_id
        )
        # Without a portal the view of a company is this page.
        view = self.portal_url and self._links(request).view(country).replace("{{id}}", number)
        return web.Response(
            text=preview(orjson.loads(reply.body), view),
            content_type="text/html",
            headers={
                hdrs.CACHE_CONTROL: CACHE_CONTROL,
                hdrs.CONTENT_SECURITY_POLICY: CONTENT_SECURITY_POLICY,
                hdrs.REFERRER_POLICY: "no-referrer",
            },
        )

    async def _answered(
        self, request: web.Request, parameters: Parameters
    ) -> dict[str, Any] | None:
        """Returns the answer to queries or a request for data; None for neither."""
        reading = Reading(parameters)
        given = [name for name in (QUERY, QUERIES, EXTEND) if name in parameters]
        query, queries, extend = map(reading.single, (QUERY, QUERIES, EXTEND))
        if len(given) > 1:
            reading.invalid(given[1], f"cannot be given beside {given[0]}")
        reading.check()
        if query is not None:
            answer = await self._reconciled(request, batch_of(query))
            result: dict[str, Any] = answer[QUERY]
            return result
        if queries is not None:
            return await self._reconciled(request, queries)
        return None if extend is None else await self._extended(request, extend)

    async def _reconciled(self, request: web.Request, text: str) -> dict[str, Any]:
        key, country = request[REQUEST_CONTEXT].required_key, country_of(request)
        queries = parse_queries(text, country)
        context = request[REQUEST_CONTEXT]
        context.quota = self.charge(key, max(len(queries) - 1, 0))
        records = tuple(query.record for query in queries if query.record is not None)
        limit = max((query.limit for query in queries), default=1)
        results: dict[str, MatchResult] = {}
        if records:
            asked = MatchQuery(records, limit)
            for result in await self.match_all(asked, request_id=context.request_id):
                if not isinstance(result, MatchResult):
                    # The protocol has no errors for single queries: the whole batch fails.
                    raise result.problem
                results[result.id] = result
        return {query.key: {"result": _candidates(query, results)} for query in queries}

    async def _extended(self, request: web.Request, text: str) -> dict[str, Any]:
        context, country = request[REQUEST_CONTEXT], country_of(request)
        key, extension = context.required_key, parse_extension(text)
        context.quota = self.charge(key, max(len(extension.ids) - 1, 0))
        properties = [PROPERTIES[each] for each in extension.properties]
        include = {one.include for one in properties if one.include is not None}
        numbers = {each: registration_number(each, country) for each in extension.ids}
        known = {each: number for each, number in numbers.items() if number is not None}
        replies = await self.look_up_all(
            [lookup_of(country, number, *sorted(include)) for number in known.values()],
            request_id=context.request_id,
        )
        rows: dict[str, dict[str, list[Any]]] = {
            each: {name: [] for name in extension.properties} for each in extension.ids
        }
        for each, reply in zip(known, replies, strict=True):
            if isinstance(reply, LookupReply):
                company = orjson.loads(reply.body)
                rows[each] = {one.id: list(one.read(company)) for one in properties}
            elif not isinstance(reply, CompanyNotFound):
                raise reply
        return {"meta": [{"id": one.id, "name": one.name} for one in properties], "rows": rows}

    def _links(self, request: web.Request) -> Links:
        service = self.public_url
        if not service:
            # Only this client receives the address, so its headers need no trust.
            forwarded = request.headers.get(hdrs.X_FORWARDED_PROTO, "").lower()
            scheme = forwarded if forwarded in ("http", "https") else request.scheme
            service = f"{scheme}://{request.headers.get(hdrs.HOST, 'localhost')}"
        key = request.query.get(KEY_PARAMETER, "")
        return Links(service, self.portal_url, key, self.anonymous)


def _candidates(query: Query, results: dict[str, MatchResult]) -> list[dict[str, Any]]:
    """Returns the candidates of a query, of which only the first can be certain."""
    result = results.get(query.record.id) if query.record is not None else None
    if result is None:
        return []
    is_match = result.decision is MatchDecision.MATCH
    return [
        {
            **entity(one.vat, one.name, one.city, one.status),
            "score": round(one.score * 100, 2),
            "match": is_match and place == 0,
            "type": [TYPE],
            "features": [
                {"id": name, "value": value}
                for name, value in one.evidence.model_dump().items()
                if value is not None
            ],
        }
        for place, one in enumerate(result.candidates[: query.limit])
    ]
