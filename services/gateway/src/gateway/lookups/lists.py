"""Suggestions of companies, and the lists of one company, page by page over HTTP."""

import asyncio
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Protocol

import orjson
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from pydantic import PlainValidator, ValidationInfo

from common.contracts.company import Country, Status
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
from common.domain.countries import begin_of_day
from common.domain.times import read_day
from common.domain.written import plain_name, read_country
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, accept_of, parameters_of
from gateway.http.parameters import (
    COUNTRY,
    OF_BOTH,
    REQUIRED,
    Fault,
    Format,
    Invalid,
    Parameters,
    Query,
    Rank,
    Text,
    boolean,
    negotiated,
    number,
    once,
    one_country,
    read_moment,
    required,
    single,
)
from gateway.http.responses import json_response, with_left_out
from gateway.http.xml_processes import XmlRenderer
from gateway.lookups.find import read_statuses
from gateway.lookups.lookup import (
    CACHE_CONTROL,
    COMPANY_PATH,
    MEDIA_TYPE,
    Lookups,
    RequestedFormat,
)
from gateway.lookups.protected import ProtectedCompanies
from gateway.lookups.terms import NAME_LENGTH, InvalidTerm, normalise

SUGGEST_PATH = "/api/suggest"
#: The path of each list of a company.
PART_PATHS = {part: f"{COMPANY_PATH}/{part}" for part in ListedPart}

#: The lists that a client may have as XML too.
IN_XML = frozenset({ListedPart.ACCOUNTS})

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


def _some_countries(values: tuple[str, ...]) -> tuple[Country, ...]:
    if not values:
        raise Invalid(Fault(f"required; give dk or no{OF_BOTH}", Rank.MISSING_COUNTRY))
    named = [read_country(each) for each in single(values).split(",")]
    found = tuple(each for each in Country if each in named)
    if None in named or len(found) < len(named):
        raise Invalid("must be dk, no or both")
    return found


def _cursor_of_one(values: tuple[str, ...], info: ValidationInfo) -> str:
    cursor = _suggest_cursor(single(values))
    if len(info.data.get("country", ())) > 1:
        raise Invalid("needs one country")
    return cursor


class _SuggestQuery(Query):
    country: Annotated[tuple[Country, ...], PlainValidator(_some_countries)] = REQUIRED
    q: Annotated[str, PlainValidator(_typed_text)] = REQUIRED
    limit: Annotated[int, number(1, MAX_SUGGESTIONS)] = DEFAULT_LIMIT
    after: Annotated[str | None, PlainValidator(_cursor_of_one)] = None
    status: Annotated[tuple[Status, ...], PlainValidator(read_statuses)] = ()


def parse_suggestion(parameters: Parameters) -> tuple[SuggestRequest, ...]:
    """Returns the request for suggestions of each country.

    Raises MissingParameter or InvalidParameter.
    """
    query = _SuggestQuery.parse(parameters)
    return tuple(
        SuggestRequest(
            country=country,
            text=query.q,
            limit=query.limit,
            after=query.after,
            statuses=query.status,
        )
        for country in query.country
    )


def joined_suggestions(
    requests: Sequence[SuggestRequest], replies: Sequence[SuggestReply]
) -> bytes:
    """Returns the public answer over several registers, which has no further page.

    Names that begin with the text come first; the lists of the registers take turns.
    """
    typed, limit = _letters(requests[0].text), requests[0].limit
    listed = [
        (not _letters(each["name"]).startswith(typed), place, each)
        for reply in replies
        for place, each in enumerate(orjson.loads(reply.body)["suggestions"])
    ]
    listed.sort(key=lambda one: one[:2])
    found = [each for _, _, each in listed[:limit]]
    return orjson.dumps({"suggestions": found, "cursor": None})


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


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


def _since(value: str) -> datetime:
    day = read_day(value)
    if day is not None:
        return begin_of_day(date.fromisoformat(day))
    message = "must be a day such as 2026-01-31, or a time with its offset"
    return read_moment(value, message)


class _PartQuery(Query):
    country: Annotated[Country, one_country()]
    vat: Annotated[str, PlainValidator(_registration_number)]
    limit: Annotated[int, number(1, MAX_LISTED)] = MAX_LISTED
    after: Text = ""
    since: Annotated[datetime | None, once(_since)] = None
    advertising_protected: Annotated[bool | None, PlainValidator(_advertising_protected)] = None
    format: RequestedFormat = None


def parse_part(
    part: ListedPart, country: str, vat: str, parameters: Parameters
) -> tuple[PartRequest, Format | None]:
    """Returns the request for a page of a list of a company, and the format that it names.

    Raises InvalidParameter.
    """
    query = _PartQuery.parse({**parameters, COUNTRY: (country,), "vat": (vat,)})
    fields = dict(query)
    named = fields.pop("format")
    return PartRequest(part=part, **fields), named


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


def suggest_handler(suggestions: Suggestions, protected: ProtectedCompanies) -> Handler:
    """Returns the handler of suggestions; a client may reuse a list for a minute."""

    async def suggest(request: web.Request) -> web.Response:
        wanted = parse_suggestion(parameters_of(request))
        context = request[REQUEST_CONTEXT]
        replies: Sequence[SuggestReply] = await asyncio.gather(
            *(suggestions.suggest(each, caller=context.caller) for each in wanted)
        )
        left_out = None
        if protected.are_left_out(context):
            replies, left_out = await protected.suggestions(wanted, replies, context.caller)
        body = replies[0].body if len(replies) == 1 else joined_suggestions(wanted, replies)
        response = json_response(body, cache_control=CACHE_CONTROL)
        return response if left_out is None else with_left_out(response, left_out)

    return suggest


def part_handler(parts: Parts, part: ListedPart, renderer: XmlRenderer) -> Handler:
    """Returns the handler of a list of a company; a client may reuse a page for a minute."""

    async def page(request: web.Request) -> web.Response:
        path = request.match_info
        query, named = parse_part(part, path["country"], path["vat"], parameters_of(request))
        reply = await parts.part(query, caller=request[REQUEST_CONTEXT].caller)
        if part in IN_XML and (named or negotiated(accept_of(request))) is Format.XML:
            headers = {
                hdrs.CONTENT_TYPE: MEDIA_TYPE[Format.XML],
                hdrs.CACHE_CONTROL: CACHE_CONTROL,
            }
            return web.Response(body=await renderer.accounts(reply.body), headers=headers)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return page
