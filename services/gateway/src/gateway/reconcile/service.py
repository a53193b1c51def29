"""The Reconciliation Service API over HTTP (ADR 0053)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote

import orjson
from aiohttp import hdrs, web
from pydantic import PlainValidator, ValidationInfo

from common.contracts.company import Country
from common.contracts.lookup import MAX_SUGGESTIONS, LookupReply, SuggestRequest
from common.contracts.match import MatchDecision, MatchResult
from gateway.http.middleware import REQUEST_CONTEXT, RequestContext, parameters_of
from gateway.http.parameters import (
    REQUIRED,
    Invalid,
    Parameters,
    Query,
    Text,
    context_of,
    invalid_parameters,
    number,
    required,
    single,
)
from gateway.http.responses import body_of, json_response, public_address, with_left_out
from gateway.lookups.batch import Charge, LookUpAll
from gateway.lookups.lists import Suggestions
from gateway.lookups.lookup import CACHE_CONTROL, Lookups
from gateway.lookups.match import MatchAll, MatchQuery
from gateway.lookups.protected import ProtectedCompanies
from gateway.lookups.terms import NAME_LENGTH
from gateway.problems import CompanyNotFound, CompanyRemoved, UnsupportedMediaType
from gateway.reconcile.entities import (
    CONTENT_SECURITY_POLICY,
    PROPERTIES,
    TYPE,
    entity,
    lookup_of,
    named,
    preview,
    suggested,
)
from gateway.reconcile.requests import (
    EXTEND,
    MAX_QUERIES,
    QUERIES,
    QUERY,
    ReconcileQuery,
    batch_of,
    parse_extension,
    parse_queries,
    read_form,
    registration_number,
)

RECONCILE_PATH = "/reconcile/{country}"
PROPOSALS_PATH = f"{RECONCILE_PATH}/properties"
PREVIEW_PATH = f"{RECONCILE_PATH}/preview"
ENTITIES_PATH = f"{RECONCILE_PATH}/suggest/entity"
NAMES_PATH = f"{RECONCILE_PATH}/suggest/property"
TYPES_PATH = f"{RECONCILE_PATH}/suggest/type"
_FORM: Final = "application/x-www-form-urlencoded"

#: Companies in a list of suggestions, and how many a client may skip.
SUGGESTED: Final = 10
MAX_SKIPPED: Final = 200

#: The query parameter that may have the key: OpenRefine sends no headers.
KEY_PARAMETER: Final = "api_key"

_NAMES: Final = {Country.DK: "Denmark (CVR)", Country.NO: "Norway (Brønnøysund)"}
#: The registers' own addresses of a company, followed by its number.
_IDENTIFIERS: Final = {
    Country.DK: "https://datacvr.virk.dk/enhed/virksomhed/",
    Country.NO: "https://data.brreg.no/enhetsregisteret/api/enheter/",
}
_SCHEMA: Final = "https://schema.org/Organization"

#: A candidate of less is no suggestion: most such companies have a word or a town in common.
_LEAST_SCORE: Final = 0.01

#: Pixels.
PREVIEW_SIZE: Final = (430, 300)


class Links(NamedTuple):
    """The addresses that a manifest needs."""

    #: Of this service, without a slash at its end.
    service: str
    #: Of the portal, or empty without one.
    portal: str
    #: The key that the manifest was requested with in its address, and links to companies have too.
    key: str
    #: True if a page of this service may be read without a key.
    anonymous: bool

    def keyed(self, path: str) -> str:
        """Returns a path with the key, if there is one."""
        if not self.key:
            return path
        return f"{path}{'&' if '?' in path else '?'}{KEY_PARAMETER}={quote(self.key)}"

    def view(self, country: Country) -> str:
        """Returns the page of a company as a template; empty if none can be read without a key."""
        if self.portal:
            return f"{self.portal}/companies/{country}/{{{{id}}}}"
        return f"{self.service}{preview_path(country)}" if self.anonymous else ""


def preview_path(country: Country) -> str:
    """Returns the path of a company's preview as a template."""
    return f"/reconcile/{country}/preview?id={{{{id}}}}"


