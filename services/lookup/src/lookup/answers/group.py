"""The group of a company: its owners upwards and its subsidiaries downwards, with their shares."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country
from common.contracts.find import MAX_FOUND, FindRequest
from lookup.answers.rendering import Candidate, described
from lookup.search.indexed_company import company_key
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow
from register_store.reads import StoredRegister

#: Maximum companies of a group in an answer.
MAX_COMPANIES: Final = 500
#: Steps along paths of ownership, after which shares are not computed.
_MAX_STEPS: Final = 10_000
_ALL: Final = Decimal(100)
_CENT: Final = Decimal("0.01")
_OWNERSHIP: Final = ("role", "role_text", "share", "votes", "since")


class Link(NamedTuple):
    """An owner, which is a company's key or the place of an entry, and what it owns."""

    owner: str
    owned: CompanyKey
    entry: Mapping[str, Any]


@dataclass(slots=True)
class _Collected:
    """The companies of a group, in the order in which they were found, and their levels."""

    rows: dict[CompanyKey, CompanyRow]
    levels: dict[CompanyKey, int]
    is_truncated: bool = False
    #: The owners of each company, each once; its first entry has its largest share.
    links: dict[CompanyKey, list[Link]] = field(default_factory=dict)

    def add(self, rows: Mapping[CompanyKey, CompanyRow], level: int) -> list[CompanyKey]:
        """Adds companies; returns those that are new."""
        new = [key for key in rows if key not in self.rows]
        room = MAX_COMPANIES - len(self.rows)
        self.is_truncated |= len(new) > room
        for key in new[:room]:
            self.rows[key], self.levels[key] = rows[key], level
            self.links[key] = list(_links(key, rows[key]))
        return new[:room]


async def group_body(
    register: StoredRegister,
    searches: IndexSearches,
    found: Candidate,
    *,
    levels: int,
    client: str,
) -> bytes:
    """Returns the public group of a company as JSON; may raise `Unavailable`.

    Owners and subsidiaries are followed for so many levels, each company once: a circle of
    ownership is shown and not followed.
    """
    root, country = found.hit.key, found.hit.key.country
    group = _Collected({}, {})
    frontier = group.add({root: found.row}, 0)
    for level in range(1, levels + 2):
        owners = {key for owned in frontier for key in _companies(group.links[owned])}
        above = sorted(owners.difference(group.rows))
        if level > levels or not above:
            group.is_truncated |= bool(above)
            break
        frontier = group.add(await register.companies(above), -level)
    upward = set(group.rows)
    frontier = [root]
    for level in range(1, levels + 2):
        pages = await asyncio.gather(
            *(_owned(searches, country, owner.vat, client) for owner in frontier)
        )
        below = sorted({key for keys, _ in pages for key in keys}.difference(group.rows))
        group.is_truncated |= not all(is_whole for _, is_whole in pages)
        if level > levels or not below or len(group.rows) >= MAX_COMPANIES:
            group.is_truncated |= bool(below)
            break
        rows = await register.companies(below[: MAX_COMPANIES + 1])
        # The index may have what an owner has just sold.
        held = set(frontier)
        owned = {k: row for k, row in rows.items() if held.intersection(_companies(_links(k, row)))}
        frontier = group.add(owned, level)
    return _rendered(root, group, upward)


async def _owned(
    searches: IndexSearches, country: Country, owner: str, client: str
) -> tuple[list[CompanyKey], bool]:
    """Returns the companies that one owns, as many as a page has, and whether these are all."""
    found = await searches.find(
        FindRequest(country=country, owned_by=owner, limit=MAX_FOUND, client=client)
    )
    keys = [company_key(one.country, one.number) for one in found.positions]
    return keys, found.total <= len(keys)


def _links(owned: CompanyKey, row: CompanyRow) -> Iterator[Link]:
    seen = set()
    for number, entry in enumerate(orjson.loads(row.owners) or ()):
        # Registers publish no number of a person: each is one of this company alone.
        owner = f"{owned.vat}/{number}"
        if entry["type"] == "company" and entry.get("vat"):
            owner = CompanyKey(owned.country, entry["vat"])
        if owner not in seen:
            seen.add(owner)
            yield Link(owner, owned, entry)


def _companies(links: Iterable[Link]) -> Iterator[CompanyKey]:
    return (link.owner for link in links if isinstance(link.owner, CompanyKey))


