"""Tools for changes: the history of a company, the event feed, and the owner's watchlists."""

import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import BeforeValidator, Field

from company_registry.client import AsyncClient
from company_registry.mcp.answers import (
    MAX_TEXT,
    NOTICE,
    READ_ONLY,
    Answer,
    AnyCountry,
    CompanyId,
    clean,
    identity,
    result,
)
from company_registry.mcp.api import Api, Call, parsed
from company_registry.mcp.arguments import shown, since_meant, split, time_meant
from company_registry.models import Change, Event
from company_registry.watchlist_models import Watchlist, WatchlistChange

_ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_REMOVES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

#: Companies that a call adds to or removes from a list.
_MAX_CHANGED: Final = 1_000

WatchlistName = Annotated[str, Field(min_length=1, description="Id or name of a watchlist.")]
Companies = Annotated[
    list[str],
    BeforeValidator(split),
    Field(
        min_length=1,
        max_length=_MAX_CHANGED,
        description="Ids such as dk:12345674, or registration numbers with the argument country.",
    ),
]


class FieldChange(Answer):
    """A field's old and new value; of long lists the changed entries."""

    field: str
    old: Any = None
    new: Any = None


class ChangeEvent(Answer):
    """A change in a register."""

    event: str = Field(description="Id of the event.")
    type: str = Field(description="Such as company.updated.")
    at: str
    id: str | None = Field(None, description="Of the company, such as dk:12345674.")
    name: str | None = None
    changes: tuple[FieldChange, ...] | None = None


class Changes(Answer):
    """Changes in their order, oldest first."""

    events: tuple[ChangeEvent, ...]
    cursor: str = Field(description="Argument cursor of the next call; keep it to go on later.")
    has_more: bool = Field(description="True if the next page is there already.")


class PastChange(Answer):
    """A change of the company, or a day that its register names."""

    at: str = Field(description="A time; of a dated entry a day.")
    dated: bool = Field(
        description="True: the register's record names the day. False: the service saw the change."
    )
    type: str = Field(description="Such as company.updated.")
    production_unit: str | None = None
    changes: tuple[FieldChange, ...] | None = None


class History(Answer):
    """The history of a company, newest first."""

    id: str
    entries: tuple[PastChange, ...]
    known_from: str | None = Field(
        None, description="Every change since is known; absent before the first one."
    )
    next_cursor: str | None = Field(None, description="Argument cursor of the next page.")


class WatchlistRow(Answer):
    """A named list of companies."""

    watchlist: str = Field(description="Id of the list.")
    name: str
    size: int
    description: str | None = None


class WatchlistsAnswer(Answer):
    """The watchlists, or the companies of one."""

    watchlists: tuple[WatchlistRow, ...]
    companies: tuple[str, ...] | None = Field(None, description="Of the requested list.")
    next_cursor: str | None = Field(None, description="Argument cursor of the next page.")


class InvalidEntry(Answer):
    """An entry that names no company, with the reason."""

    value: str
    message: str


class WatchlistChanged(Answer):
    """The effect of a change."""

    watchlist: str
    name: str
    created: bool = Field(description="True if the list did not exist before.")
    added: int
    already_present: int
    removed: int
    size: int
    unknown: tuple[str, ...] | None = Field(
        None, description="Companies that no register has; they were not added."
    )
    invalid: tuple[InvalidEntry, ...] | None = None


