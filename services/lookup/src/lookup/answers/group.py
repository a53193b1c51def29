"""The group of a company: its owners upwards and its subsidiaries downwards, with their shares.

The registers' documents are read on the event loop. All else runs in the threads of searches,
within limits: a group that reaches one is cut off, and its answer says so.

A company may have a record in both registers: Norway's has foreign companies, with their number at
home. Such records are one company, with the links of each.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from common.contracts.company import CompanyKey, Country
from lookup.answers.ownership import Holding, Share, components, ultimate_shares
from lookup.answers.rendering import Candidate, described
from lookup.search.scheduling import Budget
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow, home_key
from register_store.reads import StoredRegister

#: Maximum companies of a group in an answer.
MAX_COMPANIES: Final = 500
#: Companies between two looks at the clock of the thread, which may cost as much as one of them.
_UNCHECKED: Final = 16
#: Companies that are read at once.
_READ: Final = 100
_ALL: Final = Decimal(100)
_CENT: Final = Decimal("0.01")
#: The sources of owners that name none.
_SOURCES: Final = {Country.DK: "dk-virksomhed", Country.NO: "no-roller"}
#: In the JSON of a company that has a number in another country.
_HOME: Final = b'"home_register":{'

T = TypeVar("T")


class GroupLimits(NamedTuple):
    """Limits of one group, next to its levels and `MAX_COMPANIES`."""

    #: Entries of lists of owners.
    links: int = 2_500
    #: Steps along the paths within circles of ownership.
    steps: int = 1_000
    #: Seconds of processor time for collecting companies.
    seconds: float = 0.05


GROUP_LIMITS: Final = GroupLimits()


class Link(NamedTuple):
    """An owner, which is a company's key or the place of an entry, and what it owns."""

    owner: str
    owned: CompanyKey
    entry: Mapping[str, Any]
    #: The register that says so.
    country: Country

    @property
    def source(self) -> str:
        """The source that says so."""
        return self.entry.get("source") or _SOURCES[self.country]


#: The records of each company.
Records = dict[CompanyKey, dict[CompanyKey, CompanyRow]]


