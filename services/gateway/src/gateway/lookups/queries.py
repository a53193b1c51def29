"""Parsing of requests for lookups, batches, suggestions and production units.

An error in one lookup of a batch, such as an unknown field, a number for a text or a registration
number of seven digits, fails only that lookup.
"""

import re
from collections.abc import Sequence
from typing import Any

import orjson

from common.contracts.company import Country, Include
from common.contracts.failures import FieldError
from common.contracts.lookup import (
    MAX_LISTED,
    MAX_SUGGESTIONS,
    SUGGEST_CURSOR,
    TYPED_SEARCHES,
    ListedPart,
    LookupRequest,
    PartRequest,
    Question,
    SearchType,
    SuggestRequest,
)
from common.domain.nearest import did_you_mean, unknown_names
from common.domain.written import plain_name
from gateway.http.parameters import (
    COUNTRY,
    FORMAT,
    OF_BOTH,
    Format,
    Parameters,
    Rank,
    Reading,
    invalid_parameters,
    negotiated,
)
from gateway.lookups.terms import NAME_LENGTH, InvalidTerm, infer, normalise
from gateway.problems import InvalidBody, Problem

INCLUDE, SEARCH, TERM = "include", "search", "q"
VAT, LIMIT, AFTER, PROTECTED = "vat", "limit", "after", "advertising_protected"

SEARCH_PARAMETERS = (*(each.value for each in TYPED_SEARCHES), SEARCH)

#: Suggestions in an answer, unless another number is requested.
DEFAULT_LIMIT = 10

LOOKUPS = "lookups"
MAX_LOOKUPS = 100

_TEXTS = (COUNTRY, *SEARCH_PARAMETERS)
FIELDS = (*_TEXTS, INCLUDE)


def parse_lookup(
    parameters: Parameters, *, typed: SearchType | None = None, accept: str = ""
) -> tuple[LookupRequest, Format]:
    """Returns a lookup and the format of its response.

    `typed` is the search type of an endpoint that takes its term in q. The `accept` header selects
    the format when no parameter does.

    Raises MissingParameter, MultipleSearchParameters or InvalidParameter.
    """
    reading = Reading(parameters)
    country = reading.country(OF_BOTH)
    include = read_include(reading, tuple(Include))
    format_ = reading.choice(FORMAT, Format, "must be json or xml") or negotiated(accept)
    named = [name for name in SEARCH_PARAMETERS if name in parameters]
    questions = _questions(reading, named, country, typed)
    if reading.faults or country is None:
        raise reading.problem()
    inferred = typed is None and named[0] == SEARCH
    lookup = LookupRequest(country=country, questions=questions, include=include, inferred=inferred)
    return lookup, format_


def requested_search(lookup: LookupRequest) -> str:
    """Returns the search that a client has requested: a type, or `search` when it was inferred."""
    return SEARCH if lookup.inferred else lookup.questions[0].type


def read_include(reading: Reading, known: Sequence[Include]) -> tuple[Include, ...]:
    """Returns the parts that `include` lists, of the known ones and in their order."""
    values = reading.parameters.get(INCLUDE, ())
    wanted = {part.strip() for value in values for part in value.split(",")}
    if strange := sorted(wanted.difference(known)):
        near = did_you_mean(strange[0], known)
        reading.invalid(INCLUDE, f"must be a comma-separated list of {', '.join(known)}{near}")
    return tuple(part for part in known if part in wanted)


def _questions(
    reading: Reading, named: Sequence[str], country: Country | None, typed: SearchType | None
) -> tuple[Question, ...]:
    """Returns the searches of the `named` parameters, or of q for a type; with errors noted."""
    given = named if typed is None else [TERM] * (TERM in reading.parameters)
    _count_searches(reading, given, named, typed)
    questions: tuple[Question, ...] = ()
    for name in given:
        term = reading.single(name)
        if term is not None:
            search_type = typed or (None if name == SEARCH else SearchType(name))
            questions = _asked(reading, name, search_type, term, country)
    return questions


def _count_searches(
    reading: Reading, given: Sequence[str], named: Sequence[str], typed: SearchType | None
) -> None:
    if not given and typed is not None:
        reading.fault(Rank.MISSING_SEARCH, TERM, "required; give a search term")
    elif not given:
        one_of = ", ".join(SEARCH_PARAMETERS)
        reading.fault(Rank.MISSING_SEARCH, SEARCH, f"give one of {one_of}")
    elif typed is not None:
        for name in named:
            reading.fault(Rank.SEVERAL_SEARCHES, name, f"cannot be given beside {TERM}")
    elif len(given) > 1:
        for name in given:
            reading.fault(Rank.SEVERAL_SEARCHES, name, f"give only one of {', '.join(given)}")


