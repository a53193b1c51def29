"""Customers: a spreadsheet is matched with companies, row by row, and reviewed."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import islice
from types import MappingProxyType
from typing import IO, Any, Final, cast

from aiohttp import web

from common.contracts.events import rfc3339
from company_registry import (
    AsyncClient,
    Company,
    CompanyRegistryError,
    CustomerFile,
    CustomerFileNotFound,
    Forbidden,
    InvalidBody,
    Lookup,
    NotFound,
    ServiceUnavailable,
    Suggestion,
    Watchlist,
    WatchlistLimitReached,
)
from company_registry.matching import MatchCandidate
from company_registry.models import Country
from company_registry.progress import duration, limit, seconds_at
from company_registry.streams import Rate
from company_registry.watchlist_operations import MAX_CHANGED
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, UPLOADED, registry_of
from portal.adapters.http.forms import spooled
from portal.adapters.http.pages import page, redirect
from portal.adapters.http.sessions import add_note, remember_upload, uploaded
from portal.adapters.http.views.companies import attachment
from portal.adapters.http.views.search import COUNTRIES
from portal.adapters.keeping import CannotOpen, decisions_after, open_file, take
from portal.adapters.reading import MAX_FILE, Choice, Unreadable
from portal.adapters.spreadsheets import Format
from portal.adapters.uploads import SHARE, Upload
from portal.domain.customers import (
    FIELDS,
    MAX_ROWS,
    PILES,
    Decision,
    against,
    enriched,
    fault_of,
    read_columns,
    remark_of,
)
from portal.domain.wording import detail, faults

HERE: Final = "/customers"

_SAMPLE: Final = 4
_PAGE: Final = 50
#: Rows of a download that are made at once.
_WRITTEN: Final = 500
_MAX_NAME: Final = 100
#: Characters of a note, and of what a person types to find a company.
_MAX_WHY: Final = 300
_LEAST_TYPED, _MAX_TYPED = 2, 100
_SUGGESTED: Final = 8
#: Digits of a decision's number.
_MAX_NUMBER: Final = 7
_COMPANY: Final = re.compile(r"(dk|no):([0-9]{8,9})")

#: Evidence in words, in the order of the page.
_EVIDENCE: Final = {name: words for name, words in FIELDS.items() if name != "country"}

_GONE: Final = "Your file is not open any more. Open it again below, or choose it again."


async def show(request: web.Request) -> web.Response:
    """Shows where the session's file is: not chosen, its columns, its progress, or its piles."""
    held = await _held(request)
    if held is None:
        return await _choice(request)
    await _follow(request, held)
    if not held.has_begun:
        return await _columns(request, held)
    if held.task is not None or not held.is_complete:
        return await page(
            request,
            "customers_progress.html",
            upload=held,
            done=held.progress.done if held.progress else 0,
            total=len(held.table.rows),
            counts=held.outcomes.counts(),
            piles=PILES,
            refresh="" if held.fault else HERE,
            pace=_pace(held),
            is_waiting=bool(held.progress and held.progress.waiting),
        )
    return await _piles(request, held)


async def upload(request: web.Request) -> web.Response:
    """Reads a file, and shows its columns."""
    name, file = request[UPLOADED]
    if not name:
        return await _choice(request, fault="Choose a file.")
    try:
        await _take(request, name[:_MAX_NAME], file, Choice())
    except Unreadable as error:
        return await _choice(request, fault=str(error))
    return redirect(HERE)


async def read_again(request: web.Request) -> web.Response:
    """Reads another sheet of the file, or with its header in another row."""
    held = await _held(request)
    if held is None or held.has_begun:
        return await _again(request)
    posted = await request.post()
    sheet, row = str(posted.get("sheet", "")), str(posted.get("header_row", "")).strip()
    try:
        if row and not (row.isascii() and row.isdecimal() and len(row) < 8):
            raise Unreadable("Enter the number of the header's row, such as 5.")
        # The row of one sheet's header says nothing about another's.
        is_other = bool(sheet) and sheet != held.table.sheet
        choice = Choice(sheet or None, int(row) if row and not is_other else None)
        request.app[DEPENDENCIES].reader.count(held.key)
        with spooled() as file:
            await asyncio.to_thread(file.write, held.data)
            file.seek(0)
            await _take(request, held.name, file, choice)
    except Unreadable as error:
        return await _columns(request, held, reading={"header_row": str(error)}, row=row)
    return redirect(HERE)