@dataclass(slots=True)
class _Group:
    """The companies of a group, in the order in which they were found."""

    root: CompanyKey
    limits: GroupLimits
    #: The fields of each company in the answer.
    companies: dict[CompanyKey, dict[str, Any]] = field(default_factory=dict)
    #: By the key of a further record of a company: that of its own.
    own_key: dict[CompanyKey, CompanyKey] = field(default_factory=dict)
    #: The owners of each company, each once by its kind and source; its first entry has its largest
    #: share. Of a subsidiary only those that are companies.
    links: dict[CompanyKey, list[Link]] = field(default_factory=dict)
    #: The companies above, and the company itself.
    upward: set[CompanyKey] = field(default_factory=set)
    #: True if owners, or subsidiaries, are missing.
    lacks_owners: bool = False
    lacks_owned: bool = False
    entries_left: int = 0
    seconds_left: float = 0.0

    def __post_init__(self) -> None:
        self.entries_left, self.seconds_left = self.limits.links, self.limits.seconds

    @property
    def is_full(self) -> bool:
        """Returns True if no more companies can be added."""
        return (
            len(self.companies) >= MAX_COMPANIES
            or self.entries_left <= 0
            or self.seconds_left <= 0.0
        )

    def known(self, key: CompanyKey) -> CompanyKey:
        """Returns the key by which the group has a company."""
        return self.own_key.get(key, key)

    def joined(self, found: Mapping[CompanyKey, CompanyRow]) -> Records:
        """Returns the records by company, without its own of one that is already here."""
        by_home = defaultdict[CompanyKey, list[CompanyKey]](list)
        for key, row in found.items():
            home = _home(row)
            if home is not None and (home in found or home in self.companies):
                by_home[home].append(key)
        for home, keys in by_home.items():
            every = (home, *keys)
            own = self.root if self.root in every else home
            self.own_key |= {key: own for key in every if key != own}
        records: Records = {}
        for key, row in found.items():
            if key not in self.companies:
                records.setdefault(self.known(key), {})[key] = row
        return records

    def add_owners(self, records: Records, level: int, budget: Budget) -> list[CompanyKey]:
        """Adds a level of owners; returns the companies that own them and are not yet here."""
        above = set[CompanyKey]()
        for place, (key, rows) in enumerate(records.items()):
            if self.is_full or self._spent(budget, place):
                self.lacks_owners = True
                break
            links, is_whole = self._links(rows)
            self.lacks_owners |= not is_whole
            self._add(key, rows, level, links)
            self.upward.add(key)
            above.update(_companies(links))
        self.seconds_left -= budget.used
        return sorted(key for key in above if self.known(key) not in self.companies)

    def add_owned(
        self, records: Records, level: int, owners: Iterable[CompanyKey], budget: Budget
    ) -> list[CompanyKey]:
        """Adds those of a level's companies that have one of the owners.

        Returns the keys of their records.
        """
        new, held = list[CompanyKey](), frozenset(owners)
        for place, (key, rows) in enumerate(records.items()):
            if self.is_full or self._spent(budget, place):
                self.lacks_owned = True
                break
            links, is_whole = self._links(rows)
            self.lacks_owned |= not is_whole
            # The index may have what an owner has just sold.
            if not held.isdisjoint(_companies(links)):
                kept = [link for link in links if isinstance(link.owner, CompanyKey)]
                self._add(key, rows, level, kept)
                new += rows
        self.seconds_left -= budget.used
        return new

    def settle(self) -> None:
        """Leads each link to the own key of its owner; records do not own each other."""
        for owned, links in self.links.items():
            led = list[Link]()
            for link in links:
                key = link.owner if isinstance(link.owner, CompanyKey) else None
                own = key and self.own_key.get(key)
                if own != owned:
                    led.append(link._replace(owner=own) if own else link)
            self.links[owned] = led

    def _add(
        self, key: CompanyKey, rows: Mapping[CompanyKey, CompanyRow], level: int, links: list[Link]
    ) -> None:
        if key not in self.companies:
            fields = described(orjson.loads(rows[key].core))
            place = {"level": level, "country": key.country, "other_records": []}
            self.companies[key] = {**fields, **place}
            self.links[key] = []
        self.links[key] += links
        self.companies[key]["other_records"] += [
            {"country": one.country, "vat": one.vat} for one in rows if one != key
        ]

    def _spent(self, budget: Budget, place: int) -> bool:
        """Returns True if the time for collecting is over; looks at it now and then."""
        if place % _UNCHECKED == 0:
            budget.check()
        return budget.used > self.seconds_left

    def _links(self, rows: Mapping[CompanyKey, CompanyRow]) -> tuple[list[Link], bool]:
        """Returns the links to the owners of a company, and whether these are all."""
        links: dict[tuple[str, str | None, Country], Link] = {}
        is_whole = True
        for key, row in rows.items():
            entries = orjson.loads(row.owners) or ()
            listed = entries[: self.entries_left]
            self.entries_left -= len(listed)
            is_whole &= len(listed) == len(entries)
            for number, entry in enumerate(listed):
                # Registers publish no number of a person: each is one of this company alone.
                owner = f"{key.vat}/{number}"
                if entry["type"] == "company" and entry.get("vat"):
                    owner = CompanyKey(key.country, entry["vat"])
                # The register of groups may contradict the others, or say a link of each kind.
                kind = entry.get("role") if entry.get("source") else None
                link = Link(owner, self.known(key), entry, key.country)
                links.setdefault((owner, kind, key.country), link)
        return list(links.values()), is_whole


