"""Parsing of a lookup's query string."""

from typing import NamedTuple

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupRequest, Question, SearchType
from gateway.http.formats import FORMAT, Format, negotiated
from gateway.http.parameters import Parameters, Rank, Reading
from gateway.lookups.inference import infer
from gateway.lookups.terms import InvalidTerm, normalise

INCLUDE, SEARCH, TERM = "include", "search", "q"

SEARCH_PARAMETERS = (*(kind.value for kind in SearchType), SEARCH)


class LookupQuery(NamedTuple):
    request: LookupRequest
    format: Format
    #: The requested search: a type, or `search` when the type was inferred.
    search_type: str


_INCLUDES = {include.value for include in Include}


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


class _LookupReading(Reading):
    """The parameters of one lookup."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.named = [name for name in SEARCH_PARAMETERS if name in parameters]

    def include(self) -> tuple[Include, ...]:
        values = self.parameters.get(INCLUDE, ())
        wanted = {part.strip() for value in values for part in value.split(",")}
        if not wanted <= _INCLUDES:
            self.invalid(INCLUDE, "must be a comma-separated list of " + ", ".join(Include))
        return tuple(part for part in Include if part in wanted)

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