async def _take(request: web.Request, name: str, file: IO[bytes], choice: Choice) -> None:
    dependencies, key = request.app[DEPENDENCIES], request[SIGNED_IN].key
    table = await dependencies.reader.read(key, file, choice)
    file.seek(0)
    data = await asyncio.to_thread(file.read)
    await _forget(request)
    held = dependencies.uploads.hold(key, name, data, table)
    await remember_upload(request, held.id)


async def match(request: web.Request) -> web.Response:
    """Takes the columns, and begins to match, or goes on after a fault with what is left."""
    held = await _held(request)
    if held is None:
        return await _again(request)
    if not held.has_begun:
        posted = await request.post()
        chosen = {name: str(value) for name, value in posted.items()}
        held.columns = read_columns(chosen, held.table.header)
        if fault := fault_of(held.columns):
            return await _columns(request, held, fault=fault)
    request.app[DEPENDENCIES].uploads.begin(held, registry_of(request, is_patient=True))
    return redirect(HERE)


async def review(request: web.Request) -> web.Response:
    """Shows a row next to its candidates."""
    held = await _held(request)
    row = int(request.match_info["row"])
    if held is None or row >= len(held.outcomes.piles):
        return await _again(request)
    await _follow(request, held)
    registry, typed = registry_of(request), request.query.get("q", "").strip()[:_MAX_TYPED]
    cells = held.table.row(row)
    candidates = held.outcomes.candidates(row)
    waiting = held.outcomes.rows("review")
    return await page(
        request,
        "customers_row.html",
        row=row,
        number=held.table.number(row),
        record=[(held.table.header[at], cells[at]) for at in sorted(held.columns.used)],
        others=[
            (name, cell)
            for at, (name, cell) in enumerate(zip(held.table.header, cells, strict=True))
            if cell and at not in held.columns.used
        ],
        candidates=candidates,
        companies=await _companies(registry, candidates),
        against={each.vat: against(each, candidates) for each in candidates},
        typed=typed,
        suggestions=await _suggestions(registry, typed),
        decisions=held.outcomes.decisions(row)[::-1],
        **_done(request, held),
        match=held.outcomes.match(row),
        conflict=held.outcomes.conflict(row),
        is_unsearched=held.outcomes.piles[row] == "unsearched",
        remark=remark_of(held.table, held.outcomes, row),
        agreements=_EVIDENCE,
        countries=COUNTRIES,
        waiting=len(waiting),
        next_row=next((each for each in waiting if each > row), None),
    )


async def _companies(
    registry: AsyncClient, candidates: Sequence[MatchCandidate]
) -> dict[tuple[str, str], Company]:
    """Candidates with their facts; empty if the API cannot answer, since a review goes without."""
    lookups = [Lookup(each.country, each.vat) for each in candidates]
    found: dict[tuple[str, str], Company] = {}
    with suppress(CompanyRegistryError):
        async for result in registry.batch(lookups):
            if result.company is not None:
                found[result.company.country, result.company.vat] = result.company
    return found


async def _suggestions(registry: AsyncClient, typed: str) -> Sequence[Suggestion] | None:
    """Companies by a name or number that a person has typed; None before that."""
    if len(typed) < _LEAST_TYPED:
        return None
    countries = cast("tuple[Country, ...]", tuple(COUNTRIES))
    page_of_them = await registry.suggestion_page(countries, typed, limit=_SUGGESTED)
    return page_of_them.suggestions


async def decide(request: web.Request) -> web.Response:
    """Takes the decision about a row, and shows the next one that needs one."""
    held = await _held(request)
    if held is None:
        return await _again(request)
    posted = await request.post()
    why = str(posted.get("why", "")).strip()[:_MAX_WHY]
    try:
        row = int(str(posted.get("row")))
        if not 0 <= row < len(held.outcomes.piles):
            raise IndexError(row)
        company = await _chosen(registry_of(request), held, row, str(posted.get("choice")))
    except (ValueError, IndexError):
        raise web.HTTPBadRequest from None
    await _follow(request, held)
    number = await _decided(request, held, row, company, why=why)
    waiting = held.outcomes.rows("review")
    following = next((each for each in waiting if each > row), waiting[0] if waiting else None)
    path = HERE if following is None else f"{HERE}/rows/{following}"
    return redirect(f"{path}?done={number}")