def add_watch_tools(server: MCPServer, api: Api) -> None:
    """Adds the tools to a server."""

    @server.tool(
        title="History of a company",
        annotations=READ_ONLY,
        description="Lists what one company did, newest first: each change that the service has "
        "seen, with old and new values, and before it the days that the register names, such as "
        f"those of former names. company_changes has the changes of many companies. {NOTICE}",
    )
    async def company_history(  # noqa: PLR0913 (the filters)
        call: Call,
        company: CompanyId,
        country: AnyCountry = None,
        since: Annotated[
            date | datetime | None,
            BeforeValidator(since_meant),
            Field(description="Only what happened then or later: a time, or a day."),
        ] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        cursor: Annotated[str, Field(description="next_cursor of the last page.")] = "",
    ) -> Annotated[CallToolResult, History]:
        of, number = parsed(company, country)
        async with api.client(call) as client:
            page = await client.history_page(of, number, after=cursor, limit=limit, since=since)
        answer = History(
            id=identity(of, number),
            entries=tuple(
                PastChange(
                    at=one.time,
                    dated=one.dated,
                    type=one.type,
                    production_unit=one.production_unit,
                    changes=tuple(map(_change, one.changes)) or None,
                )
                for one in page.history
            ),
            known_from=page.known_from and page.known_from.isoformat(),
            next_cursor=page.cursor,
        )
        return result(answer)

    @server.tool(
        title="Changes of companies",
        annotations=READ_ONLY,
        description="Reads what changed in the registers, oldest first, of the last 30 days: of "
        "given companies, of a watchlist, or of all. Begin with since or without, and go on with "
        f"cursor. Needs an API key with the scope events. {NOTICE}",
    )
    async def company_changes(  # noqa: PLR0913 (the filters)
        call: Call,
        companies: Annotated[
            list[str],
            BeforeValidator(split),
            Field(max_length=100, description="Ids such as dk:12345674."),
        ] = [],  # noqa: B006 (never changed)
        watchlist: Annotated[str, Field(description="Id or name of a watchlist.")] = "",
        since: Annotated[
            datetime | None,
            BeforeValidator(time_meant),
            Field(description="A time such as 2026-11-20T08:00:00Z, or a day in UTC."),
        ] = None,
        cursor: Annotated[
            str, Field(description="cursor of the last answer, or latest to begin now.")
        ] = "",
        types: Annotated[
            list[str],
            Field(description="Such as company.created, company.updated, or company.* for all."),
        ] = [],  # noqa: B006
        country: AnyCountry = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Annotated[CallToolResult, Changes]:
        async with api.client(call) as client:
            lists = [(await named_watchlist(client, watchlist)).id] if watchlist else []
            page = await client.event_page(
                cursor,
                since=since,
                types=types,
                countries=[] if country is None else [country],
                companies=[identity(*parsed(one, country)) for one in companies],
                watchlists=lists,
                limit=limit,
            )
        answer = Changes(
            events=tuple(map(_event, page.events)), cursor=page.cursor, has_more=page.has_more
        )
        return result(answer)

    @server.tool(
        title="Watchlists",
        annotations=READ_ONLY,
        description="Lists the watchlists of the key's owner, with company those that have it, or "
        "with watchlist the companies of one. Needs an API key with the scope webhooks.",
    )
    async def watchlists(
        call: Call,
        watchlist: Annotated[str, Field(description="Id or name of one.")] = "",
        company: Annotated[str, Field(description="A company, such as dk:12345674.")] = "",
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
        cursor: Annotated[str, Field(description="next_cursor of the last page.")] = "",
    ) -> Annotated[CallToolResult, WatchlistsAnswer]:
        async with api.client(call) as client:
            if not watchlist:
                listed = await client.list_watchlists(company=company or None)
                return result(WatchlistsAnswer(watchlists=tuple(map(_row, listed))))
            one = await named_watchlist(client, watchlist)
            page = await client.watched_page(one.id, after=cursor, limit=limit)
        answer = WatchlistsAnswer(
            watchlists=(_row(one),), companies=page.companies, next_cursor=page.cursor
        )
        return result(answer)

    @server.tool(
        title="Add to a watchlist",
        annotations=_ADDS,
        description="Adds companies to a watchlist, whose changes company_changes and webhooks "
        "then follow. A list with a new name is created. Repeating it changes nothing. Needs an "
        "API key with the scope webhooks.",
    )
    async def watchlist_add(
        call: Call, watchlist: WatchlistName, companies: Companies, country: AnyCountry = None
    ) -> Annotated[CallToolResult, WatchlistChanged]:
        async with api.client(call) as client:
            found = _named(await client.list_watchlists(), watchlist)
            created = found is None
            if found is None:
                found = await client.create_watchlist(watchlist)
            change = await client.change_watched(
                found.id, add=companies, country=country, skip_invalid=True
            )
        return result(_changed(found, change, created=created))

    @server.tool(
        title="Remove from a watchlist",
        annotations=_REMOVES,
        description="Removes companies from a watchlist; the list itself stays. Ask the user "
        "first. Needs an API key with the scope webhooks.",
    )
    async def watchlist_remove(
        call: Call, watchlist: WatchlistName, companies: Companies, country: AnyCountry = None
    ) -> Annotated[CallToolResult, WatchlistChanged]:
        async with api.client(call) as client:
            found = await named_watchlist(client, watchlist)
            change = await client.change_watched(
                found.id, remove=companies, country=country, skip_invalid=True
            )
        return result(_changed(found, change, created=False))


async def named_watchlist(client: AsyncClient, id_or_name: str) -> Watchlist:
    """Returns a list by its id or name. Raises ToolError."""
    listed = await client.list_watchlists()
    found = _named(listed, id_or_name)
    if found is None:
        names = ", ".join(f"{one.name} ({one.id})" for one in listed[:20]) or "none"
        raise ToolError(f"There is no watchlist {shown(id_or_name)}. Your watchlists: {names}.")
    return found


def _named(listed: Sequence[Watchlist], id_or_name: str) -> Watchlist | None:
    """Returns the list with an id or name, None if there is none. Raises ToolError for several."""
    wanted = id_or_name.strip().casefold()
    by_id = [one for one in listed if one.id == id_or_name.strip()]
    found = by_id or [one for one in listed if one.name.strip().casefold() == wanted]
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        called = f"{len(found)} watchlists are called {shown(id_or_name)}"
        raise ToolError(f"{called}; give an id: {ids}.")
    return found[0] if found else None


def _row(one: Watchlist) -> WatchlistRow:
    return WatchlistRow(
        watchlist=one.id, name=one.name, size=one.size, description=one.description or None
    )


def _changed(one: Watchlist, change: WatchlistChange, *, created: bool) -> WatchlistChanged:
    return WatchlistChanged(
        watchlist=one.id,
        name=one.name,
        created=created,
        added=change.added,
        already_present=change.present,
        removed=change.removed,
        size=change.size,
        unknown=change.unknown or None,
        invalid=tuple(
            InvalidEntry(value=fault.value, message=fault.message) for fault in change.invalid
        )
        or None,
    )


def _event(event: Event) -> ChangeEvent:
    company = event.data.company
    return ChangeEvent(
        event=event.id,
        type=event.type,
        at=event.occurred_at,
        id=identity(event.country, event.vat) if event.country and event.vat else None,
        name=None if company is None else clean(company.name, MAX_TEXT),
        changes=tuple(map(_change, event.data.changes)) or None,
    )


def _change(change: Change) -> FieldChange:
    return FieldChange(field=change.field, old=_value(change.old), new=_value(change.new))


def _value(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    return clean(value, MAX_TEXT)