async def group_body(  # noqa: PLR0913 (where it is read, whose it is, and its limits)
    register: StoredRegister,
    searches: IndexSearches,
    found: Candidate,
    *,
    levels: int,
    client: str,
    limits: GroupLimits,
) -> bytes:
    """Returns the public group of a company as JSON; may raise `Unavailable`.

    Owners and subsidiaries are followed for so many levels, each company once: a circle of
    ownership is shown and not followed.
    """
    root, country = found.hit.key, found.hit.key.country

    async def apart(work: Callable[[Budget], T]) -> T:
        return await searches.apart(country, "group", work, client=client)

    group = _Group(root, limits)
    reads = _Reads(register, searches, group, client)
    above = await apart(partial(group.add_owners, await reads.with_others({root: found.row}), 0))
    for level in range(1, levels + 1):
        if not above or group.is_full:
            break
        above = await apart(partial(group.add_owners, await reads.records(above), -level))
    group.lacks_owners |= bool(above)
    frontier = [root, *(key for key, own in group.own_key.items() if own == root)]
    for level in range(1, levels + 2):
        owned = await reads.owned(frontier)
        below = [key for key in owned if group.known(key) not in group.companies]
        if not below:
            break
        if level > levels or group.is_full:
            group.lacks_owned = True
            break
        records = await reads.records(below)
        frontier = await apart(partial(group.add_owned, records, level, frontier))
    return await apart(partial(_rendered, group))