async def _chosen(
    registry: AsyncClient, held: Upload, row: int, choice: str
) -> MatchCandidate | None:
    """The company of a choice: none, the place of a candidate, or `<country>:<number>`."""
    if choice == "none":
        return None
    if (found := _COMPANY.fullmatch(choice)) is None:
        return held.outcomes.offered(row, int(choice))
    country, vat = found[1], found[2]
    for each in held.outcomes.candidates(row):
        if (each.country, each.vat) == (country, vat):
            return each
    company = await registry.lookup(cast(Country, country), vat, by="vat")
    return MatchCandidate(
        country=company.country,
        vat=company.vat,
        name=company.name,
        city=company.address.city if company.address else None,
        status=company.status,
        score=0,
    )


async def undo(request: web.Request) -> web.Response:
    """Takes a decision back; the one before it holds again, or what the search had found."""
    held = await _held(request)
    if held is None:
        return await _again(request)
    await _follow(request, held)
    given = str((await request.post()).get("number", ""))
    made = held.outcomes.decision(int(given)) if given.isascii() and given.isdecimal() else None
    if made is None:
        await add_note(request, "This decision was taken back before.", is_error=True)
        return redirect(HERE)
    await _decided(request, held, made.row, None, undoes=made.number)
    row = held.table.number(made.row)
    await add_note(request, f"The decision about row {row:,} is taken back.")
    return redirect(f"{HERE}/rows/{made.row}")


async def _decided(  # noqa: PLR0913 (the parts of a decision)
    request: web.Request,
    held: Upload,
    row: int,
    company: MatchCandidate | None,
    *,
    why: str = "",
    undoes: int | None = None,
) -> int:
    """Keeps a decision, and then takes it; returns its number."""
    user, now = request[SIGNED_IN], request.app[DEPENDENCIES].now()
    key_id = user.key.partition(".")[0]
    made = Decision(
        held.outcomes.number + 1,
        row,
        company,
        rfc3339(now),
        key_id,
        user.person,
        why,
        undoes,
    )
    if held.file_id:
        registry = registry_of(request)
        stored = await registry.add_customer_decision(held.file_id, made.written())
        made = replace(made, number=stored.number, at=stored.decided_at, key_id=stored.key_id)
    held.outcomes.apply(made)
    return made.number


async def _follow(request: web.Request, held: Upload) -> None:
    """Takes the decisions of other sessions about the file."""
    if not held.file_id:
        return
    registry, outcomes = registry_of(request), held.outcomes
    try:
        async for made in decisions_after(registry, held.file_id, outcomes.number):
            take(outcomes, made)
    except CustomerFileNotFound:
        held.file_id, held.unkept = "", "It was deleted, or its time was over."


def _done(request: web.Request, held: Upload) -> dict[str, Any]:
    """The decision that was just made, which the page offers to take back."""
    given = request.query.get("done", "")
    is_number = given.isascii() and given.isdecimal() and len(given) < _MAX_NUMBER
    done = held.outcomes.decision(int(given)) if is_number else None
    return {"done": done, "done_number": 0 if done is None else held.table.number(done.row)}


async def open_kept(request: web.Request) -> web.Response:
    """Opens a file that was kept, with the decisions about it."""
    file_id = str((await request.post()).get("file", ""))
    try:
        opened = await open_file(registry_of(request, is_patient=True), file_id)
    except CannotOpen:
        await add_note(request, "This file was not written by this portal.", is_error=True)
        return redirect(HERE)
    await _forget(request)
    key, uploads = request[SIGNED_IN].key, request.app[DEPENDENCIES].uploads
    held = uploads.hold_opened(key, opened, file_id)
    await remember_upload(request, held.id)
    return redirect(HERE)


async def delete_kept(request: web.Request) -> web.Response:
    """Deletes a file that was kept."""
    await registry_of(request).delete_customer_file(str((await request.post()).get("file", "")))
    await add_note(request, "The file is deleted with all decisions about it.")
    return redirect(HERE)