def _asked(
    reading: Reading, name: str, search_type: SearchType | None, term: str, country: Country | None
) -> tuple[Question, ...]:
    """Returns the searches for one term; without a country, it must be valid in at least one."""
    refusals = []
    countries = (country,) if country is not None else tuple(Country)
    for each in countries:
        try:
            if search_type is None:
                return infer(term, each)
            return (Question(type=search_type, term=normalise(search_type, term, each)),)
        except InvalidTerm as invalid:
            refusals.append(str(invalid))
    reading.invalid(name, "; ".join(dict.fromkeys(refusals)))
    return ()


def parse_batch(body: bytes) -> list[LookupRequest | Problem]:
    """Returns each lookup or its problem, in order; raises InvalidBody if it is no batch."""
    return [_parsed(place, lookup) for place, lookup in enumerate(_lookups(body))]


def json_object(body: bytes) -> dict[str, Any]:
    """Returns the object of a JSON body; raises InvalidBody."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidBody("the body is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidBody("the body is not a JSON object")
    return document


def invalid_body(faults: Sequence[tuple[str, str]]) -> InvalidBody:
    """Returns the problem with a body's members and their messages."""
    errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
    return InvalidBody("the request body is invalid", errors=errors)


def _lookups(body: bytes) -> list[Any]:
    document = json_object(body)
    faults = unknown_names("field", document, (LOOKUPS,))
    lookups = document.get(LOOKUPS)
    if not isinstance(lookups, list) or not 1 <= len(lookups) <= MAX_LOOKUPS:
        faults.append((LOOKUPS, f"give a list of 1 to {MAX_LOOKUPS} lookups"))
    if faults or not isinstance(lookups, list):
        raise invalid_body(faults)
    return lookups


def _parsed(place: int, lookup: object) -> LookupRequest | Problem:
    if not isinstance(lookup, dict):
        return invalid_parameters([(f"{LOOKUPS}[{place}]", "give an object")])
    faults = unknown_names("field", lookup, FIELDS)
    faults += [(n, "give a string") for n in _TEXTS if not isinstance(lookup.get(n), str | None)]
    if not _is_include(lookup.get(INCLUDE)):
        faults.append((INCLUDE, "give a list of strings"))
    if faults:
        return invalid_parameters(faults)
    try:
        return parse_lookup(_parameters(lookup))[0]
    except Problem as problem:
        return problem


def _is_include(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | None)


def _parameters(lookup: dict[str, Any]) -> Parameters:
    """Returns the lookup as the parameters of a query string; null members are omitted."""
    texts = {name: lookup[name] for name in _TEXTS if lookup.get(name) is not None}
    include = lookup.get(INCLUDE)
    if include is not None and include != []:
        texts[INCLUDE] = include if isinstance(include, str) else ",".join(include)
    return {name: (text,) for name, text in texts.items()}


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Returns the request for suggestions; raises MissingParameter or InvalidParameter."""
    reading = _SuggestReading(parameters)
    country, text = reading.country(OF_BOTH), reading.text()
    limit = reading.number(LIMIT, 1, MAX_SUGGESTIONS, DEFAULT_LIMIT)
    after = reading.cursor()
    if reading.faults or country is None or text is None:
        raise reading.problem()
    return SuggestRequest(country=country, text=text, limit=limit, after=after)


class _SuggestReading(Reading):
    def text(self) -> str | None:
        if TERM not in self.parameters:
            self.fault(Rank.MISSING_SEARCH, TERM, "required; give the text typed so far")
            return None
        text = plain_name(self.single(TERM) or "")
        shortest, longest = NAME_LENGTH
        if text and not shortest <= len(text) <= longest:
            self.invalid(TERM, f"must be {shortest} to {longest} characters")
        return text

    def cursor(self) -> str | None:
        value = self.single(AFTER)
        if value is not None and not re.fullmatch(SUGGEST_CURSOR, value):
            self.invalid(AFTER, "must be the cursor of an earlier answer")
            return None
        return value


def parse_part(part: ListedPart, country: str, vat: str, parameters: Parameters) -> PartRequest:
    """Returns the request for a page of a list of a company; raises InvalidParameter."""
    reading = Reading({**parameters, COUNTRY: (country,), VAT: (vat,)})
    chosen, number = reading.country(), reading.single(VAT)
    if chosen is not None and number is not None:
        try:
            number = normalise(SearchType.VAT, number, chosen)
        except InvalidTerm as invalid:
            reading.invalid(VAT, str(invalid))
    limit = reading.number(LIMIT, 1, MAX_LISTED, MAX_LISTED)
    after = reading.single(AFTER) or ""
    protected = reading.boolean(PROTECTED)
    if protected is not None and chosen is Country.NO:
        reading.invalid(PROTECTED, "only the Danish register says it")
    if reading.faults or chosen is None or number is None:
        raise reading.problem()
    return PartRequest(
        country=chosen,
        vat=number,
        part=part,
        limit=limit,
        after=after,
        advertising_protected=protected,
    )
