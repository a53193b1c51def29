"""The lookup of one company, over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, Protocol

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from pydantic import PlainValidator, ValidationInfo

from common.contracts.company import Country, Include
from common.contracts.lookup import (
    TYPED_SEARCHES,
    LookupReply,
    LookupRequest,
    Question,
    SearchType,
)
from common.domain.sentences import did_you_mean
from common.domain.times import read_day
from common.runtime.public_port.conditional import ETAG, etag_matches, if_none_match
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, accept_of, parameters_of
from gateway.http.parameters import (
    OF_BOTH,
    REQUIRED,
    Fault,
    Format,
    Invalid,
    Parameters,
    Query,
    Rank,
    choice,
    entity_tag,
    negotiated,
    once,
    one_country,
    single,
)
from gateway.http.xml_processes import XmlRenderer
from gateway.lookups.terms import InvalidTerm, infer, normalise

COMPANY_PATH = "/api/companies/{country}/{vat}"

#: A client may reuse a company for a minute.
CACHE_CONTROL = "private, max-age=60"
MEDIA_TYPE = {Format.JSON: "application/json", Format.XML: "application/xml; charset=utf-8"}

INCLUDE, SEARCH, TERM = "include", "search", "q"
SEARCH_PARAMETERS: Final = (*(each.value for each in TYPED_SEARCHES), SEARCH)


class Lookups(Protocol):
    """Looks up one company by any search type, such as a number, a name or an address."""

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, timeout: float | None = None
    ) -> LookupReply:
        """Returns the one company that answers the request.

        Raises CompanyNotFound, ServiceUnavailable (broker, database or lookup service),
        LookupTimeout, InvalidParameter or InternalError; bounded by `timeout` seconds, or by the
        time of a request.
        """


def included_parts(known: Sequence[Include]) -> PlainValidator:
    """Returns the validator of a list of parts, which gives them in the order of the known ones."""

    def read(values: Sequence[str]) -> tuple[Include, ...]:
        named = {part.strip() for value in values for part in value.split(",")}
        if unknown := sorted(named.difference(known)):
            near = did_you_mean(unknown[0], known)
            raise Invalid(f"must be a comma-separated list of {', '.join(known)}{near}")
        return tuple(part for part in known if part in named)

    return PlainValidator(read)


class _Searches(NamedTuple):
    given: Mapping[str, Sequence[str]]
    #: The type of an endpoint that takes its term in q.
    typed: SearchType | None
    #: Search parameters that are given next to q.
    others: Sequence[str]


def _questions(searches: _Searches, info: ValidationInfo) -> tuple[Question, ...]:
    given, typed, others = searches
    faults: list[Fault] = []
    if not given:
        wanted = f"give one of {', '.join(SEARCH_PARAMETERS)}"
        message = "required; give a search term" if typed else wanted
        faults.append(Fault(message, Rank.MISSING_SEARCH, TERM if typed else SEARCH))
    elif len(given) > 1:
        message = f"give only one of {', '.join(given)}"
        faults += [Fault(message, Rank.SEVERAL_SEARCHES, name) for name in given]
    if given:
        message = f"cannot be given beside {TERM}"
        faults += [Fault(message, Rank.SEVERAL_SEARCHES, name) for name in others]
    questions: tuple[Question, ...] = ()
    # Without a country, a term must be valid in at least one.
    countries = [info.data["country"]] if "country" in info.data else list(Country)
    for name, values in given.items():
        search_type = typed or (None if name == SEARCH else SearchType(name))
        try:
            questions = _of_term(single(values), search_type, countries)
        except Invalid as invalid:
            faults += [fault._replace(parameter=name) for fault in invalid.faults]
    if faults:
        raise Invalid(*faults)
    return questions


def _of_term(
    term: str, search_type: SearchType | None, countries: Sequence[Country]
) -> tuple[Question, ...]:
    refusals: dict[str, None] = {}
    for country in countries:
        try:
            if search_type is None:
                return infer(term, country)
            return (Question(type=search_type, term=normalise(search_type, term, country)),)
        except InvalidTerm as invalid:
            refusals[str(invalid)] = None
    raise Invalid("; ".join(refusals))


#: The parts of a company that are known of an earlier day.
_OF_PAST: Final = (Include.OWNERS, Include.ROLES)


def _as_of(values: Sequence[str], info: ValidationInfo) -> str:
    day = single(values)
    if read_day(day) is None:
        raise Invalid("must be a day, YYYY-MM-DD")
    present = [part for part in info.data.get(INCLUDE, ()) if part not in _OF_PAST]
    if present:
        raise Invalid(f"include may be owners and roles with it; {present[0]} is known of today")
    return day


RequestedFormat = Annotated[Format | None, once(choice(Format, "must be json or xml"))]


class _LookupQuery(Query):
    country: Annotated[Country, one_country(OF_BOTH)] = REQUIRED
    include: Annotated[tuple[Include, ...], included_parts(tuple(Include))] = ()
    as_of: Annotated[str | None, PlainValidator(_as_of)] = None
    format: RequestedFormat = None
    searches: Annotated[tuple[Question, ...], PlainValidator(_questions)]


def parse_lookup(
    parameters: Parameters, *, typed: SearchType | None = None, accept: str = ""
) -> tuple[LookupRequest, Format]:
    """Returns a lookup and the format of its response.

    `typed` is the search type of an endpoint that takes its term in q. The `accept` header selects
    the format when no parameter does.

    Raises MissingParameter, MultipleSearchParameters or InvalidParameter.
    """
    named = {name: parameters[name] for name in SEARCH_PARAMETERS if name in parameters}
    searches = _Searches(named, None, ())
    if typed is not None:
        term = {TERM: parameters[TERM]} if TERM in parameters else {}
        searches = _Searches(term, typed, tuple(named))
    given: dict[str, Any] = {**parameters, "searches": searches}
    query = _LookupQuery.parse(given)
    lookup = LookupRequest(
        country=query.country,
        questions=query.searches,
        include=query.include,
        inferred=typed is None and SEARCH in named,
        as_of=query.as_of,
    )
    return lookup, query.format or negotiated(accept)


def requested_search(lookup: LookupRequest) -> str:
    """Returns the search that a client has requested: a type, or `search` when it was inferred."""
    return SEARCH if lookup.inferred else lookup.questions[0].type


def lookup_handler(
    lookups: Lookups, renderer: XmlRenderer, typed: SearchType | None = None
) -> Handler:
    """Returns the handler of `/api`, of the endpoint of one search type, or of a company."""

    async def look_up(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        parameters = parameters_of(request)
        if request.match_info:
            # The path of a company has its country and number.
            parameters |= {name: [value] for name, value in request.match_info.items()}
        lookup, format_ = parse_lookup(parameters, typed=typed, accept=accept_of(request))
        context.search_type, context.country = requested_search(lookup), lookup.country
        reply = await lookups.look_up(lookup, caller=context.caller)
        headers = {
            ETAG: entity_tag(reply.tag, format_),
            hdrs.CACHE_CONTROL: CACHE_CONTROL,
        }
        if reply.vat:
            # `COMPANY_PATH`, without the time of a template.
            country = lookup.country.value
            headers[hdrs.LINK] = f'</api/companies/{country}/{reply.vat}>; rel="self"'
        if etag_matches(headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=headers)
        headers[hdrs.CONTENT_TYPE] = MEDIA_TYPE[format_]
        is_xml = format_ is Format.XML
        body = await renderer.company(reply.body) if is_xml else reply.body
        return web.Response(body=body, headers=headers)

    return look_up
