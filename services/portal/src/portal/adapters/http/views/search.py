"""Search, with suggestions while one types."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Final

from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    Company,
    CompanyNotFound,
    CompanyRemoved,
    CompanySummary,
    InvalidParameter,
    NoResponse,
    Suggestion,
    SuggestionPage,
    Unauthorized,
)
from company_registry.models import Country
from company_registry.streams import passes
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import PASSING, company_path, page, redirect
from portal.adapters.http.sessions import add_note
from portal.adapters.http.views.adding import adding_to_watchlist
from portal.domain import facts
from portal.domain.pasted import (
    REGISTERS,
    countries_of,
    fault_of,
    has_letters,
    in_words,
    readings_of,
)
from portal.domain.wording import NO_RESPONSE, detail, faults

COUNTRIES: Final[dict[str, str]] = {"dk": "Denmark", "no": "Norway"}

_SUGGESTIONS: Final = 8
_PAGE: Final = 20
_MAX_TEXT: Final = 300

#: A text of one of these types names one company.
_IDENTIFIERS: Final = {
    "vat": "a registration number",
    "produ": "a production unit number",
    "phone": "a phone number",
    "ean": "an e-invoicing identifier",
}

_READINGS: Final = {
    **_IDENTIFIERS,
    "name": "a name",
    "address": "an address",
    "email": "an e-mail address",
    "domain": "a domain",
}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The companies of one register that a text may mean."""

    country: Country
    #: The company that the text names.
    best: Company | None = None
    #: Others with the text in their names, or at the address.
    others: tuple[CompanySummary, ...] = ()
    #: The cursor of further ones.
    cursor: str | None = None
    #: Faults of the text.
    fault: str = ""

    @property
    def named(self) -> list[tuple[str, str]]:
        """Country and number, and name, of each company."""
        best = [] if self.best is None else [(self.best.vat, self.best.name)]
        others = [(each.vat, each.name) for each in self.others]
        return [(f"{self.country}:{vat}", name) for vat, name in [*best, *others]]

    @property
    def is_empty(self) -> bool:
        """True if no company was found."""
        return self.best is None and not self.others


async def search(request: web.Request) -> web.Response:
    """Returns the companies that a text names; an identifier of one leads to its company."""
    text = request.query.get("q", "").strip()[:_MAX_TEXT]
    country, after = request.query.get("country", ""), request.query.get("after", "")
    found: list[SearchResult] = []
    outage = ""
    try:
        if text:
            found = await _found(registry_of(request), _registers(country, text), text, after)
    except NoResponse:
        outage = NO_RESPONSE
    except ApiError as error:
        if error.status not in PASSING:
            raise
        outage = detail(error)
    matches = [one.best for one in found if one.best is not None]
    match matches:
        case [company] if company.match.type in _IDENTIFIERS and not company.match.others:
            await add_note(request, f"Searched as {_IDENTIFIERS[company.match.type]}.")
            return redirect(company_path(company.country, company.vat))
    types = dict.fromkeys(company.match.type for company in matches)
    return await page(
        request,
        "search.html",
        status=HTTPStatus.SERVICE_UNAVAILABLE if outage else HTTPStatus.OK,
        outage=outage,
        again=request.path_qs,
        q=text,
        country=country,
        after=after,
        countries=COUNTRIES,
        found=[one for one in found if not one.is_empty],
        understood=" and as ".join([_READINGS[each] for each in types] or readings_of(text)),
        fault=next((one.fault for one in found if one.fault), ""),
        adding=await adding_to_watchlist(request, [each for one in found for each in one.named]),
    )


async def _found(
    registry: AsyncClient, countries: tuple[Country, ...], text: str, after: str
) -> list[SearchResult]:
    if after and len(countries) == 1:
        listed = await _listed(registry, countries[0], text, after)
        return [SearchResult(countries[0], others=listed.suggestions, cursor=listed.cursor)]
    found = await asyncio.gather(*(_found_in(registry, country, text) for country in countries))
    return sorted(found, key=lambda one: -(one.best.match.score if one.best else 0))


async def _found_in(registry: AsyncClient, country: Country, text: str) -> SearchResult:
    try:
        best = await registry.search(country, text)
    except CompanyNotFound:
        if fault := fault_of(text, country):
            return SearchResult(country, fault=fault)
        best = None
    except CompanyRemoved as error:
        return SearchResult(country, fault=detail(error))
    except InvalidParameter as error:
        return SearchResult(country, fault=in_words(" ".join(faults(error.errors, {}).values())))
    alternatives = () if best is None else best.alternatives or ()
    if best is not None and best.match.type != "name":
        return SearchResult(country, best, alternatives)
    listed = await _listed(registry, country, text)
    vats = {one.vat for one in listed.suggestions}
    others = (*listed.suggestions, *(one for one in alternatives if one.vat not in vats))
    own = None if best is None else best.vat
    return SearchResult(
        country, best, tuple(one for one in others if one.vat != own), listed.cursor
    )


async def _listed(
    registry: AsyncClient, country: Country, text: str, after: str | None = None
) -> SuggestionPage:
    if not has_letters(text):
        return SuggestionPage(suggestions=())
    try:
        return await registry.suggestion_page(country, text, after, limit=_PAGE)
    except InvalidParameter:
        if after:
            raise
        return SuggestionPage(suggestions=())


async def suggest(request: web.Request) -> web.Response:
    """Returns suggestions of both registers, best first, for the script of the search box."""
    text, country = request.query.get("q", "").strip(), request.query.get("country", "")
    registry = registry_of(request)

    async def of(each: Country) -> list[tuple[Country, Suggestion]] | None:
        try:
            listed = await registry.suggest(each, text, limit=_SUGGESTIONS)
        except NoResponse:
            return None
        except ApiError as error:
            if isinstance(error, Unauthorized):
                raise
            # Nothing is suggested for a text that cannot be searched for, and the search says why.
            return None if passes(error) else []
        return [(each, one) for one in listed]

    chosen = _registers(country, text)
    lists = await asyncio.gather(*map(of, chosen))
    failed = [COUNTRIES[each] for each, found in zip(chosen, lists, strict=True) if found is None]
    found = chain.from_iterable(each for each in lists if each is not None)
    ranked = sorted(found, key=lambda one: -one[1].score)
    options = [_option(*one) for one in ranked[:_SUGGESTIONS]]
    fault = f"{' and '.join(failed)} cannot be searched at the moment." if failed else ""
    return web.json_response({"suggestions": options, "fault": fault})


def _option(country: Country, one: Suggestion) -> dict[str, object]:
    return {
        "country": COUNTRIES[country],
        "vat": one.vat,
        "name": one.name,
        "city": facts.place(one.city),
        "matched_name": one.matched_name,
        "status": one.status,
        "score": one.score,
        "path": company_path(country, one.vat),
    }


def _registers(chosen: str, text: str) -> tuple[Country, ...]:
    return tuple(each for each in REGISTERS if each == chosen) or countries_of(text)
