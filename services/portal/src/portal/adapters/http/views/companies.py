"""Companies: the page of one, and lists that fit filters, as pages and as spreadsheets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, cast

from aiohttp import hdrs, web

from company_registry import ApiError, CompanyRegistryError, InvalidParameter
from company_registry.models import CompanyFilter, CompanyPage, Country, HistoryPage
from company_registry.models import Format as DocumentFormat
from portal.adapters.http.context import DEPENDENCIES, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views.adding import adding_to_watchlist
from portal.adapters.http.views.search import COUNTRIES
from portal.adapters.spreadsheets import Format
from portal.domain.accounts import STATES, tables
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
from portal.domain.groups import picture
from portal.domain.wording import NO_RESPONSE, detail, faults

_INCLUDE: Final = ("owners", "roles", "einvoicing", "annual_accounts")
_INCLUDE_ALL: Final = (*_INCLUDE, "production_units")
_UNITS_PER_PAGE: Final = 20

_HISTORY_PER_PAGE: Final = 20

#: Levels of a group that are followed, and those that are followed at most.
_LEVELS: Final = 5
_MAX_LEVELS: Final = 10

_DOCUMENTS: Final = {"json": "application/json", "xml": "application/xml"}


async def show(request: web.Request) -> web.Response:
    """Shows a company with its owners, a page of its history and one of its units."""
    registry = registry_of(request)
    country, vat = _key(request)
    company = await registry.lookup(country, vat, include=_INCLUDE)
    history: HistoryPage | None = None
    history_fault, history_after = "", request.query.get("history") or None
    try:
        history = await registry.history_page(
            country, vat, after=history_after, limit=_HISTORY_PER_PAGE
        )
    except CompanyRegistryError as error:
        # The rest of the page is worth more than a time line.
        history_fault = detail(error) if isinstance(error, ApiError) else NO_RESPONSE
    after = request.query.get("units") or None
    units = await registry.production_unit_page(country, vat, after=after, limit=_UNITS_PER_PAGE)
    return await page(
        request,
        "company.html",
        company=company,
        country_name=COUNTRIES[country],
        units=units,
        units_after=after,
        history=history,
        history_after=history_after,
        history_fault=history_fault,
        accounts=tables(company.annual_accounts or ()),
        accounts_state=STATES.get(company.accounts_state or "", STATES["unknown"]),
        adding=await adding_to_watchlist(request, [(f"{country}:{vat}", company.name)]),
    )


async def group(request: web.Request) -> web.Response:
    """Shows the owners and subsidiaries of a company over several levels, on one picture."""
    country, vat = _key(request)
    levels = _MAX_LEVELS if request.query.get("levels") == str(_MAX_LEVELS) else _LEVELS
    found = await registry_of(request).group(country, vat, levels=levels)
    return await page(
        request,
        "group.html",
        country_name=COUNTRIES[country],
        group=found,
        picture=picture(found),
        deeper=_MAX_LEVELS if found.truncated and levels < _MAX_LEVELS else None,
        adding=await adding_to_watchlist(
            request, [(f"{one.country or country}:{one.vat}", one.name) for one in found.companies]
        ),
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