def manifest(country: Country, links: Links) -> dict[str, Any]:
    """Returns the manifest of a country's register."""
    root = f"/reconcile/{country}"
    width, height = PREVIEW_SIZE
    document: dict[str, Any] = {
        "versions": ["0.2"],
        "name": f"Company registry: {_NAMES[country]}",
        "identifierSpace": _IDENTIFIERS[country],
        "schemaSpace": _SCHEMA,
        "defaultTypes": [TYPE],
        "documentation": f"{links.service}/docs",
        "serviceVersion": version("gateway"),
        "batchSize": MAX_QUERIES,
        "authentication": {"type": "apiKey", "name": KEY_PARAMETER, "in": "query"},
        "preview": {
            "url": links.service + links.keyed(preview_path(country)),
            "width": width,
            "height": height,
        },
        "suggest": {
            name: {"service_url": links.service, "service_path": path}
            for name, path in (
                ("entity", links.keyed(f"{root}/suggest/entity")),
                ("property", f"{root}/suggest/property"),
                ("type", f"{root}/suggest/type"),
            )
        },
        "extend": {
            # OpenRefine appends `?type=`, so this path cannot have a query.
            "propose_properties": {
                "service_url": links.service,
                "service_path": f"{root}/properties",
            },
            "property_settings": [],
        },
    }
    view = links.view(country)
    return {**document, "view": {"url": view}} if view else document


def country_of(request: web.Request) -> Country:
    """Returns the register of a path."""
    # The pattern of the route has no other.
    return Country(request.match_info["country"])


def _typed_text(values: Sequence[str]) -> str:
    # May be empty, unlike other parameters.
    return "" if values and not values[0].strip() else _required_text(values).strip()


_required_text = required("required; give the text typed so far")


def _only(values: Sequence[str], info: ValidationInfo) -> str:
    value = single(values)
    first, *others = (
        each for each in (QUERY, QUERIES, EXTEND) if each in context_of(info)["parameters"]
    )
    if info.field_name in others[:1]:
        raise Invalid(f"cannot be given beside {first}")
    return value


class _BatchQuery(Query):
    query: Annotated[str | None, PlainValidator(_only)] = None
    queries: Annotated[str | None, PlainValidator(_only)] = None
    extend: Annotated[str | None, PlainValidator(_only)] = None


class _PrefixQuery(Query):
    prefix: Annotated[str, PlainValidator(_typed_text)] = REQUIRED
    #: Suggestions to skip.
    cursor: Annotated[int, number(0, MAX_SKIPPED)] = 0


class _PreviewQuery(Query):
    id: Annotated[str, PlainValidator(required("required; give a registration number"))] = REQUIRED


