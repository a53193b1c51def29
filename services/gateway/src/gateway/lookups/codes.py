"""Codes in words, the codes that a filter means, and the freshness of registers, over HTTP."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import PlainValidator

from common.contracts.company import Country
from common.contracts.find import (
    Code,
    CodeList,
    Codes,
    CodeText,
    Facet,
    FindReply,
    FindRequest,
)
from common.contracts.lookup import SourcesReply
from common.contracts.webhook_api import FilterWords
from common.domain.code_texts import DIVISIONS, FORMS, ROLES, STATUSES
from common.domain.known_values import forms_named
from common.domain.sentences import ALIKE_OF_MANY, nearest
from common.domain.written import read_country
from common.runtime.tasks import SingleFlight
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import MAX_LENGTH, Parameters, Query, listed_countries
from gateway.http.responses import json_response
from gateway.lookups.lookup import CACHE_CONTROL

CODES_PATH: Final = "/api/codes/{list}"

#: By register: a reply that counts every value over all companies.
Stored = Mapping[Country, FindReply]

#: The lists whose codes are counted.
COUNTED: Final = {
    CodeList.INDUSTRIES: Facet.INDUSTRY,
    CodeList.FORMS: Facet.FORM,
    CodeList.MUNICIPALITIES: Facet.MUNICIPALITY,
    CodeList.STATUSES: Facet.STATUS,
}
#: The filters that take words, and the list that they are of.
WORDS_OF: Final = {"industry": CodeList.INDUSTRIES, "form": CodeList.FORMS}

_DIVISION: Final = 2
#: Letters from which on a word is also found as the beginning of another, and inside of one.
_BEGINNING, _INSIDE = 4, 6
_WORD: Final = re.compile(r"\w+")
_MAX_NEAREST: Final = 3

#: Seconds for which counts and texts are kept.
_KEPT: Final = 600.0


def codes_of(name: CodeList, stored: Stored) -> Iterator[Code]:
    """Yields the codes of a list, register by register, in the order of the codes."""
    for country, reply in stored.items():
        if name in COUNTED:
            facet = COUNTED[name]
            counts = reply.facets.get(facet, {})
            given = STATUSES if facet is Facet.STATUS else counts
            texts = reply.texts.get(facet, {})
            for code in sorted(given) if given is counts else given:
                yield code_of(country, facet, code, texts.get(code), counts.get(code, 0))
        else:
            for role, words in ROLES.items():
                yield Code(country=country, code=role, text=words.of(country), text_en=words.en)


def code_of(
    country: Country, facet: Facet, code: str, given: CodeText | None, companies: int
) -> Code:
    """Returns a code with its texts; `given` is that of its register."""
    text, text_en, short = None, None, None
    match facet:
        case Facet.INDUSTRY:
            division = DIVISIONS.get(code[:_DIVISION])
            text, text_en = given and given.text, division and division.text
        case Facet.FORM:
            text, text_en = given and given.text, FORMS[country].get(code)
            short = given and given.short
        case Facet.MUNICIPALITY:
            text = code
        case Facet.STATUS:
            words = STATUSES.get(code)
            text, text_en = words and words.of(country), words and words.en
    return Code(
        country=country, code=code, text=text, text_en=text_en, short=short, companies=companies
    )


def takes_words(parameters: Parameters) -> bool:
    """Returns True if a filter has a value that only the texts of codes can explain."""
    return any(
        is_words(value) and not (name == "form" and forms_named(value, Country))
        for name in WORDS_OF
        for text in parameters.get(name, ())
        for value in text.split(",")
    )


def is_words(value: str) -> bool:
    """Returns True for a value that is no number."""
    return any(map(str.isalpha, value))


def codes_meant(name: str, words: str, stored: Stored) -> tuple[str, ...]:
    """Returns the codes whose texts have all the words, in any language; none if no text has them.

    A division of industries stands for its codes.
    """
    wanted = _words(words)
    found = dict.fromkeys(
        code.code
        for code in codes_of(WORDS_OF[name], stored)
        if any(_has(text, wanted) for text in (code.text, code.text_en, code.short) if text)
    )
    if name != "industry":
        return tuple(found)
    divisions = [
        code
        for code, division in DIVISIONS.items()
        if any(_has(text, wanted) for text in (division.text, *division.keywords.split(", ")))
    ]
    return (*(code for code in found if code[:_DIVISION] not in divisions), *divisions)


def near_words(name: str, words: str, stored: Stored) -> list[str]:
    """Returns the words of texts that are most like those that no text has."""
    texts = [
        text for code in codes_of(WORDS_OF[name], stored) for text in (code.text, code.text_en)
    ]
    if name == "industry":
        texts += [f"{each.text} {each.keywords}" for each in DIVISIONS.values()]
    known = {word for text in texts if text for word in _words(text)}
    wrong = [word for word in _words(words) if not any(_has(one, [word]) for one in known)]
    looked_for = wrong[0] if wrong else words
    return nearest(looked_for, sorted(known), count=_MAX_NEAREST, alike=ALIKE_OF_MANY)


#: The parts of a webhook's filter that take words, and the filter of a list that reads the same.
_PARTS: Final = {"industries": "industry", "forms": "form"}
#: Texts of a part that are explained, as many as a filter may have.
_MAX_EXPLAINED: Final = 100


@dataclass(frozen=True, slots=True)
class ExplainFilters:
    """Says which codes the words in a webhook's filter mean, as in the filters of a list."""

    stored: "StoredCodes"

    async def __call__(self, body: bytes, *, caller: Caller) -> tuple[FilterWords, ...]:
        """Returns the words of a request's body; none of what is no filter. Raises as `Finds`."""
        given = _filter_of(body)
        wanted = [
            (part, text)
            for part in _PARTS
            for text in _texts(given.get(part))
            if is_words(text) and not (part == "forms" and forms_named(text, Country))
        ]
        if not wanted:
            return ()
        named = [each for text in _texts(given.get("countries")) if (each := read_country(text))]
        stored = await self.stored.of(named or Country, caller=caller)
        return tuple(_explained(part, text, stored) for part, text in wanted)


