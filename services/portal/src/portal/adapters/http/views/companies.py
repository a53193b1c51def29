"""Companies: the page of one, and lists that fit filters, as pages and as spreadsheets."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, cast

from aiohttp import hdrs, web

from company_registry import ApiError, AsyncClient, Company, Event, InvalidParameter, Lookup
from company_registry.models import CompanyPage, Country
from company_registry.models import Format as DocumentFormat
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views.search import COUNTRIES
from portal.adapters.spreadsheets import Format
from portal.domain.company_lists import (
    ALWAYS_OPEN,
    COLUMNS,
    DIVISIONS,
    FIELDS,
    TITLES,
    cells,
    facets,
    read_company_form,
)
from portal.domain.drawings import MAX_BOXES, MAX_DEPTH, drawing, owner_companies
from portal.domain.wording import detail, faults

_INCLUDE: Final = ("owners", "roles", "einvoicing")
_INCLUDE_ALL: Final = (*_INCLUDE, "production_units")
_UNITS_PER_PAGE: Final = 20

#: Events of a company that its history reads, and shows.
_MAX_HISTORY_PAGES: Final = 3
_HISTORY_PAGE: Final = 100
_SHOWN_EVENTS: Final = 20

_DOCUMENTS: Final = {"json": "application/json", "xml": "application/xml"}


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
        country, vat, include=_INCLUDE_ALL, format=cast(DocumentFormat, format_)
    )
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{country}-{vat}.{format_}"',
    }
    return web.Response(
        body=body, content_type=_DOCUMENTS[format_], charset="utf-8", headers=headers
    )


def _key(request: web.Request) -> tuple[Country, str]:
    return cast(Country, request.match_info["country"]), request.match_info["vat"]


async def _owners(registry: AsyncClient, company: Company) -> dict[str, Company]:
    known: dict[str, Company] = {}
    wanted = list(owner_companies(company))
    for _ in range(MAX_DEPTH - 1):
        numbers = [each for each in dict.fromkeys(wanted) if each not in known]
        numbers = numbers[: MAX_BOXES - len(known)]
        if not numbers:
            break
        lookups = [Lookup(company.country, each, include=("owners",)) for each in numbers]
        results = [result.company async for result in registry.batch(lookups)]
        found = [each for each in results if each is not None]
        known |= {each.vat: each for each in found}
        wanted = [number for each in found for number in owner_companies(each)]
    return known


async def _history(registry: AsyncClient, company: Company) -> tuple[list[Event], str]:
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


# Lists

_PAGE: Final = 25
#: Companies of a download, and of each request for it.
MAX_DOWNLOADED: Final = 10_000
_REQUESTED: Final = 100

_TYPES: Final[dict[Format, str]] = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

_FOLDED: Final = [name for name in FIELDS if name not in ALWAYS_OPEN]
_STATUSES: Final = ("active", "under_liquidation", "under_reconstruction", "bankrupt", "ended")
_PARTS: Final = {"phone": "Phone", "email": "E-mail", "website": "Website"} | {
    "einvoicing": "E-invoicing identifier"
}


async def listing(request: web.Request) -> web.Response:
    """Shows the form, and a page of the companies that fit it."""
    form = read_company_form(request.query)
    wrong, found = form.faults, None
    if not wrong:
        try:
            found = await registry_of(request).find_page(
                form.filter, sort=form.sort, facets=TITLES, limit=_PAGE, after=form.after or None
            )
        except InvalidParameter as error:
            wrong = faults(error.errors, {})
            if not wrong or not wrong.keys() <= set(FIELDS):
                raise
    return await page(
        request,
        "companies.html",
        status=HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK,
        form=form,
        found=found,
        facets={} if found is None else facets(found.facets or {}, form),
        titles=TITLES,
        # In the order of the page: the first of them has the focus.
        faults={name: wrong[name] for name in FIELDS if name in wrong},
        is_unfolded=any(name in form.values or name in wrong for name in _FOLDED),
        countries=COUNTRIES,
        statuses=_STATUSES,
        parts_of_company=_PARTS,
        divisions=DIVISIONS,
        max_downloaded=MAX_DOWNLOADED,
    )


async def download(request: web.Request) -> web.Response:
    """Sends the first companies that fit the form as a spreadsheet."""
    format_ = cast(Format, request.match_info["format"])
    form = read_company_form(request.query)
    if form.faults:
        raise web.HTTPBadRequest
    registry, cursor = registry_of(request), None
    async with request.app[DEPENDENCIES].spreadsheets.writing(format_) as sheet:
        await sheet.add([list(COLUMNS)])
        for _ in range(MAX_DOWNLOADED // _REQUESTED):
            found: CompanyPage = await registry.find_page(
                form.filter, sort=form.sort, limit=_REQUESTED, after=cursor
            )
            await sheet.add([cells(company) for company in found.companies])
            cursor = found.cursor
            if cursor is None:
                break
        return attachment(await sheet.complete(), format_, "companies")


def attachment(body: bytes, format_: Format, name: str) -> web.Response:
    """Returns a spreadsheet as a file; its name ends with today's date."""
    today = datetime.now(UTC).date().isoformat()
    headers = {
        hdrs.CONTENT_TYPE: _TYPES[format_],
        hdrs.CACHE_CONTROL: "no-store",
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}-{today}.{format_}"',
    }
    return web.Response(body=body, headers=headers)
