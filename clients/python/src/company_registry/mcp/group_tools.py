"""The tool for groups: owners upwards, subsidiaries downwards, and ultimate owners."""

from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from company_registry import group_models as models
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


class GroupLink(Answer):
    """An owner, and the company that it owns."""

    owner: str = Field(description="Id of a company, or the name of a person or other owner.")
    owner_name: str
    owned: str
    owned_name: str
    share: str | None = Field(None, description="Of the capital, such as 100 % or 10–14.99 %.")
    votes: str | None = None
    role: str | None = None
    since: str | None = None
    source: str | None = Field(None, description="The source that says so, such as no-konsern.")
    status: str | None = Field(
        None, description="Of the owner above or the subsidiary below, if it is not active."
    )


class UltimateOwner(Answer):
    """An owner at the end of the paths of ownership."""

    owner: str = Field(description="Id of a company, or the name of a person or other owner.")
    name: str
    type: str = Field(description="person, company or other")
    share: str | None = Field(None, description="Along all paths; absent if unknown on one.")
    reaches_25_percent: Literal["yes", "maybe", "no", "unknown"] = Field(
        description="Computed from the shares along the paths, and not stated by the register."
    )


class Group(Answer):
    """The owners and subsidiaries of a company, direct and indirect."""

    id: str
    name: str
    owners: tuple[GroupLink, ...] = Field(description="Links above the company, nearest first.")
    subsidiaries: tuple[GroupLink, ...] = Field(description="Links below it, nearest first.")
    ultimate_owners: tuple[UltimateOwner, ...] | None = Field(
        None, description="The largest share first; absent if not every owner was followed."
    )
    complete: bool = Field(
        description="False if the group goes on beyond levels, limit or 500 companies, or if "
        "circles have too many paths to add up every share."
    )
    circular: bool = Field(description="True if a company owns itself through others.")
    shareholders_known: bool = Field(
        description="False for Norway, which publishes partners and the companies of groups only."
    )


def add_group_tools(server: MCPServer, api: Api) -> None:
    """Adds the tool to a server."""

    @server.tool(
        title="Owners and subsidiaries",
        annotations=READ_ONLY,
        description="Gives the owners of a company upwards and its subsidiaries downwards, level "
        "by level, with shares of capital and votes, and its ultimate owners with their shares "
        "multiplied along the paths. Norway publishes the companies of groups, and the owners of "
        f"partnerships and sole proprietorships; no other shareholders. {NOTICE}",
    )
    async def company_group(
        call: Call,
        company: CompanyId,
        country: AnyCountry = None,
        levels: Annotated[int, Field(ge=1, le=10)] = 5,
        limit: Annotated[
            int, Field(ge=1, le=500, description="Links in each direction, and ultimate owners.")
        ] = 25,
    ) -> Annotated[CallToolResult, Group]:
        async with api.client(call) as client:
            group = await client.group(*parsed(company, country), levels=levels)
        return result(_answer(group, limit))


def _answer(group: models.Group, limit: int) -> Group:
    country = group.country
    companies = {one.vat: one for one in group.companies}
    #: By the API's id of an owner: that of the tools, and the name.
    named = {one.id: _named(one.country or country, one.vat, one.name) for one in group.holders}
    named |= {vat: _named(one.country or country, vat, one.name) for vat, one in companies.items()}

    def link(one: models.GroupLink, other: str) -> GroupLink:
        owner, owned = named[one.owner], named[one.owned]
        status = companies[other].status if other in companies else None
        return GroupLink(
            owner=owner[0],
            owner_name=owner[1],
            owned=owned[0],
            owned_name=owned[1],
            share=one.share and one.share.text,
            votes=one.votes and one.votes.text,
            role=one.role_text or one.role,
            since=one.since,
            source=one.source,
            status=None if status == "active" else status,
        )

    above = [link(one, one.owner) for one in group.links if companies[one.owned].level <= 0]
    below = [link(one, one.owned) for one in group.links if companies[one.owned].level > 0]
    ultimate = group.ultimate_owners
    return Group(
        id=identity(country, group.vat),
        name=named[group.vat][1],
        owners=tuple(above[:limit]),
        subsidiaries=tuple(below[:limit]),
        ultimate_owners=ultimate
        and tuple(
            UltimateOwner(
                owner=_named(one.country or country, one.vat, one.name)[0],
                name=clean(one.name, MAX_TEXT),
                type=one.type,
                share=one.share and one.share.text,
                reaches_25_percent=group.reach(one),
            )
            for one in ultimate[:limit]
        ),
        complete=not (group.truncated or group.shares_truncated)
        and max(len(above), len(below), len(ultimate or ())) <= limit,
        circular=any(one.circle for one in group.links),
        shareholders_known=group.shareholders_known,
    )


def _named(country: str, vat: str | None, name: str) -> tuple[str, str]:
    """Returns an owner's id, which is its name if it has no number, and its name."""
    shown = clean(name, MAX_TEXT)
    return (identity(country, vat) if vat else shown), shown