def _filter_of(body: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(body or b"null")
    except orjson.JSONDecodeError:
        return {}
    given = document.get("filter") if isinstance(document, dict) else None
    return given if isinstance(given, dict) else {}


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > _MAX_EXPLAINED:
        return []
    return [each for each in value if isinstance(each, str) and len(each) <= MAX_LENGTH]


def _explained(part: str, text: str, stored: Stored) -> FilterWords:
    codes = codes_meant(_PARTS[part], text, stored)
    near = () if codes else near_words(_PARTS[part], text, stored)
    return FilterWords(part=part, words=text, codes=codes, near=tuple(near))


def _has(text: str, wanted: Sequence[str]) -> bool:
    words = _words(text)
    return bool(wanted) and all(any(_is(word, each) for word in words) for each in wanted)


def _is(word: str, wanted: str) -> bool:
    if len(wanted) >= _INSIDE:
        return wanted in word
    return word.startswith(wanted) if len(wanted) >= _BEGINNING else word == wanted


def _words(text: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(each for each in decomposed if not unicodedata.combining(each))
    return _WORD.findall(plain)


class Finds(Protocol):
    """Finds the companies of one country that fit filters."""

    async def companies(self, request: FindRequest, *, caller: Caller) -> FindReply:
        """Returns a page of one country's companies; raises as `Lookups.look_up`."""


@dataclass(frozen=True, slots=True)
class StoredCodes:
    """The codes that stored companies have, counted by the lookup service and kept for a while."""

    finds: Finds
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    _kept: dict[Country, tuple[float, FindReply]] = field(default_factory=dict)
    _reads: SingleFlight[FindReply] = field(default_factory=SingleFlight)

    async def of(
        self, countries: Iterable[Country], *, caller: Caller
    ) -> Mapping[Country, FindReply]:
        """Returns the codes of registers; raises as `Finds.companies`."""
        return {country: await self._of(country, caller) for country in countries}

    async def explaining(
        self, parameters: Parameters, countries: Iterable[Country], *, caller: Caller
    ) -> Mapping[Country, FindReply]:
        """Returns the codes that the words of filters may mean; none without words."""
        if not takes_words(parameters):
            return {}
        return await self.of(countries, caller=caller)

    async def _of(self, country: Country, caller: Caller) -> FindReply:
        at, reply = self._kept.get(country, (0.0, None))
        if reply is not None and self.clock() - at < _KEPT:
            return reply

        async def read() -> FindReply:
            counted = FindRequest(country=country, limit=0, facets=tuple(Facet))
            return await self.finds.companies(counted, caller=caller)

        reply = await self._reads(country, read)
        self._kept[country] = self.clock(), reply
        return reply


class _CodesQuery(Query):
    country: Annotated[tuple[Country, ...], PlainValidator(listed_countries)] = tuple(Country)


def codes_handler(stored: StoredCodes) -> Handler:
    """Returns the handler of lists of codes; a client may reuse one for a minute."""

    async def codes(request: web.Request) -> web.Response:
        query = _CodesQuery.parse(parameters_of(request))
        name = CodeList(request.match_info["list"])
        known = await stored.of(query.country, caller=request[REQUEST_CONTEXT].caller)
        body = Codes(codes=tuple(codes_of(name, known))).model_dump_json().encode()
        return json_response(body, cache_control=CACHE_CONTROL)

    return codes


REGISTERS_PATH = "/api/registers"


class RegisterSources(Protocol):
    """Says how fresh the registers are."""

    async def sources(self, *, caller: Caller) -> SourcesReply:
        """Returns the sources of the registers; raises as `Lookups.look_up`."""


def registers_handler(sources: RegisterSources) -> Handler:
    """Returns the handler of the sources; it asks each time, for the times move every minute."""

    async def registers(request: web.Request) -> web.Response:
        reply = await sources.sources(caller=request[REQUEST_CONTEXT].caller)
        return json_response(reply.model_dump_json().encode())

    return registers