async def show_again(request: web.Request) -> web.Response:
    """Shows which rows can be searched again, and with which columns."""
    held = await _held(request)
    if held is None or not held.is_complete or held.task is not None:
        return await _again(request)
    return await _again_page(request, held)


async def search_again(request: web.Request) -> web.Response:
    """Searches rows again, maybe with other columns, and keeps what people have decided."""
    held = await _held(request)
    if held is None or not held.is_complete or held.task is not None:
        return await _again(request)
    chosen = {name: str(value) for name, value in (await request.post()).items()}
    columns = read_columns(chosen, held.table.header)
    rows = _rows_again(held, chosen.get("what", ""))
    if fault := fault_of(columns) or ("" if rows else "There is no such row."):
        return await _again_page(request, held, fault=fault)
    held.columns = columns
    held.outcomes.changed.clear()
    held.again.extend(rows)
    request.app[DEPENDENCIES].uploads.begin(held, registry_of(request, is_patient=True))
    return redirect(HERE)


def _rows_again(held: Upload, what: str) -> Sequence[int]:
    if what == "all":
        return range(len(held.table.rows))
    return held.outcomes.rows(what) if what in PILES else ()


async def _again_page(request: web.Request, held: Upload, *, fault: str = "") -> web.Response:
    return await page(
        request,
        "customers_again.html",
        status=HTTPStatus.BAD_REQUEST if fault else HTTPStatus.OK,
        upload=held,
        fields=FIELDS,
        chosen={place: name for name, places in held.columns.places.items() for place in places},
        countries=COUNTRIES,
        piles=PILES,
        counts=held.outcomes.counts(),
        total=len(held.table.rows),
        estimate=await _estimate(request, len(held.table.rows)),
        fault=fault,
    )


async def download(request: web.Request) -> web.Response:
    """Sends the file with what was found."""
    held = await _held(request)
    if held is None:
        return await _again(request)
    await _follow(request, held)
    format_ = cast(Format, request.match_info["format"])
    rows = enriched(held.table, held.outcomes)
    async with request.app[DEPENDENCIES].spreadsheets.writing(format_) as sheet:
        while part := await asyncio.to_thread(_part, rows):
            await sheet.add(part)
        return attachment(await sheet.complete(), format_, "customers")


def _part(rows: Iterator[list[str | float]]) -> list[list[str | float]]:
    return list(islice(rows, _WRITTEN))


async def save(request: web.Request) -> web.Response:
    """Adds the matched companies to a watchlist, or to a new one."""
    held = await _held(request)
    if held is None:
        return await _again(request)
    posted = await request.post()
    registry = registry_of(request, is_patient=True)
    companies = await asyncio.to_thread(held.outcomes.companies)
    try:
        watchlist_id = str(posted.get("watchlist", ""))
        if not watchlist_id:
            created = await registry.create_watchlist(str(posted.get("name", "")).strip())
            watchlist_id = created.id
        added = 0
        for first in range(0, len(companies), MAX_CHANGED):
            part = companies[first : first + MAX_CHANGED]
            added += (await registry.change_watched(watchlist_id, add=part)).added
    except (InvalidBody, WatchlistLimitReached) as error:
        text = " ".join(faults(error.errors, {}).values()) or detail(error)
        await add_note(request, f"Not saved. {text}", is_error=True)
        return redirect(f"{HERE}?pile=matched")
    await add_note(request, f"{added:,} {'company is' if added == 1 else 'companies are'} added.")
    return redirect(f"/watchlists/{watchlist_id}")


async def forget(request: web.Request) -> web.Response:
    """Drops the session's file, also what is kept of it."""
    held = await _held(request)
    if held is not None and held.file_id:
        with suppress(CustomerFileNotFound):
            await registry_of(request).delete_customer_file(held.file_id)
    await _forget(request)
    await add_note(request, "The file is deleted.")
    return redirect(HERE)


async def close(request: web.Request) -> web.Response:
    """Puts the session's file away; it can be opened again while it is kept."""
    await _forget(request)
    return redirect(HERE)


async def _watchlists(request: web.Request) -> tuple[Watchlist, ...] | None:
    may_watch = "webhooks" in request[SIGNED_IN].scopes
    return await registry_of(request).list_watchlists() if may_watch else None


async def _held(request: web.Request) -> Upload | None:
    upload_id = await uploaded(request)
    return request.app[DEPENDENCIES].uploads.find(upload_id, request[SIGNED_IN].key)


