"""The page of a company."""

from collections.abc import Sequence
from typing import Final, cast

from aiohttp import web

from company_registry import ApiError, AsyncClient, Company, Event, Lookup
from company_registry.models import Country, Format
from portal.adapters.http.context import SIGNED_IN, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.chain import MAX_BOXES, MAX_DEPTH, drawing, owner_companies
from portal.domain.wording import detail

_INCLUDE: Final = ("owners", "roles", "einvoicing")
_INCLUDE_ALL: Final = (*_INCLUDE, "production_units")
_UNITS_PER_PAGE: Final = 20

#: Events of a company that its history reads, and shows.
_MAX_HISTORY_PAGES: Final = 3
_HISTORY_PAGE: Final = 100
_SHOWN_EVENTS: Final = 20

_TYPES: Final = {"json": "application/json", "xml": "application/xml"}


async def show(request: web.Request) -> web.Response:
    """Shows a company with its owners, its history and a page of its units."""
    registry = registry_of(request)
    country, vat = _key(request)
    company = await registry.lookup(country, vat, include=_INCLUDE)
    owners = await _owners(registry, company)
    may_read = "events" in request[SIGNED_IN].scopes
    history, history_fault = await _history(registry, company) if may_read else ([], "")
    after = request.query.get("units") or None
    units = await registry.production_unit_page(country, vat, after=after, limit=_UNITS_PER_PAGE)
    return await page(
        request,
        "company.html",
        company=company,
        country_name=COUNTRIES[country],
        chain=drawing(company, owners),
        units=units,
        units_after=after,
        history=history[:_SHOWN_EVENTS],
        history_fault=history_fault,
    )


async def document(request: web.Request) -> web.Response:
    """Returns the company as the API answers it, as a file."""
    country, vat = _key(request)
    format_ = request.match_info["format"]
    body = await registry_of(request).lookup_document(
        country, vat, include=_INCLUDE_ALL, format=cast(Format, format_)
    )
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{country}-{vat}.{format_}"',
    }
    return web.Response(body=body, content_type=_TYPES[format_], charset="utf-8", headers=headers)


def _key(request: web.Request) -> tuple[Country, str]:
    return cast(Country, request.match_info["country"]), request.match_info["vat"]


async def _owners(registry: AsyncClient, company: Company) -> dict[str, Company]:
    """Returns the owning companies with their own owners, level by level."""
    known: dict[str, Company] = {}
    wanted = list(owner_companies(company))
    for _ in range(MAX_DEPTH - 1):
        numbers = [each for each in dict.fromkeys(wanted) if each not in known]
        numbers = numbers[: MAX_BOXES - len(known)]
        if not numbers:
            break
        found = await _looked_up(registry, company.country, numbers)
        known |= {each.vat: each for each in found}
        wanted = [number for each in found for number in owner_companies(each)]
    return known


async def _looked_up(
    registry: AsyncClient, country: Country, numbers: Sequence[str]
) -> list[Company]:
    lookups = [Lookup(country, number, include=("owners",)) for number in numbers]
    results = [result.company async for result in registry.batch(lookups)]
    return [company for company in results if company is not None]


async def _history(registry: AsyncClient, company: Company) -> tuple[list[Event], str]:
    """Returns the company's events, newest first, or why none can be shown."""
    key, cursor = f"{company.country}:{company.vat}", None
    events: list[Event] = []
    try:
        for _ in range(_MAX_HISTORY_PAGES):
            found = await registry.event_page(cursor, companies=[key], limit=_HISTORY_PAGE)
            events += found.events
            cursor = found.cursor
            if not found.has_more:
                break
    except ApiError as error:
        return [], detail(error)
    return events[::-1], ""
