"""Tools for many companies: searches by filters, and the match of a customer list."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from company_registry import errors, matching
from company_registry.mcp.answers import (
    MAX_TEXT,
    NOTICE,
    READ_ONLY,
    Answer,
    AnyCountry,
    CompanyRow,
    clean,
    counted,
    identity,
    result,
    row,
)
from company_registry.mcp.api import Api, Call, explained, parsed
from company_registry.mcp.arguments import shown
from company_registry.mcp.watch_tools import named_watchlist
from company_registry.models import CompanyFilter, Facet, FacetCount, FindSort


class FoundCompanies(Answer):
    """A page of companies."""

    total: int = Field(description="The number of companies on all pages.")
    companies: tuple[CompanyRow, ...]
    none_in: tuple[str, ...] | None = Field(
        None, description="Registers that have none, where the other one has some."
    )
    did_you_mean: tuple[str, ...] | None = Field(
        None, description="Of an empty page: towns and municipalities that were nearly given."
    )
    next_cursor: str | None = Field(None, description="Argument cursor of the next page.")
    counts: dict[str, dict[str, int]] | None = Field(
        None, description="Requested counts over all found companies: by field, then by value."
    )


class CustomerRecord(BaseModel):
    """A row of a customer list: a name, number, address, phone, e-mail or web site at least."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = Field(None, description="Your own id of the row; row-1, row-2 … unless given.")
    country: str | None = Field(None, description="dk, no or the country's name.")
    name: str | None = None
    number: str | None = Field(None, description="A registration number, however it is written.")
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    phone: str | None = None
    email: str | None = None
    website: str | None = None


class MatchedRecord(Answer):
    """A row, and the company that it means."""

    record: str
    decision: str = Field(
        description="match: the first company is meant. review: it may be, ask. none: no company. "
        "not_searched: the service failed, so send the row again. invalid: correct the row."
    )
    companies: tuple[CompanyRow, ...] = ()
    reason: str | None = Field(None, description="Why there is no company.")
    assumed: dict[str, str] | None = Field(
        None, description="Values that were read as if corrected, such as a dropped zero."
    )
    conflict: str | None = Field(
        None, description="The company of the number and that of the name, if they differ: ask."
    )


class MatchedRecords(Answer):
    """The rows in their order, and how many have each decision."""

    counts: dict[str, int]
    records: tuple[MatchedRecord, ...]