async def _forget(request: web.Request) -> None:
    held = await _held(request)
    if held is not None:
        request.app[DEPENDENCIES].uploads.forget(held)


async def _again(request: web.Request) -> web.Response:
    await add_note(request, _GONE, is_error=True)
    return redirect(HERE)


async def _choice(request: web.Request, *, fault: str = "") -> web.Response:
    return await page(
        request,
        "customers.html",
        status=HTTPStatus.BAD_REQUEST if fault else HTTPStatus.OK,
        faults={"file": fault} if fault else {},
        kept=await _kept(request),
        max_rows=MAX_ROWS,
        max_megabytes=MAX_FILE // 2**20,
    )


async def _kept(request: web.Request) -> Sequence[CustomerFile]:
    """The files that are kept; none where the API cannot say, since a file can be chosen anyway."""
    with suppress(ServiceUnavailable, Forbidden, NotFound):
        return await registry_of(request).list_customer_files()
    return ()


async def _columns(
    request: web.Request,
    held: Upload,
    *,
    fault: str = "",
    reading: Mapping[str, str] = MappingProxyType({}),
    row: str = "",
) -> web.Response:
    sample = [held.table.row(place) for place in range(min(_SAMPLE, len(held.table.rows)))]
    return await page(
        request,
        "customers_columns.html",
        status=HTTPStatus.BAD_REQUEST if fault or reading else HTTPStatus.OK,
        upload=held,
        header_row=row or held.table.header_row,
        faults=reading,
        fields=FIELDS,
        chosen={place: name for name, places in held.columns.places.items() for place in places},
        unused=held.columns.unused(held.table.header),
        samples=[[row[at] for row in sample if row[at]] for at in range(len(held.table.header))],
        countries=COUNTRIES,
        estimate=await _estimate(request, len(held.table.rows)),
        fault=fault,
    )


def _pace(held: Upload) -> str:
    progress = held.progress
    if progress is None or held.fault:
        return ""
    speed, left = progress.speed, progress.left
    parts = (
        "" if speed is None else f"{speed:,.0f} rows a second so far",
        "" if left is None else f"about {duration(left)} left",
        progress.waiting,
    )
    return ", ".join(filter(None, parts))


async def _estimate(request: web.Request, rows: int) -> str:
    try:
        rate = (await registry_of(request).me()).rate
    except CompanyRegistryError:
        return ""
    known = Rate("key", rate.count, rate.window_seconds)
    available = max(0, rate.remaining - int(rate.count * (1 - SHARE)))
    seconds = seconds_at(rows, known, SHARE, available, rate.reset_seconds)
    words = f"It takes about {duration(seconds)} at" if seconds else "It fits into"
    return f"{words} {limit(known, SHARE)}."


async def _piles(request: web.Request, held: Upload) -> web.Response:
    counts = held.outcomes.counts()
    default = next((pile for pile, count in counts.items() if count), "matched")
    pile = request.query.get("pile", default)
    if pile not in PILES:
        raise web.HTTPNotFound
    rows = held.outcomes.rows(pile)
    given = request.query.get("page", "1")
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else 1
    shown = rows[(number - 1) * _PAGE : number * _PAGE] if number else []
    named = held.columns.places.get("name", (min(held.columns.used),))[0]
    return await page(
        request,
        "customers_piles.html",
        upload=held,
        piles=PILES,
        pile=pile,
        counts=counts,
        rows=[
            (row, held.table.number(row), held.table.row(row)[named], held.outcomes.match(row))
            for row in shown
        ],
        told=held.outcomes.told(pile),
        unsearched=held.outcomes.told("unsearched"),
        to_repeat=len(held.outcomes.to_repeat),
        remarks={
            row: remark for row in shown if (remark := remark_of(held.table, held.outcomes, row))
        },
        chosen=held.outcomes.chosen,
        changed=[
            (row, held.table.number(row), *texts)
            for row, texts in sorted(held.outcomes.changed.items())[:_PAGE]
        ],
        changes=len(held.outcomes.changed),
        **_done(request, held),
        watchlists=await _watchlists(request) if pile == "matched" and rows else None,
        number=number,
        pages=-(-len(rows) // _PAGE),
    )
