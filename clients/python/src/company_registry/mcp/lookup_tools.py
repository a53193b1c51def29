"""Tools for single companies: lookups, the check of identifiers, and those of ChatGPT."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import date
from operator import mul
from typing import Annotated, Final, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BeforeValidator, Field

from company_registry import errors
from company_registry.client import AsyncClient
from company_registry.mcp.answers import (
    MAX_TEXT,
    NOTICE,
    READ_ONLY,
    Answer,
    AnyCountry,
    LookupAnswer,
    clean,
    counted,
    identity,
    lines,
    lookup_answer,
    result,
    row,
)
from company_registry.mcp.api import Api, Call, explained, parsed
from company_registry.mcp.arguments import day_meant
from company_registry.models import Company, Country, Include
from company_registry.streams import Lookup

COUNTRIES: Final[tuple[Country, ...]] = ("dk", "no")

#: The types of a found company from the surest to the least sure.
_SURE: Final = ("vat", "ean", "produ", "phone", "email", "name", "address", "domain")
#: Types of terms that are no identifiers.
_WORDS: Final = ("name", "address")

#: Identifiers that are looked up without a key, one request each.
_MAX_WITHOUT_KEY: Final = 10

#: The lists of a company for ChatGPT.
_FETCHED: Final[tuple[Include, ...]] = ("owners", "roles", "subsidiaries")

#: One register has no company with a term, or cannot read it.
_NONE: Final = (errors.CompanyNotFound, errors.CompanyRemoved, errors.InvalidParameter)

Part = Literal["owners", "roles", "production_units", "einvoicing", "subsidiaries"]
Outcome = Company | errors.ApiError
#: A term, and the registers to search.
_Term = tuple[str, Sequence[Country]]


class CheckedIdentifier(Answer):
    """An identifier, and the company that has it."""

    identifier: str
    verdict: str = Field(
        description="active; the company's other status, such as bankrupt or ended; not_found; "
        "removed; malformed; or unchecked after a fault of the service"
    )
    id: str | None = None
    name: str | None = None
    type: str | None = Field(None, description="Of the identifier: vat, produ, phone, ean …")
    message: str | None = None


class CheckedIdentifiers(Answer):
    """The identifiers in their order, and how many have each verdict."""

    counts: dict[str, int]
    identifiers: tuple[CheckedIdentifier, ...]


class SearchResult(Answer):
    """A company as ChatGPT lists it."""

    id: str
    title: str
    url: str


class SearchResults(Answer):
    """The results of ChatGPT's search."""

    results: tuple[SearchResult, ...]


