"""Lists of companies that fit filters, as pages and as spreadsheets."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, cast

from aiohttp import hdrs, web

from company_registry import AsyncClient, InvalidParameter
from company_registry.models import CompanyPage
from portal.adapters.http.context import DEPENDENCIES, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views.search import COUNTRIES
from portal.adapters.spreadsheets import Format, Spreadsheet
from portal.domain.company_columns import COLUMNS, cells
from portal.domain.company_form import ALWAYS_OPEN, FIELDS, CompanyForm, read_company_form
from portal.domain.facets import TITLES, facets
from portal.domain.industries import DIVISIONS
from portal.domain.wording import faults

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
        facets={} if found is None else facets(found.facets or {}, form, found.companies),
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
    async with request.app[DEPENDENCIES].spreadsheets.writing(format_) as sheet:
        await _write(registry_of(request), form, sheet)
        return attachment(await sheet.complete(), format_, "companies")


async def _write(registry: AsyncClient, form: CompanyForm, sheet: Spreadsheet) -> None:
    await sheet.add([list(COLUMNS)])
    cursor: str | None = None
    for _ in range(MAX_DOWNLOADED // _REQUESTED):
        found: CompanyPage = await registry.find_page(
            form.filter, sort=form.sort, limit=_REQUESTED, after=cursor
        )
        await sheet.add([cells(company) for company in found.companies])
        cursor = found.cursor
        if cursor is None:
            break


def attachment(body: bytes, format_: Format, name: str) -> web.Response:
    """Returns a spreadsheet as a file; its name ends with today's date."""
    today = datetime.now(UTC).date().isoformat()
    headers = {
        hdrs.CONTENT_TYPE: _TYPES[format_],
        hdrs.CACHE_CONTROL: "no-store",
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}-{today}.{format_}"',
    }
    return web.Response(body=body, headers=headers)
