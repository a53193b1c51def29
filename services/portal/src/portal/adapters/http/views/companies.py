"""Companies that fit filters, as pages and as spreadsheets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, cast

from aiohttp import hdrs, web

from company_registry import InvalidParameter
from company_registry.models import CompanyFilter, CompanyPage
from portal.adapters.http.context import DEPENDENCIES, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views.adding import adding_to_watchlist
from portal.adapters.http.views.search import COUNTRIES
from portal.adapters.spreadsheets import Format
from portal.domain.company_lists import (
    ALWAYS_OPEN,
    COLUMNS,
    DIVISIONS,
    FIELDS,
    LABELS,
    TITLES,
    CompanyForm,
    cells,
    facets,
    read_company_form,
)
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
_STATUSES: Final = {"any": "Any"} | {
    each: each.replace("_", " ").capitalize()
    for each in ("active", "under_liquidation", "under_reconstruction", "bankrupt", "ended")
}
_PARTS: Final = {"phone": "Phone", "email": "E-mail", "website": "Website"} | {
    "einvoicing": "E-invoicing identifier"
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of the companies that fit a form, or what is wrong with the form."""

    form: CompanyForm
    found: CompanyPage | None
    faults: dict[str, str]

    @property
    def status(self) -> HTTPStatus:
        """The status of the page that shows it."""
        return HTTPStatus.BAD_REQUEST if self.faults else HTTPStatus.OK

    @property
    def companies(self) -> list[tuple[str, str]]:
        """Country and number, and name, of each company."""
        found = self.found.companies if self.found else ()
        return [(f"{one.country}:{one.vat}", one.name) for one in found]

    def context(self, *, default_status: str, columns: Sequence[str]) -> dict[str, Any]:
        """Returns the variables of `_company_filters.html` and `_company_list.html`.

        `columns` are those that not every list has.
        """
        default_status = self.form.default_status or default_status
        default = {"": _STATUSES[default_status]}
        others = {each: name for each, name in _STATUSES.items() if each != default_status}
        counts = self.found.facets if self.found and self.found.facets else {}
        return {
            "form": self.form,
            "found": self.found,
            "facets": facets(counts, self.form),
            "titles": TITLES,
            "labels": LABELS,
            # In the order of the page: the first of them has the focus.
            "faults": {name: self.faults[name] for name in FIELDS if name in self.faults},
            "is_unfolded": any(name in self.form.values or name in self.faults for name in _FOLDED),
            "countries": COUNTRIES,
            "statuses": default | others,
            "columns": columns,
            "parts_of_company": _PARTS,
            "divisions": DIVISIONS,
            "max_downloaded": MAX_DOWNLOADED,
        }


async def find_listed(request: web.Request, watchlist_id: str | None = None) -> Listed:
    """Finds the page of the companies that the request's form asks for, maybe of a watchlist."""
    form = read_company_form(request.query)
    if form.faults:
        return Listed(form, None, form.faults)
    try:
        found = await registry_of(request).find_page(
            filter_of(form, watchlist_id),
            sort=form.sort,
            facets=TITLES,
            limit=_PAGE,
            after=form.after or None,
        )
    except InvalidParameter as error:
        wrong = faults(error.errors, {})
        if not wrong or not wrong.keys() <= set(FIELDS):
            raise
        return Listed(form, None, wrong)
    return Listed(form, found, {})


def filter_of(form: CompanyForm, watchlist_id: str | None) -> CompanyFilter:
    """Returns the filter of a form, for companies of all or of a watchlist."""
    return form.filter.model_copy(update={"watchlist": watchlist_id} if watchlist_id else {})


async def listing(request: web.Request) -> web.Response:
    """Shows the form, and a page of the companies that fit it."""
    listed = await find_listed(request)
    adding = await adding_to_watchlist(request, listed.companies, in_table=True)
    return await page(
        request,
        "companies.html",
        status=listed.status,
        here="/companies",
        downloads="/companies",
        week_ago=(datetime.now(UTC).date() - timedelta(days=7)).isoformat(),
        adding=adding,
        tick=adding and {"name": "company", "form": "adding", "label": "Tick"},
        **listed.context(default_status="active", columns=("founded",)),
    )


async def download(request: web.Request) -> web.Response:
    """Sends the first companies that fit the form as a spreadsheet; maybe of a watchlist."""
    format_ = cast(Format, request.match_info["format"])
    form = read_company_form(request.query)
    if form.faults:
        raise web.HTTPBadRequest
    filter_ = filter_of(form, request.match_info.get("id"))
    registry, cursor = registry_of(request), None
    async with request.app[DEPENDENCIES].spreadsheets.writing(format_) as sheet:
        await sheet.add([list(COLUMNS)])
        for _ in range(MAX_DOWNLOADED // _REQUESTED):
            found: CompanyPage = await registry.find_page(
                filter_, sort=form.sort, limit=_REQUESTED, after=cursor
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
