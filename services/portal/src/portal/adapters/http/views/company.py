"""A company: its page, also as on a date and for print, its group, and its documents."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from http import HTTPStatus
from typing import Final, NamedTuple, TypeVar, cast
from urllib.parse import urlencode

from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    CompanyRegistryError,
    InvalidParameter,
    Unauthorized,
)
from company_registry.models import AnnualAccounts, Company, Country, HistoryEntry
from company_registry.models import Format as DocumentFormat
from portal.adapters.http.context import DEPENDENCIES, registry_of
from portal.adapters.http.pages import company_path, formats_of, page
from portal.adapters.http.views.adding import adding_to_watchlist
from portal.adapters.http.views.alerts import received
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.accounts import STATES, tables
from portal.domain.groups import picture
from portal.domain.histories import KINDS, Day, days_of
from portal.domain.summaries import summary_of
from portal.domain.wording import NO_RESPONSE, detail, faults

_INCLUDE: Final = ("owners", "roles", "einvoicing", "annual_accounts")
_INCLUDE_ALL: Final = (*_INCLUDE, "production_units")
#: Parts that are known of a day.
_INCLUDE_OF_A_DAY: Final = ("owners", "roles")
#: The newest accounts, as a lookup has them.
_ACCOUNTS: Final = 10
_UNITS_PER_PAGE: Final = 20

#: Entries of a request, those of a page, and requests for them.
_HISTORY: Final = 100
_SHOWN_DAYS: Final = 10
_MAX_REQUESTS: Final = 3

#: Levels of a group that are followed, and those that are followed at most.
_LEVELS: Final = 5
_MAX_LEVELS: Final = 10

_DOCUMENTS: Final = {"json": "application/json", "xml": "application/xml"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class History:
    """The days of a history that a page shows."""

    days: tuple[Day, ...] = ()
    #: Every change since then is known.
    known_from: datetime | None = None
    cursor: str | None = None
    #: Why there is none.
    fault: str = ""


async def show(request: web.Request) -> web.Response:
    """Shows a company, today or as on a date: `?as_of=2026-03-02`."""
    country, vat = _key(request)
    registry = registry_of(request)
    day, fault = _day(request)
    found: Company | None = None
    if day is not None:
        found, fault = await _on_day(registry, country, vat, day)
        day = None if found is None else day
    after, kind = request.query.get("history") or None, request.query.get("changes", "")
    units_after = request.query.get("units") or None
    shown = _Shown(formats_of(request).zone, kind if kind in KINDS else "", day)
    company, history, group_, units, adding, of_company = await asyncio.gather(
        registry.lookup(country, vat, include=_INCLUDE) if found is None else _given(found),
        _history(registry, country, vat, after, shown),
        _given(None) if found else _unless_failed(registry.group(country, vat, levels=_LEVELS)),
        registry.production_unit_page(country, vat, after=units_after, limit=_UNITS_PER_PAGE),
        adding_to_watchlist(request, [(f"{country}:{vat}", vat)]),
        received(request, f"{country}:{vat}"),
    )
    today = request.app[DEPENDENCIES].now().date()
    query = {"as_of": str(day or ""), "changes": shown.kind, "history": after or ""}
    return await page(
        request,
        "company.html",
        status=HTTPStatus.BAD_REQUEST if fault else HTTPStatus.OK,
        company=company,
        summary=summary_of(company, group_, today=today),
        country_name=COUNTRIES[country],
        link=_links(company_path(country, vat), query | {"units": units_after or ""}),
        today=today,
        as_of=day,
        as_of_given=request.query.get("as_of", ""),
        faults={"as_of": fault} if fault else {},
        units=units,
        units_after=units_after,
        history=history,
        history_after=after,
        kinds=("", *KINDS),
        kind=shown.kind,
        accounts=tables(company.annual_accounts or ()),
        accounts_state=STATES.get(company.accounts_state or "", STATES["unknown"]),
        adding=adding,
        received=of_company,
    )


def _links(here: str, query: Mapping[str, str]) -> Callable[..., str]:
    """Returns a function of the page's own addresses, with some parameters changed."""

    def link(fragment: str = "", **changed: object) -> str:
        fields = {**query, **{name: str(value or "") for name, value in changed.items()}}
        pairs = urlencode({name: value for name, value in fields.items() if value})
        return f"{here}{'?' if pairs else ''}{pairs}{'#' if fragment else ''}{fragment}"

    return link


def _day(request: web.Request) -> tuple[date | None, str]:
    """Returns the day of the request, and what is wrong with it."""
    given = request.query.get("as_of", "").strip()
    try:
        return (date.fromisoformat(given), "") if given else (None, "")
    except ValueError:
        return None, "Enter a day, such as 2026-03-02."


async def _on_day(
    registry: AsyncClient, country: Country, vat: str, day: date
) -> tuple[Company | None, str]:
    """Returns a company at the end of a day, or why it is not known."""
    try:
        found, accounts = await asyncio.gather(
            registry.lookup(country, vat, include=_INCLUDE_OF_A_DAY, as_of=day),
            _unless_failed(registry.accounts_page(country, vat)),
        )
    except InvalidParameter as error:
        fault = faults(error.errors, {}).get("as_of")
        if fault is None:
            raise
        return None, fault
    if accounts is None:
        return found, ""
    # Accounts are of their day of publication.
    told = [one for one in accounts.annual_accounts if _published(one) <= day][:_ACCOUNTS]
    known = {"annual_accounts": tuple(told), "accounts_state": accounts.accounts_state}
    return found.model_copy(update=known), ""


def _published(accounts: AnnualAccounts) -> date:
    return accounts.published.date() if accounts.published else accounts.period.end


async def _given(value: T) -> T:
    return value


async def _unless_failed(asked: Awaitable[T]) -> T | None:
    """Returns a part of a page, which is worth more than the part."""
    try:
        return await asked
    except Unauthorized:
        raise
    except CompanyRegistryError:
        return None


class _Shown(NamedTuple):
    """What a page shows of a history."""

    zone: tzinfo
    kind: str
    until: date | None


async def _history(
    registry: AsyncClient, country: Country, vat: str, after: str | None, shown: _Shown
) -> History:
    """Returns a page of the history; of one kind, from several pages of the API."""
    entries: list[HistoryEntry] = []
    known_from: datetime | None = None
    days: list[Day] = []
    try:
        for _ in range(_MAX_REQUESTS):
            found = await registry.history_page(country, vat, after=after, limit=_HISTORY)
            entries += found.history
            known_from, after = found.known_from, found.cursor
            days = days_of(entries, shown.zone, kind=shown.kind, until=shown.until)
            if after is None or len(days) >= _SHOWN_DAYS:
                break
    except CompanyRegistryError as error:
        # The rest of the page is worth more than a time line.
        return History(fault=detail(error) if isinstance(error, ApiError) else NO_RESPONSE)
    return History(tuple(days), known_from, after)


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
    """Returns the company as the API answers it, as a file; maybe as on a date."""
    country, vat = _key(request)
    format_ = request.match_info["format"]
    day, fault = _day(request)
    if fault:
        raise web.HTTPBadRequest
    body = await registry_of(request).lookup_document(
        country, vat, include=_INCLUDE_ALL, as_of=day, format=cast(DocumentFormat, format_)
    )
    name = f"{country}-{vat}{f'-{day}' if day else ''}.{format_}"
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return web.Response(
        body=body, content_type=_DOCUMENTS[format_], charset="utf-8", headers=headers
    )


def _key(request: web.Request) -> tuple[Country, str]:
    return cast(Country, request.match_info["country"]), request.match_info["vat"]