@dataclass(frozen=True, slots=True)
class _Reads:
    """Reads the companies of a group, each with its records in both registers."""

    register: StoredRegister
    searches: IndexSearches
    group: _Group
    client: str

    async def owned(self, owners: Collection[CompanyKey]) -> list[CompanyKey]:
        """Returns the companies that some of these own, by the index of each register."""
        found = list[CompanyKey]()
        for country in Country:
            of_register = [key for key in owners if key.country is country]
            if country in self.searches.countries:
                found += await self._found(country, of_register)
            elif of_register:
                self.group.lacks_owned = True
        return found

    async def records(self, keys: Iterable[CompanyKey]) -> Records:
        """Returns the companies among `keys` that are stored."""
        return await self.with_others(await self._rows(keys))

    async def with_others(self, rows: Mapping[CompanyKey, CompanyRow]) -> Records:
        """Returns companies, each with its records in both registers."""
        found = dict(rows)
        homes = {home for row in rows.values() if (home := _home(row))}
        found |= await self._rows(sorted(homes.difference(found)))
        if Country.NO in self.searches.countries:
            # Its index has a company under its number at home, as if that owned it.
            abroad = [key for key in found if key.country is not Country.NO]
            listed = await self._found(Country.NO, abroad)
            others = await self._rows(key for key in listed if key not in found)
            found |= {key: row for key, row in others.items() if _home(row) in found}
        return self.group.joined(found)

    async def _found(
        self, country: Country, owners: Collection[CompanyKey]
    ) -> Sequence[CompanyKey]:
        if not owners:
            return ()
        return await self.searches.owned_companies(
            country, owners, MAX_COMPANIES + 1, client=self.client
        )

    async def _rows(self, keys: Iterable[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        wanted, rows = list(keys)[: MAX_COMPANIES + 1], dict[CompanyKey, CompanyRow]()
        for start in range(0, len(wanted), _READ):
            rows |= await self.register.owned(wanted[start : start + _READ])
        return rows


def _home(row: CompanyRow) -> CompanyKey | None:
    return home_key(orjson.loads(row.core)) if _HOME in row.core else None


def _companies(links: Iterable[Link]) -> Iterator[CompanyKey]:
    return (link.owner for link in links if isinstance(link.owner, CompanyKey))


def _rendered(group: _Group, budget: Budget) -> bytes:
    """Returns the JSON; of subsidiaries only the owners within the group are shown."""
    group.settle()
    circles = components(
        {
            owned: [link.owner for link in links if link.owner in group.companies]
            for owned, links in group.links.items()
        }
    )
    budget.check()
    circle_of = {company: place for place, circle in enumerate(circles) for company in circle}
    shown = [
        link
        for owned, links in group.links.items()
        for link in links
        if owned in group.upward or link.owner in group.companies
    ]
    holders = {link.owner: link for link in shown if link.owner not in group.companies}
    owners, is_cut = _ultimate(group, circles, budget)
    return orjson.dumps(
        {
            "country": group.root.country,
            "vat": group.root.vat,
            "companies": list(group.companies.values()),
            "holders": [
                {"id": _id(owner), **_named(owner, link.entry)} for owner, link in holders.items()
            ],
            "links": [
                _shown(link, circle=circle_of.get(link.owner) == circle_of[link.owned])
                for link in shown
            ],
            "ultimate_owners": owners,
            "shares_truncated": is_cut,
            "truncated": group.lacks_owners or group.lacks_owned,
            # Norway's open data has partners and groups, and no other shareholders.
            "shareholders_known": group.root.country is Country.DK,
        }
    )


def _shown(link: Link, *, circle: bool) -> dict[str, Any]:
    get = link.entry.get
    return {
        "owner": _id(link.owner),
        "owned": link.owned.vat,
        "role": get("role"),
        "role_text": get("role_text"),
        "share": get("share"),
        "votes": get("votes"),
        "since": get("since"),
        "source": link.source,
        "circle": circle,
    }


def _id(owner: str) -> str:
    return owner.vat if isinstance(owner, CompanyKey) else owner


def _named(owner: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    key = owner if isinstance(owner, CompanyKey) else None
    return {
        "name": entry["name"],
        "type": entry["type"],
        "vat": key and key.vat,
        "country": key and key.country,
    }


def _ultimate(
    group: _Group, circles: list[list[str]], budget: Budget
) -> tuple[list[dict[str, Any]] | None, bool]:
    """Returns the owners whose own owners are unknown or persons, and if their shares are cut.

    None if not every owner was followed; subsidiaries do not matter.
    """
    if group.lacks_owners:
        return None, False
    holdings: dict[str, list[Holding]] = {
        owned: [
            Holding(link.owner, _share(link.entry.get("share")))
            for link in _largest(group.links[owned])
        ]
        for owned in group.upward
    }
    entries = {link.owner: link.entry for owned in group.upward for link in group.links[owned]}
    shares = ultimate_shares(
        group.root, holdings, circles, max_steps=group.limits.steps, check=budget.check
    )
    largest = sorted(
        shares.of_owner.items(), key=lambda one: one[1][1] if one[1] else 0, reverse=True
    )
    return [
        {
            "owner": _id(owner),
            **_named(owner, entries[owner]),
            "share": _percentages(share),
        }
        for owner, share in largest
    ], shares.is_cut


def _largest(links: Iterable[Link]) -> Iterable[Link]:
    """Returns one link of each owner, that of the largest share: they may be about the same one."""
    found: dict[str, Link] = {}
    for link in links:
        known = found.get(link.owner)
        if known is None or _least(known) < _least(link):
            found[link.owner] = link
    return found.values()


def _least(link: Link) -> Decimal:
    share = _share(link.entry.get("share"))
    return share[0] if share else Decimal(-1)


def _share(share: Mapping[str, str] | None) -> Share:
    return None if share is None else (_fraction(share["min"]), _fraction(share["max"]))


@lru_cache(maxsize=1_024)
def _fraction(percentage: str) -> Decimal:
    return Decimal(percentage) / _ALL


@lru_cache(maxsize=1_024)
def _percentages(share: Share) -> dict[str, str] | None:
    if share is None:
        return None
    least = (share[0] * _ALL).quantize(_CENT, ROUND_FLOOR)
    most = min(share[1] * _ALL, _ALL).quantize(_CENT, ROUND_CEILING)
    return {"min": _plain(least), "max": _plain(most)}


def _plain(number: Decimal) -> str:
    """Returns a percentage as in the register: `90`, `44.45`."""
    return f"{number:f}".rstrip("0").rstrip(".")
