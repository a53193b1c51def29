"""Parsing of requests for lookups, batches, suggestions and production units.

Whatever is wrong with one lookup of a batch, such as an unknown field, a number for a text or a
registration number of seven digits, fails that lookup alone.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from common.contracts.company import Country, Include
from common.contracts.failures import FieldError
from common.contracts.lookup import (
    MAX_SUGGESTIONS,
    MAX_UNITS,
    SUGGEST_CURSOR,
    LookupRequest,
    Question,
    SearchType,
    SuggestRequest,
    UnitsRequest,
)
from common.domain.nearest import unknown_names
from gateway.http.parameters import (
    COUNTRY,
    FORMAT,
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
VAT, LIMIT, AFTER = "vat", "limit", "after"

SEARCH_PARAMETERS = (*(kind.value for kind in SearchType), SEARCH)

#: Suggestions of one answer.
DEFAULT_LIMIT = 10

LOOKUPS = "lookups"
MAX_LOOKUPS = 100

_TEXTS = (COUNTRY, *SEARCH_PARAMETERS)
FIELDS = (*_TEXTS, INCLUDE)


class LookupQuery(NamedTuple):
    """A valid lookup, and the format of its response."""

    request: LookupRequest
    format: Format
    #: The requested search: a type, or `search` when the type was inferred.
    search_type: str


def parse_lookup(
    parameters: Parameters, *, typed: SearchType | None = None, accept: str = ""
) -> LookupQuery:
    """Parse a lookup; `typed` is the search type of an endpoint that takes its term in q.

    The `accept` header selects the format when no parameter does.

    Raises MissingParameter, MultipleSearchParameters or InvalidParameter.
    """
    reading = _LookupReading(parameters)
    country = reading.country()
    include = reading.include()
    format_ = reading.format() or negotiated(accept)
    questions = reading.questions(country, typed)
    if reading.faults or country is None:
        raise reading.problem()
    search_type = typed or reading.named[0]
    return LookupQuery(
        request=LookupRequest(
            country=country, questions=questions, include=include, inferred=search_type == SEARCH
        ),
        format=format_,
        search_type=search_type,
    )


def read_include(reading: Reading, known: Sequence[Include]) -> tuple[Include, ...]:
    """The parts that `include` lists, of the known ones and in their order."""
    values = reading.parameters.get(INCLUDE, ())
    wanted = {part.strip() for value in values for part in value.split(",")}
    if not wanted <= set(known):
        reading.invalid(INCLUDE, "must be a comma-separated list of " + ", ".join(known))
    return tuple(part for part in known if part in wanted)


class _LookupReading(Reading):
    """The parameters of one lookup."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.named = [name for name in SEARCH_PARAMETERS if name in parameters]

    def include(self) -> tuple[Include, ...]:
        return read_include(self, tuple(Include))

    def format(self) -> Format | None:
        return self.choice(FORMAT, Format, "must be json or xml")

    def questions(self, country: Country | None, typed: SearchType | None) -> tuple[Question, ...]:
        given = self.named if typed is None else [TERM] * (TERM in self.parameters)
        self._count_searches(given, typed)
        questions: tuple[Question, ...] = ()
        for name in given:
            term = self.single(name)
            if term is not None:
                kind = typed or (None if name == SEARCH else SearchType(name))
                questions = self._asked(name, kind, term, country)
        return questions

    def _count_searches(self, given: list[str], typed: SearchType | None) -> None:
        if not given and typed is not None:
            self.fault(Rank.MISSING_SEARCH, TERM, "required; give a search term")
        elif not given:
            one_of = ", ".join(SEARCH_PARAMETERS)
            self.fault(Rank.MISSING_SEARCH, SEARCH, f"give one of {one_of}")
        elif typed is not None:
            for name in self.named:
                self.fault(Rank.SEVERAL_SEARCHES, name, f"cannot be given beside {TERM}")
        elif len(given) > 1:
            for name in given:
                self.fault(Rank.SEVERAL_SEARCHES, name, f"give only one of {', '.join(given)}")

    def _asked(
        self, name: str, kind: SearchType | None, term: str, country: Country | None
    ) -> tuple[Question, ...]:
        """The searches for one term; without a country, it must be valid in at least one."""
        refusals = []
        countries = (country,) if country is not None else tuple(Country)
        for each in countries:
            try:
                return _questions(kind, term, each)
            except InvalidTerm as invalid:
                refusals.append(str(invalid))
        self.invalid(name, "; ".join(dict.fromkeys(refusals)))
        return ()


def _questions(kind: SearchType | None, term: str, country: Country) -> tuple[Question, ...]:
    if kind is None:
        return infer(term, country)
    return (Question(type=kind, term=normalise(kind, term, country)),)


def parse_batch(body: bytes) -> list[LookupRequest | Problem]:
    """Each lookup in order, or its problem; raises InvalidBody for a body that is no batch."""
    return [_parsed(place, lookup) for place, lookup in enumerate(_lookups(body))]


def _lookups(body: bytes) -> list[Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidBody("the body is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidBody("the body is not a JSON object")
    faults = unknown_names("field", document, (LOOKUPS,))
    lookups = document.get(LOOKUPS)
    if not isinstance(lookups, list) or not 1 <= len(lookups) <= MAX_LOOKUPS:
        faults.append((LOOKUPS, f"give a list of 1 to {MAX_LOOKUPS} lookups"))
    if faults or not isinstance(lookups, list):
        errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
        raise InvalidBody("the request body is invalid", errors=errors)
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
        return parse_lookup(_parameters(lookup)).request
    except Problem as problem:
        return problem


def _is_include(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | None)


def _parameters(lookup: dict[str, Any]) -> Parameters:
    """The lookup as the parameters of a query string; null members are omitted."""
    texts = {name: lookup[name] for name in _TEXTS if lookup.get(name) is not None}
    include = lookup.get(INCLUDE)
    if include is not None and include != []:
        texts[INCLUDE] = include if isinstance(include, str) else ",".join(include)
    return {name: (text,) for name, text in texts.items()}


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Parse the text typed, the maximum number of suggestions and the page.

    Raises MissingParameter or InvalidParameter.
    """
    reading = _SuggestReading(parameters)
    country, text = reading.country(), reading.text()
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
        text = (self.single(TERM) or "").strip()
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


def parse_units(country: str, vat: str, parameters: Parameters) -> UnitsRequest:
    """Parse the path's country and registration number, and the page; raises InvalidParameter."""
    reading = Reading({**parameters, COUNTRY: (country,), VAT: (vat,)})
    chosen, number = reading.country(), reading.single(VAT)
    if chosen is not None and number is not None:
        try:
            number = normalise(SearchType.VAT, number, chosen)
        except InvalidTerm as invalid:
            reading.invalid(VAT, str(invalid))
    limit = reading.number(LIMIT, 1, MAX_UNITS, MAX_UNITS)
    after = reading.single(AFTER) or ""
    if reading.faults or chosen is None or number is None:
        raise reading.problem()
    return UnitsRequest(country=chosen, vat=number, limit=limit, after=after)