class Document(Answer):
    """A company as ChatGPT reads it."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


def add_lookup_tools(server: MCPServer, api: Api) -> None:
    """Adds the tools to a server."""

    @server.tool(
        title="Look up a company",
        annotations=READ_ONLY,
        description="Finds one Danish or Norwegian company by any identifier as people write it: "
        "a registration number (CVR, organisasjonsnummer, VAT number), production unit number, "
        "phone number, GLN or Peppol id, e-mail address, web site, name or address. Returns its "
        f"status, form, address, industry and size in at most 1.5 kB. {NOTICE}",
    )
    async def lookup_company(  # noqa: PLR0913 (the arguments)
        call: Call,
        company: Annotated[
            str, Field(min_length=1, max_length=300, description="Any identifier, or a name.")
        ],
        country: AnyCountry = None,
        include: Annotated[
            list[Part], Field(description="Lists to add, each with its first 10 entries.")
        ] = [],  # noqa: B006 (never changed)
        detail: Annotated[
            Literal["summary", "full"],
            Field(description="full adds everything the API has of it, 3 to 30 kB."),
        ] = "summary",
        as_of: Annotated[
            date | None,
            BeforeValidator(day_meant),
            Field(description="The company at the end of this day instead of now."),
        ] = None,
    ) -> Annotated[CallToolResult, LookupAnswer]:
        term, countries = _read(company, country)
        async with api.client(call) as client:
            found = await _found(client, term, countries, include)
            if as_of is not None:
                first = found[0]
                found[0] = await client.lookup(
                    first.country, first.vat, include=include, as_of=as_of
                )
        others = [row(one, one.match.score) for one in found[1:]]
        return result(lookup_answer(found[0], full=detail == "full", others=others))

    @server.tool(
        title="Check identifiers",
        annotations=READ_ONLY,
        description="Checks up to 100 identifiers of companies, as people write them: whether each "
        "is well formed, whose it is, and whether that company is active. Up to 10 without an API "
        f"key. {NOTICE}",
    )
    async def validate_identifiers(
        call: Call,
        companies: Annotated[
            list[Annotated[str, Field(max_length=300)]],
            Field(min_length=1, max_length=100, description="Identifiers, each as it is written."),
        ],
        country: AnyCountry = None,
    ) -> Annotated[CallToolResult, CheckedIdentifiers]:
        if not api.has_key(call) and len(companies) > _MAX_WITHOUT_KEY:
            raise ToolError(
                f"Without an API key at most {_MAX_WITHOUT_KEY} identifiers are checked in a call; "
                "send fewer, or ask the user to configure a key."
            )
        terms = [_read(text, country) for text in companies]
        async with api.client(call) as client:
            outcomes = await _outcomes(client, terms, batched=api.has_key(call))
        checked = tuple(map(_checked, companies, terms, outcomes))
        counts = counted(one.verdict for one in checked)
        return result(CheckedIdentifiers(counts=counts, identifiers=checked))

    @server.tool(
        title="Search",
        annotations=READ_ONLY,
        description="Lists companies by a name, number, address or other identifier, for clients "
        f"that know the tools search and fetch alone; others call lookup_company. {NOTICE}",
    )
    async def search(
        call: Call, query: Annotated[str, Field(min_length=1, max_length=300)]
    ) -> Annotated[CallToolResult, SearchResults]:
        term, countries = _read(query, None)
        async with api.client(call) as client:
            found = await asyncio.gather(*(_listed(client, one, term) for one in countries))
        ranked = sorted((one for listed in found for one in listed), key=lambda one: -one[0])
        results = [
            SearchResult(id=id_, title=clean(name, MAX_TEXT), url=api.address(id_))
            for _score, id_, name in ranked
        ]
        return _as_json(SearchResults(results=tuple(results)))

    @server.tool(
        title="Fetch",
        annotations=READ_ONLY,
        description=f"Reads a company that search has listed, by its id. {NOTICE}",
    )
    async def fetch(
        call: Call, id: Annotated[str, Field(description="Such as dk:12345674.")]
    ) -> Annotated[CallToolResult, Document]:
        country, number = parsed(id)
        async with api.client(call) as client:
            company = await client.lookup(country, number, include=_FETCHED)
        answer = lookup_answer(company, full=False)
        document = Document(
            id=answer.company.id,
            title=answer.company.name,
            text=lines(answer),
            url=api.address(answer.company.id),
            metadata={"country": company.country, "status": company.status},
        )
        return _as_json(document)


def _as_json(answer: Answer) -> CallToolResult:
    """Returns an answer as ChatGPT reads it: the same JSON as content and as text."""
    document = answer.model_dump(mode="json")
    text = json.dumps(document, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=document
    )


def _read(text: str, country: Country | None) -> _Term:
    """Returns a term, and the registers to search; an id of these tools names its register."""
    prefix, colon, rest = text.strip().partition(":")
    if colon and prefix.lower() in COUNTRIES and rest.strip().isdecimal():
        return rest.strip(), (parsed(text)[0],)
    return text, COUNTRIES if country is None else (country,)


async def _found(
    client: AsyncClient, term: str, countries: Sequence[Country], include: Sequence[Include]
) -> list[Company]:
    """Returns the company of each register that has one, the surest first. Raises ApiError."""
    searches = [_tried(client, one, term, include) for one in countries]
    # A task of its own is for several.
    outcomes = [await searches[0]] if len(searches) == 1 else await asyncio.gather(*searches)
    found = [one for one in outcomes if isinstance(one, Company)]
    if not found:
        raise _fault(outcomes)
    return sorted(found, key=_surest)


async def _tried(
    client: AsyncClient, country: Country, term: str, include: Sequence[Include] = ()
) -> Outcome:
    try:
        return await client.search(country, term, include=include)
    except _NONE as error:
        return error


def _fault(outcomes: Sequence[Outcome]) -> errors.ApiError:
    """Returns the error that says most.

    A register that was not searched may have the company; one refuses numbers of the other.
    """
    faults = [one for one in outcomes if isinstance(one, errors.ApiError)]
    unsearched = next((one for one in faults if not isinstance(one, _NONE)), None)
    known = (one for one in faults if not isinstance(one, errors.InvalidParameter))
    return unsearched or next(known, faults[0])


def _surest(company: Company) -> tuple[int, float, bool]:
    match = company.match
    place = _SURE.index(match.type) if match.type in _SURE else len(_SURE)
    return place, -match.score, company.status != "active"


async def _outcomes(client: AsyncClient, terms: Sequence[_Term], *, batched: bool) -> list[Outcome]:
    """Returns the company of each identifier, or why there is none."""
    searches = [
        Lookup(country, term, by=None) for term, countries in terms for country in countries
    ]
    answers = dict(zip(searches, await _answers(client, searches, batched=batched), strict=True))
    # A term that is read as a name may be a number with a fault, which this tells.
    doubtful = {
        search: Lookup(search.country, search.term)
        for search, answer in answers.items()
        if isinstance(answer, errors.CompanyNotFound)
        or (isinstance(answer, Company) and answer.match.type in _WORDS)
    }
    numbers = list(doubtful.values())
    told = dict(zip(numbers, await _answers(client, numbers, batched=batched), strict=True))
    answers |= {search: told[number] for search, number in doubtful.items()}
    outcomes: list[Outcome] = []
    for term, countries in terms:
        of_term = [answers[Lookup(country, term, by=None)] for country in countries]
        found = sorted((one for one in of_term if isinstance(one, Company)), key=_surest)
        outcomes.append(found[0] if found else _fault(of_term))
    return outcomes


async def _answers(
    client: AsyncClient, lookups: Sequence[Lookup], *, batched: bool
) -> list[Outcome]:
    if batched:
        return [one.company or one.error async for one in client.batch(lookups)]  # type: ignore[misc]
    answers: list[Outcome] = []
    for one in lookups:
        try:
            if one.by is None:
                answers.append(await client.search(one.country, one.term))
            else:
                answers.append(await client.lookup(one.country, one.term, by=one.by))
        except _NONE as error:
            answers.append(error)
    return answers


#: The weights of the digits of a registration number, whose weighted sum is a multiple of 11.
CHECK_WEIGHTS: Final[Mapping[Country, Sequence[int]]] = {
    "dk": (2, 7, 6, 5, 4, 3, 2, 1),
    "no": (3, 2, 7, 6, 5, 4, 3, 2, 1),
}

#: By problem code; another one leaves the identifier unchecked.
_VERDICTS: Final = {
    "company_not_found": "not_found",
    "company_removed": "removed",
    "invalid_parameter": "malformed",
}


def _checked(identifier: str, term: _Term, outcome: Outcome) -> CheckedIdentifier:
    if isinstance(outcome, Company):
        return CheckedIdentifier(
            identifier=identifier,
            verdict=outcome.status,
            id=identity(outcome.country, outcome.vat),
            name=clean(outcome.name, MAX_TEXT),
            type=outcome.match.type,
            message=outcome.match.of_several,
        )
    verdict = _VERDICTS.get(outcome.code, "unchecked")
    if verdict == "not_found" and _breaks_check_digit(*term):
        verdict = "malformed"
    message = explained(outcome) if verdict == "unchecked" else outcome.detail
    return CheckedIdentifier(identifier=identifier, verdict=verdict, message=message)


def _breaks_check_digit(term: str, countries: Sequence[Country]) -> bool:
    """Returns True for the digits of a registration number of a country, the last of them wrong.

    Registers have a few such numbers, so this tells of one only why no company has it.
    """
    digits = [int(letter) for letter in term if letter in "0123456789"]
    return any(
        len(digits) == len(CHECK_WEIGHTS[country])
        and sum(map(mul, digits, CHECK_WEIGHTS[country])) % 11 != 0
        for country in countries
    )


async def _listed(client: AsyncClient, country: Country, term: str) -> list[tuple[float, str, str]]:
    """Returns companies of a register with their scores, ids and names; none if none matches."""
    try:
        company = await client.search(country, term)
    except errors.CompanyNotFound:
        return [
            (one.score, identity(country, one.vat), one.name)
            for one in await client.suggest(country, term)
        ]
    except (errors.InvalidParameter, errors.CompanyRemoved):
        return []
    first = (company.match.score, identity(country, company.vat), company.name)
    others = company.alternatives or ()
    return [first, *((one.score, identity(country, one.vat), one.name) for one in others)]
