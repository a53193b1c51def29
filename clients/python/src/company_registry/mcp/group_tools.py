"""The tool for groups: owners upwards and subsidiaries downwards, read level by level."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from company_registry import errors
from company_registry.client import AsyncClient
from company_registry.mcp.answers import (
    MAX_TEXT,
    NOTICE,
    READ_ONLY,
    Answer,
    clean,
    identity,
    result,
)
from company_registry.mcp.api import Api, Call, parsed
from company_registry.models import Company, Include, Owner, Subsidiary

#: Requests of a group that run at once.
_AT_ONCE: Final = 8


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
    status: str | None = Field(None, description="Of the subsidiary, if it is not active.")


class Group(Answer):
    """The owners and subsidiaries of a company, direct and indirect."""

    id: str
    name: str
    owners: tuple[GroupLink, ...] = Field(description="Links above the company, nearest first.")
    subsidiaries: tuple[GroupLink, ...] = Field(description="Links below it, nearest first.")
    complete: bool = Field(
        description="False if the group goes on beyond levels or max_companies, or if a company "
        "has more than 100 owners or subsidiaries."
    )
    circular: bool = Field(description="True if a company owns itself through others.")


@dataclass
class _Walk:
    """A walk in one direction, which reads each company once."""

    client: AsyncClient
    upwards: bool
    left: int
    links: list[GroupLink] = field(default_factory=list)
    complete: bool = True
    circular: bool = False

    async def run(self, company: Company, levels: int) -> None:
        """Adds the links of all levels."""
        level, seen = [company], {identity(company.country, company.vat)}
        for depth in range(levels):
            ahead: dict[str, None] = {}
            for one in level:
                ahead |= dict.fromkeys(self._add(one, seen))
            self.complete &= not ahead or depth + 1 < levels
            wanted = list(ahead)[: self.left] if depth + 1 < levels else []
            self.complete &= depth + 1 == levels or len(wanted) == len(ahead)
            self.left -= len(wanted)
            seen |= set(ahead)
            level = await self._read(wanted)

    def _add(self, company: Company, seen: set[str]) -> Iterable[str]:
        """Adds the links of a company, and yields the companies that they lead to."""
        own = identity(company.country, company.vat)
        listed = (company.owners if self.upwards else company.subsidiaries) or ()
        total = company.owners_total if self.upwards else company.subsidiaries_total
        self.complete &= (total or 0) <= len(listed)
        for one in listed:
            other = one.vat and identity(company.country, one.vat)
            self.links.append(_link(own, company.name, one, other))
            if other in seen:
                self.circular |= other == own or self._leads_back(own, other)
            elif other:
                yield other

    def _leads_back(self, own: str, other: str) -> bool:
        """Returns whether the links so far lead from `other` to `own`: not so for two paths."""
        reached, ahead = set[str](), [other]
        while ahead:
            here = ahead.pop()
            for link in self.links:
                start, end = link.owned, link.owner
                if not self.upwards:
                    start, end = end, start
                if start == here and end not in reached:
                    reached.add(end)
                    ahead.append(end)
        return own in reached

    async def _read(self, ids: list[str]) -> list[Company]:
        slots = asyncio.Semaphore(_AT_ONCE)
        part: Include = "owners" if self.upwards else "subsidiaries"

        async def read(id_: str) -> Company | None:
            country, number = parsed(id_)
            async with slots:
                try:
                    return await self.client.lookup(country, number, include=[part])
                except (errors.CompanyNotFound, errors.CompanyRemoved):
                    return None

        return [one for one in await asyncio.gather(*map(read, ids)) if one is not None]


def add_group_tools(server: MCPServer, api: Api) -> None:
    """Adds the tool to a server."""

    @server.tool(
        title="Owners and subsidiaries",
        annotations=READ_ONLY,
        description="Walks the owners of a company upwards and its subsidiaries downwards, level "
        "by level, with shares of capital and votes. Each company that is read costs one request "
        "of the rate. Norway publishes the owners of partnerships and sole proprietorships alone. "
        f"{NOTICE}",
    )
    async def company_group(
        call: Call,
        company: Annotated[str, Field(description="Id of a company, such as dk:12345674.")],
        direction: Literal["both", "owners", "subsidiaries"] = "both",
        levels: Annotated[int, Field(ge=1, le=6)] = 3,
        max_companies: Annotated[
            int, Field(ge=1, le=100, description="Companies to read in each direction.")
        ] = 25,
    ) -> Annotated[CallToolResult, Group]:
        country, number = parsed(company)
        async with api.client(call) as client:
            root = await client.lookup(country, number, include=["owners", "subsidiaries"])
            up, down = (_Walk(client, upwards, max_companies - 1) for upwards in (True, False))
            walks = [up] * (direction != "subsidiaries") + [down] * (direction != "owners")
            await asyncio.gather(*(walk.run(root, levels) for walk in walks))
        answer = Group(
            id=identity(country, root.vat),
            name=clean(root.name, MAX_TEXT),
            owners=tuple(up.links),
            subsidiaries=tuple(down.links),
            complete=all(walk.complete for walk in walks),
            circular=any(walk.circular for walk in walks),
        )
        return result(answer)


def _link(own: str, name: str, one: Owner | Subsidiary, other: str | None) -> GroupLink:
    here, there = (own, clean(name, MAX_TEXT)), (other, clean(one.name, MAX_TEXT))
    upwards = isinstance(one, Owner)
    owner, owned = (there, here) if upwards else (here, there)
    status = None if isinstance(one, Owner) or one.status == "active" else one.status
    return GroupLink(
        owner=owner[0] or owner[1],
        owner_name=owner[1],
        owned=owned[0] or owned[1],
        owned_name=owned[1],
        share=one.share and one.share.text,
        votes=one.votes and one.votes.text,
        role=one.role_text or one.role,
        since=one.since,
        status=status,
    )