class _ProposalsQuery(Query):
    type: Text = TYPE["id"]
    limit: Annotated[int, number(1, 999)] = len(PROPERTIES)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The handlers of the service; authentication has counted a batch as one request."""

    lookups: Lookups
    match_all: MatchAll
    look_up_all: LookUpAll
    charge: Charge
    protected: ProtectedCompanies
    #: Addresses for browsers, without a slash at their ends. Without `public_url`, the address of
    #: the request is used.
    public_url: str
    portal_url: str
    anonymous: bool

    async def get(self, request: web.Request) -> web.Response:
        """Handles GET: the manifest, a batch of queries or a request for data."""
        answer, left_out = await self._answer(request, parameters_of(request))
        if answer is None:
            answer = manifest(country_of(request), self._links(request))
        return _told(answer, left_out)

    async def post(self, request: web.Request) -> web.Response:
        """Handles POST: a form with a batch of queries or a request for data."""
        if request.content_type != _FORM:
            raise UnsupportedMediaType(f"send the body as Content-Type: {_FORM}")
        answer, left_out = await self._answer(request, read_form(await body_of(request)))
        if answer is None:
            raise invalid_parameters([(QUERIES, f"give {QUERIES}, {QUERY} or {EXTEND}")])
        return _told(answer, left_out)

    async def propose(self, request: web.Request) -> web.Response:
        """Lists the properties that can be fetched, which are the same for every type."""
        query = _ProposalsQuery.parse(parameters_of(request))
        properties = named(list(PROPERTIES.values())[: query.limit])
        document = {"properties": properties, "type": query.type, "limit": query.limit}
        return json_response(orjson.dumps(document), cache_control=CACHE_CONTROL)

    async def preview(self, request: web.Request) -> web.Response:
        """Shows a company in a small page."""
        country, query = country_of(request), _PreviewQuery.parse(parameters_of(request))
        number = registration_number(query.id, country)
        if number is None:
            raise CompanyNotFound("this is no registration number of the register")
        reply = await self.lookups.look_up(
            lookup_of(country, number), caller=request[REQUEST_CONTEXT].caller
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

    async def _answer(
        self, request: web.Request, parameters: Parameters
    ) -> tuple[dict[str, Any] | None, int | None]:
        """Returns the answer and the number of companies that it leaves out, if any may be."""
        given = _BatchQuery.parse(parameters)
        if given.query is not None:
            answer, left_out = await self._reconcile(request, batch_of(given.query))
            result: dict[str, Any] = answer[QUERY]
            return result, left_out
        if given.queries is not None:
            return await self._reconcile(request, given.queries)
        return (None, None) if given.extend is None else await self._extend(request, given.extend)

    async def _shown(self, request: web.Request, numbers: Collection[str]) -> Collection[str]:
        """Returns those of some companies that the client may have in a group."""
        context, country = request[REQUEST_CONTEXT], country_of(request)
        if not self.protected.are_left_out(context):
            return numbers
        return await self.protected.shown(country, numbers, context.caller)

    async def _reconcile(
        self, request: web.Request, text: str
    ) -> tuple[dict[str, Any], int | None]:
        key, country = request[REQUEST_CONTEXT].required_key, country_of(request)
        queries = parse_queries(text, country)
        context = request[REQUEST_CONTEXT]
        context.quota = self.charge(key, max(len(queries) - 1, 0))
        records = tuple(query.record for query in queries if query.record is not None)
        limit = max((query.limit for query in queries), default=1)
        results: dict[str, MatchResult] = {}
        if records:
            found = await self.match_all(MatchQuery(records, limit), caller=context.caller)
            for result in found:
                if isinstance(result, MatchResult):
                    results[result.id] = result
                elif not isinstance(result.problem, CompanyRemoved):
                    # The protocol has no errors for single queries: the whole batch fails.
                    raise result.problem
        answers = {query.key: _candidates(query, results) for query in queries}
        numbers = {one["id"] for found in answers.values() for one in found}
        shown = await self._shown(request, numbers)
        left = {
            key: {"result": [one for one in found if one["id"] in shown]}
            for key, found in answers.items()
        }
        return left, self._count(context, numbers, shown)

    def _count(
        self, context: RequestContext, numbers: Collection[str], shown: Collection[str]
    ) -> int | None:
        is_limited = self.protected.are_left_out(context)
        return len(set(numbers)) - len(shown) if is_limited else None

    async def _extend(self, request: web.Request, text: str) -> tuple[dict[str, Any], int | None]:
        context, country = request[REQUEST_CONTEXT], country_of(request)
        key, extension = context.required_key, parse_extension(text)
        context.quota = self.charge(key, max(len(extension.ids) - 1, 0))
        properties = [PROPERTIES[each] for each in extension.properties]
        include = {one.include for one in properties if one.include is not None}
        numbers = {each: registration_number(each, country) for each in extension.ids}
        valid = {number for number in numbers.values() if number is not None}
        shown = await self._shown(request, valid)
        known = {each: number for each, number in numbers.items() if number and number in shown}
        replies = await self.look_up_all(
            [lookup_of(country, number, *sorted(include)) for number in known.values()],
            caller=context.caller,
        )
        rows: dict[str, dict[str, list[Any]]] = {
            each: {name: [] for name in extension.properties} for each in extension.ids
        }
        for each, reply in zip(known, replies, strict=True):
            if isinstance(reply, LookupReply):
                company = orjson.loads(reply.body)
                rows[each] = {one.id: list(one.read(company)) for one in properties}
            elif not isinstance(reply, CompanyNotFound | CompanyRemoved):
                raise reply
        meta = [{"id": one.id, "name": one.name} for one in properties]
        return {"meta": meta, "rows": rows}, self._count(context, valid, shown)

    def _links(self, request: web.Request) -> Links:
        service = public_address(request, self.public_url)
        key = request.query.get(KEY_PARAMETER, "")
        return Links(service, self.portal_url, key, self.anonymous)


def _told(answer: dict[str, Any], left_out: int | None) -> web.Response:
    response = json_response(orjson.dumps(answer))
    return response if left_out is None else with_left_out(response, left_out)


def _candidates(query: ReconcileQuery, results: dict[str, MatchResult]) -> list[dict[str, Any]]:
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
        if (is_match and place == 0) or one.score >= _LEAST_SCORE
    ]


@dataclass(frozen=True, slots=True)
class Completions:
    """The handlers of suggestions, which clients may reuse for a minute."""

    lookups: Lookups
    suggestions: Suggestions
    protected: ProtectedCompanies

    async def entities(self, request: web.Request) -> web.Response:
        """Completes names; a whole registration number is that company."""
        country, query = country_of(request), _PrefixQuery.parse(parameters_of(request))
        text, skipped = query.prefix, query.cursor
        found = await self._numbered(request, country, text) if not skipped else []
        if found:
            return _suggestions([{**each, "notable": [TYPE]} for each in found])
        found = await self._named(request, country, text, skipped)
        context, left_out = request[REQUEST_CONTEXT], None
        if self.protected.are_left_out(context):
            numbers = {each["id"] for each in found}
            shown = await self.protected.shown(country, numbers, context.caller)
            left_out = len(numbers) - len(shown)
            found = [each for each in found if each["id"] in shown]
        answer = _suggestions([{**each, "notable": [TYPE]} for each in found])
        return answer if left_out is None else with_left_out(answer, left_out)

    async def properties(self, request: web.Request) -> web.Response:
        """Completes the names of properties."""
        query = _PrefixQuery.parse(parameters_of(request))
        return _suggestions(suggested(query.prefix)[query.cursor :])

    async def types(self, request: web.Request) -> web.Response:
        """Completes the name of the only type."""
        query = _PrefixQuery.parse(parameters_of(request))
        is_type = TYPE["id"].startswith(query.prefix.lower())
        return _suggestions([TYPE][query.cursor :] if is_type else [])

    async def _numbered(
        self, request: web.Request, country: Country, text: str
    ) -> list[dict[str, str]]:
        number = registration_number(text, country)
        if number is None:
            return []
        try:
            reply = await self.lookups.look_up(
                lookup_of(country, number), caller=request[REQUEST_CONTEXT].caller
            )
        except (CompanyNotFound, CompanyRemoved):
            return []
        company = orjson.loads(reply.body)
        city = (company["address"] or {}).get("city")
        return [entity(number, company["name"], city, company["status"])]

    async def _named(
        self, request: web.Request, country: Country, text: str, skipped: int
    ) -> list[dict[str, str]]:
        shortest, longest = NAME_LENGTH
        if len(text) < shortest:
            return []
        found: list[dict[str, Any]] = []
        after: str | None = None
        # Bounded: a client that skips many suggestions may get a short page.
        for _ in range(1 + (skipped + SUGGESTED) // MAX_SUGGESTIONS):
            suggestion = SuggestRequest(
                country=country, text=text[:longest], limit=MAX_SUGGESTIONS, after=after
            )
            caller = request[REQUEST_CONTEXT].caller
            reply = await self.suggestions.suggest(suggestion, caller=caller)
            page = orjson.loads(reply.body)
            found += page["suggestions"]
            after = page["cursor"]
            if after is None:
                break
        return [
            entity(one["vat"], one["name"], one["city"], one["status"])
            for one in found[skipped : skipped + SUGGESTED]
        ]


def _suggestions(found: Sequence[Any]) -> web.Response:
    return json_response(orjson.dumps({"result": found}), cache_control=CACHE_CONTROL)
