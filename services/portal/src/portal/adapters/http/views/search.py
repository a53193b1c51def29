"""Search, with suggestions while one types."""

import asyncio
from typing import Final

from aiohttp import web

from company_registry import ApiError, AsyncClient, Company, CompanyNotFound, InvalidParameter
from company_registry.models import Country
from portal.adapters.http.context import registry_of
from portal.adapters.http.pages import company_path, page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.pasted import countries_of

COUNTRIES: Final[dict[str, str]] = {"dk": "Denmark", "no": "Norway"}

_REGISTERS: Final[tuple[Country, ...]] = ("dk", "no")

_SUGGESTIONS: Final = 8
_MAX_TEXT: Final = 300

#: A text of one of these types names one company.
_IDENTIFIERS: Final = {
    "vat": "registration number",
    "produ": "production unit number",
    "phone": "phone number",
    "ean": "e-invoicing identifier",
}


async def search(request: web.Request) -> web.Response:
    """The companies that a text names; an identifier leads to its company."""
    text = request.query.get("q", "").strip()[:_MAX_TEXT]
    country = request.query.get("country", "")
    found: list[Company] = []
    faults: list[str] = []
    if text:
        found, faults = await _found(registry_of(request), _registers(country, text), text)
    if len(found) == 1 and found[0].match.type in _IDENTIFIERS:
        kind = _IDENTIFIERS[found[0].match.type]
        await add_note(request, f"Found by its {kind}.")
        return redirect(company_path(found[0].country, found[0].vat))
    return await page(
        request,
        "search.html",
        q=text,
        country=country,
        countries=COUNTRIES,
        found=found,
        faults=faults,
    )


async def suggest(request: web.Request) -> web.Response:
    """Suggestions of both registers, best first, for the script of the search box."""
    text, country = request.query.get("q", "").strip(), request.query.get("country", "")
    registry = registry_of(request)

    async def of(each: Country) -> list[dict[str, object]]:
        try:
            listed = await registry.suggest(each, text, limit=_SUGGESTIONS)
        except ApiError:
            # A suggestion that fails is missing, and the search itself says why.
            return []
        return [
            {
                "country": COUNTRIES[each],
                "vat": one.vat,
                "name": one.name,
                "city": one.city,
                "status": one.status,
                "score": one.score,
                "path": company_path(each, one.vat),
            }
            for one in listed
        ]

    lists = await asyncio.gather(*map(of, _registers(country, text)))
    ranked = sorted((one for listed in lists for one in listed), key=lambda one: -_score(one))
    return web.json_response({"suggestions": ranked[:_SUGGESTIONS]})


def _score(suggestion: dict[str, object]) -> float:
    score = suggestion["score"]
    return score if isinstance(score, float) else 0.0


def _registers(country: str, text: str) -> tuple[Country, ...]:
    """The chosen register, or else the registers to which the text may belong."""
    chosen: tuple[Country, ...] = tuple(each for each in _REGISTERS if each == country)
    return chosen or countries_of(text)


async def _found(
    registry: AsyncClient, countries: tuple[Country, ...], text: str
) -> tuple[list[Company], list[str]]:
    """The company of each register, the best match first, and invalid parameters."""

    async def of(country: Country) -> Company | str | None:
        try:
            return await registry.search(country, text)
        except CompanyNotFound:
            return None
        except InvalidParameter as error:
            return f"{COUNTRIES[country]}: {error.detail}"

    answers = await asyncio.gather(*map(of, countries))
    found = [answer for answer in answers if isinstance(answer, Company)]
    faults = [answer for answer in answers if isinstance(answer, str)]
    return sorted(found, key=lambda company: -company.match.score), faults