def _rendered(root: CompanyKey, group: _Collected, upward: set[CompanyKey]) -> bytes:
    """Returns the JSON; of subsidiaries only the owners within the group are shown."""
    shown = [
        link
        for owned, links in group.links.items()
        for link in links
        if owned in upward or link.owner in group.rows
    ]
    circles = _circles(shown)
    holders = {link.owner: link for link in shown if link.owner not in group.rows}
    return orjson.dumps(
        {
            "country": root.country,
            "vat": root.vat,
            "companies": [
                {**described(orjson.loads(row.core)), "level": group.levels[key]}
                for key, row in group.rows.items()
            ],
            "holders": [
                {
                    "id": _id(owner),
                    "name": link.entry["name"],
                    "type": link.entry["type"],
                    "vat": link.entry.get("vat"),
                }
                for owner, link in holders.items()
            ],
            "links": [
                {
                    "owner": _id(link.owner),
                    "owned": link.owned.vat,
                    **{name: link.entry.get(name) for name in _OWNERSHIP},
                    "circle": (link.owner, link.owned) in circles,
                }
                for link in shown
            ],
            "ultimate_owners": _ultimate(root, group),
            "truncated": group.is_truncated,
            # Norway's open data has partners, and no shareholders.
            "shareholders_known": root.country is Country.DK,
        }
    )


def _id(owner: str) -> str:
    return owner.vat if isinstance(owner, CompanyKey) else owner


def _circles(links: Sequence[Link]) -> set[tuple[str, CompanyKey]]:
    """Returns the links that are part of a circle of ownership."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        owners[link.owned].add(link.owner)
    found = set[tuple[str, CompanyKey]]()
    while True:
        try:
            TopologicalSorter(owners).prepare()
        except CycleError as error:
            # Each element is an owner of the one after it; first and last are the same.
            circle = error.args[1]
            for owner, owned in pairwise(circle):
                found.add((owner, owned))
                owners[owned].discard(owner)
        else:
            return found


class _Path(NamedTuple):
    """A path of ownership upwards, and its share from 0 to 1; None if a part of it is unknown."""

    #: The company at its end, whose owners are next.
    owned: CompanyKey
    companies: frozenset[CompanyKey]
    low: Decimal | None
    high: Decimal | None


@dataclass(slots=True)
class _Total:
    """The share of an ultimate owner along all paths; None if a part of it is unknown."""

    entry: Mapping[str, Any]
    low: Decimal | None = Decimal(0)
    high: Decimal | None = Decimal(0)


def _ultimate(root: CompanyKey, group: _Collected) -> list[dict[str, Any]] | None:
    """Returns those who own and whose own owners are unknown or persons, with their shares.

    A share multiplies along a path, and those of several paths add up. None if not every owner
    was followed.
    """
    if group.is_truncated:
        return None
    totals: dict[str, _Total] = {}
    paths = [_Path(root, frozenset({root}), Decimal(1), Decimal(1))]
    for _ in range(_MAX_STEPS):
        if not paths:
            break
        owned, path, low, high = paths.pop()
        for link in group.links[owned]:
            share = link.entry.get("share")
            least = None if share is None or low is None else low * Decimal(share["min"]) / _ALL
            most = None if share is None or high is None else high * Decimal(share["max"]) / _ALL
            owner = link.owner
            if isinstance(owner, CompanyKey) and group.links.get(owner):
                if owner not in path:
                    paths.append(_Path(owner, path | {owner}, least, most))
                continue
            total = totals.setdefault(owner, _Total(link.entry))
            total.low = None if total.low is None or least is None else total.low + least
            total.high = None if total.high is None or most is None else total.high + most
    else:
        return None
    return [
        {
            "owner": _id(owner),
            "name": total.entry["name"],
            "type": total.entry["type"],
            "vat": total.entry.get("vat"),
            "share": _share(total),
        }
        for owner, total in sorted(totals.items(), key=lambda one: one[1].high or 0, reverse=True)
    ]


def _share(total: _Total) -> dict[str, str] | None:
    if total.low is None or total.high is None:
        return None
    least = (total.low * _ALL).quantize(_CENT, ROUND_FLOOR)
    most = min(total.high * _ALL, _ALL).quantize(_CENT, ROUND_CEILING)
    return {"min": _plain(least), "max": _plain(most)}


def _plain(number: Decimal) -> str:
    """Returns a percentage as in the register: `90`, `44.45`."""
    return f"{number:f}".rstrip("0").rstrip(".")
