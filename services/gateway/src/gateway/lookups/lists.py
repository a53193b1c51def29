"""Suggestions of companies, and the lists of one company, page by page over HTTP."""

import re
from typing import Annotated, Protocol

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import PlainValidator, ValidationInfo

from common.contracts.company import Country
from common.contracts.lookup import (
    MAX_LEVELS,
    MAX_LISTED,
    MAX_SUGGESTIONS,
    SUGGEST_CURSOR,
    ListedPart,
    LookupRequest,
    PartReply,
    PartRequest,
    Question,
    SearchType,
    SuggestReply,
    SuggestRequest,
)
from common.domain.written import plain_name
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import (
    COUNTRY,
    OF_BOTH,
    REQUIRED,
    Invalid,
    Parameters,
    Query,
    Text,
    boolean,
    number,
    once,
    one_country,
    required,
    single,
)
from gateway.http.responses import json_response
from gateway.lookups.lookup import CACHE_CONTROL, COMPANY_PATH, Lookups
from gateway.lookups.terms import NAME_LENGTH, InvalidTerm, normalise

SUGGEST_PATH = "/api/suggest"
#: The path of each list of a company.
PART_PATHS = {part: f"{COMPANY_PATH}/{part}" for part in ListedPart}

GROUP_PATH = f"{COMPANY_PATH}/group"
#: Levels of a group upwards and downwards, unless another number is requested.
DEFAULT_LEVELS = 5

#: Suggestions in an answer, unless another number is requested.
DEFAULT_LIMIT = 10


class Suggestions(Protocol):
    """Completes partly typed company names."""

    async def suggest(self, request: SuggestRequest, *, caller: Caller) -> SuggestReply:
        """Returns companies whose names complete the text, best first; may be empty.

        Raises ServiceUnavailable (broker, database or lookup service, or its index is still
        being built), LookupTimeout or InternalError; bounded by a timeout.
        """


class Parts(Protocol):
    """Reads the lists of a company page by page."""

    async def part(self, request: PartRequest, *, caller: Caller) -> PartReply:
        """Returns a page of a list of a company; raises as `Lookups.look_up`."""


_required_text = required("required; give the text typed so far")


def _typed_text(values: tuple[str, ...]) -> str:
    text = plain_name(_required_text(values))
    if not text:
        raise Invalid("must not be empty")
    shortest, longest = NAME_LENGTH
    if not shortest <= len(text) <= longest:
        raise Invalid(f"must be {shortest} to {longest} characters")
    return text


def _suggest_cursor(value: str) -> str:
    if not re.fullmatch(SUGGEST_CURSOR, value):
        raise Invalid("must be the cursor of an earlier answer")
    return value


class _SuggestQuery(Query):
    country: Annotated[Country, one_country(OF_BOTH)] = REQUIRED
    q: Annotated[str, PlainValidator(_typed_text)] = REQUIRED
    limit: Annotated[int, number(1, MAX_SUGGESTIONS)] = DEFAULT_LIMIT
    after: Annotated[str | None, once(_suggest_cursor)] = None


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Returns the request for suggestions; raises MissingParameter or InvalidParameter."""
    query = _SuggestQuery.parse(parameters)
    return SuggestRequest(country=query.country, text=query.q, limit=query.limit, after=query.after)


def _registration_number(values: tuple[str, ...], info: ValidationInfo) -> str:
    value, country = single(values), info.data.get("country")
    try:
        return value if country is None else normalise(SearchType.VAT, value, country)
    except InvalidTerm as invalid:
        raise Invalid(str(invalid)) from None


def _advertising_protected(values: tuple[str, ...], info: ValidationInfo) -> bool:
    value = boolean(values)
    if info.data.get("country") is Country.NO:
        raise Invalid("only the Danish register says it")
    return value


class _PartQuery(Query):
    country: Annotated[Country, one_country()]
    vat: Annotated[str, PlainValidator(_registration_number)]
    limit: Annotated[int, number(1, MAX_LISTED)] = MAX_LISTED
    after: Text = ""
    advertising_protected: Annotated[bool | None, PlainValidator(_advertising_protected)] = None


def parse_part(part: ListedPart, country: str, vat: str, parameters: Parameters) -> PartRequest:
    """Returns the request for a page of a list of a company; raises InvalidParameter."""
    query = _PartQuery.parse({**parameters, COUNTRY: (country,), "vat": (vat,)})
    return PartRequest(part=part, **dict(query))


class _GroupQuery(Query):
    country: Annotated[Country, one_country()]
    vat: Annotated[str, PlainValidator(_registration_number)]
    levels: Annotated[int, number(1, MAX_LEVELS)] = DEFAULT_LEVELS


def parse_group(country: str, vat: str, parameters: Parameters) -> LookupRequest:
    """Returns the request for the group of a company; raises InvalidParameter."""
    query = _GroupQuery.parse({**parameters, COUNTRY: (country,), "vat": (vat,)})
    question = Question(type=SearchType.VAT, term=query.vat)
    return LookupRequest(country=query.country, questions=(question,), group_levels=query.levels)


def group_handler(lookups: Lookups) -> Handler:
    """Returns the handler of a company's group; a client may reuse it for a minute."""

    async def group(request: web.Request) -> web.Response:
        path = request.match_info
        wanted = parse_group(path["country"], path["vat"], parameters_of(request))
        reply = await lookups.look_up(wanted, caller=request[REQUEST_CONTEXT].caller)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return group


def suggest_handler(suggestions: Suggestions) -> Handler:
    """Returns the handler of suggestions; a client may reuse a list for a minute."""

    async def suggest(request: web.Request) -> web.Response:
        suggestion = parse_suggestion(parameters_of(request))
        caller = request[REQUEST_CONTEXT].caller
        reply = await suggestions.suggest(suggestion, caller=caller)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return suggest


def part_handler(parts: Parts, part: ListedPart) -> Handler:
    """Returns the handler of a list of a company; a client may reuse a page for a minute."""

    async def page(request: web.Request) -> web.Response:
        path = request.match_info
        query = parse_part(part, path["country"], path["vat"], parameters_of(request))
        reply = await parts.part(query, caller=request[REQUEST_CONTEXT].caller)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return page