def add_list_tools(server: MCPServer, api: Api) -> None:
    """Adds the tools to a server."""

    @server.tool(
        title="Search companies by filters",
        annotations=READ_ONLY,
        description="Lists and counts the companies that fit all given filters, in both registers "
        "unless country is given. Filters take words or codes (industry: software, municipality: "
        "Oslo, form: ApS). Only active companies are listed unless status says otherwise. Use "
        f"count_by for statistics, and lookup_company for one known company. {NOTICE}",
    )
    async def search_companies(  # noqa: PLR0913 (the filters)
        call: Call,
        query: Annotated[
            str, Field(description="Words of a name, all of which it has; no typing errors.")
        ] = "",
        country: AnyCountry = None,
        industry: Annotated[
            list[str], Field(description="Words such as software, or beginnings of NACE codes: 62.")
        ] = [],  # noqa: B006
        municipality: list[str] = [],  # noqa: B006
        city: list[str] = [],  # noqa: B006
        postal_code: Annotated[
            list[str], Field(description="Codes, or ranges such as 1000-1499.")
        ] = [],  # noqa: B006
        form: Annotated[
            list[str], Field(description="Legal forms, such as ApS, A/S, AS or ENK.")
        ] = [],  # noqa: B006
        status: Annotated[
            list[
                Literal[
                    "active",
                    "under_liquidation",
                    "under_reconstruction",
                    "bankrupt",
                    "ended",
                    "any",
                ]
            ],
            Field(
                description="Default: active; ended with ended_from; any with watchlist or "
                "status_since_from."
            ),
        ] = [],  # noqa: B006
        employees_min: Annotated[int | None, Field(ge=0)] = None,
        employees_max: Annotated[int | None, Field(ge=0)] = None,
        min_revenue: Annotated[
            int | None,
            Field(description="Of the newest annual accounts, in their currency; few Danish tell."),
        ] = None,
        max_equity: Annotated[
            int | None, Field(description="Of the newest accounts; -1 for negative equity.")
        ] = None,
        accounts_year: Annotated[
            list[str], Field(description="Years in which the newest accounts end: 2025.")
        ] = [],  # noqa: B006
        accounts_late: Annotated[
            bool | None, Field(description="No accounts 12 months after the end of a year.")
        ] = None,
        founded_from: Annotated[str, Field(description="A day: 2026-01-31.")] = "",
        founded_to: str = "",
        ended_from: str = "",
        ended_to: str = "",
        status_since_from: Annotated[
            str, Field(description="First day of the status, as of bankruptcies this week.")
        ] = "",
        status_since_to: str = "",
        has: list[Literal["phone", "email", "website", "einvoicing"]] = [],  # noqa: B006
        vat_registered: Annotated[
            bool | None, Field(description="Known of Norwegian companies only.")
        ] = None,
        advertising_protected: Annotated[
            bool | None,
            Field(description="Known of Danish companies only; give false for a mailing."),
        ] = None,
        owned_by: Annotated[
            str, Field(description="Companies owned by this one, such as dk:12345674.")
        ] = "",
        watchlist: Annotated[
            str, Field(description="Companies of this watchlist, by its id or name.")
        ] = "",
        sort: Annotated[
            FindSort | None, Field(description="- is descending; those without a value are last.")
        ] = None,
        count_by: list[Facet] = [],  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        cursor: Annotated[str, Field(description="next_cursor of the last page.")] = "",
    ) -> Annotated[CallToolResult, FoundCompanies]:
        fits = CompanyFilter(
            country=() if country is None else (country,),
            q=query,
            industry=tuple(industry),
            municipality=tuple(municipality),
            city=tuple(city),
            postal_code=tuple(postal_code),
            form=tuple(form),
            status=tuple(status),
            employees_min=employees_min,
            employees_max=employees_max,
            min_revenue=min_revenue,
            max_equity=max_equity,
            accounts_year=tuple(accounts_year),
            accounts_late=accounts_late,
            founded_from=founded_from,
            founded_to=founded_to,
            ended_from=ended_from,
            ended_to=ended_to,
            status_since_from=status_since_from,
            status_since_to=status_since_to,
            has=tuple(has),
            vat_registered=vat_registered,
            advertising_protected=advertising_protected,
            owned_by=identity(*parsed(owned_by, country)) if owned_by else None,
        )
        async with api.client(call) as client:
            if watchlist:
                listed = await named_watchlist(client, watchlist)
                fits = fits.model_copy(update={"watchlist": listed.id})
            page = await client.find_page(
                fits, sort=sort, facets=count_by, limit=limit, after=cursor
            )
        counts = {
            field: {_in_words(one): one.count for one in values}
            for field, values in (page.facets or {}).items()
        }
        answer = FoundCompanies(
            total=page.total,
            companies=tuple(map(row, page.companies)),
            none_in=page.none_in or None,
            did_you_mean=tuple(clean(one.text, 3 * MAX_TEXT) for one in page.did_you_mean) or None,
            next_cursor=page.cursor,
            counts=counts or None,
        )
        return result(answer)

    @server.tool(
        title="Match a customer list",
        annotations=READ_ONLY,
        description="Finds the companies that up to 100 rows of a customer list mean, from "
        "misspelt names, old addresses or partial numbers, and says of each how sure it is. Needs "
        f"an API key. {NOTICE}",
    )
    async def match_companies(
        call: Call,
        records: Annotated[list[CustomerRecord], Field(min_length=1, max_length=100)],
        candidates: Annotated[
            int, Field(ge=1, le=10, description="Companies listed of a row for review.")
        ] = 3,
    ) -> Annotated[CallToolResult, MatchedRecords]:
        rows = [
            matching.MatchRecord(**(one.model_dump(exclude_none=True) | {"id": id_}))
            for one, id_ in zip(records, _ids(records), strict=True)
        ]
        async with api.client(call) as client:
            found = [one async for one in client.match(rows, limit=candidates)]
        matched = tuple(map(_matched, found))
        return result(
            MatchedRecords(counts=counted(one.decision for one in matched), records=matched)
        )


def _ids(records: Sequence[CustomerRecord]) -> Iterator[str]:
    """Yields an id of its own for each row. Raises ToolError if two rows have the same."""
    given = Counter(one.id for one in records if one.id)
    twice = next((id_ for id_, count in given.items() if count > 1), None)
    if twice is not None:
        raise ToolError(f"{given[twice]} rows have the id {shown(twice)}: give each its own.")
    for place, one in enumerate(records, start=1):
        own = f"row-{place}"
        while own in given:
            own += "-"
        yield one.id or own


def _matched(found: matching.MatchResult) -> MatchedRecord:
    if found.error is not None:
        is_removed = isinstance(found.error, errors.CompanyRemoved)
        decision = found.decision or ("none" if is_removed else "invalid")
        return MatchedRecord(
            record=found.record.id, decision=decision, reason=explained(found.error)
        )
    shown = found.candidates[: 1 if found.decision == "match" else None]
    return MatchedRecord(
        record=found.record.id,
        decision=found.decision or "none",
        companies=tuple(
            CompanyRow(
                id=identity(one.country, one.vat),
                name=clean(one.name, MAX_TEXT),
                status=one.status,
                city=one.city,
                form=one.form and clean(one.form.short or one.form.code, MAX_TEXT),
                address=one.address and clean(one.address, MAX_TEXT),
                score=round(100 * one.score, 1),
            )
            for one in shown
        ),
        reason=found.reason and matching.REASONS.get(found.reason, found.reason),
        assumed=dict(found.assumed) or None,
        conflict=found.conflict and clean(str(found.conflict), 3 * MAX_TEXT),
    )


def _in_words(facet: FacetCount) -> str:
    text = facet.text_en or facet.text
    return facet.value if text in (None, facet.value) else f"{facet.value} {text}"
