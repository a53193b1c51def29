"""Fakes of the dependencies of the lookup service."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.find import FindPosition, FindRequest
from common.domain.countries import FORMATS
from lookup.search.find.pages import FindPage
from lookup.search.indexed_company import SearchHit
from lookup.search.match import ReadRecord
from lookup.search.scheduling import Budget
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow
from register_store.lists import EntryPage, EntryPosition, StoredEntries, StoredUnits, UnitOrder
from register_store.reads import StoredRegister

T = TypeVar("T")


@dataclass
class FakeUnits(StoredUnits):
    """The units of one company, active, in the order of their numbers."""

    stored: Mapping[UnitKey, bytes] = field(default_factory=dict)
    main: UnitKey | None = None
    listed: Sequence[str] = ()

    async def order(self, _company: CompanyKey, _core: bytes) -> UnitOrder:
        return UnitOrder(self.main, sorted(self.stored), (), self.listed)

    async def cores(self, _order: UnitOrder, keys: Collection[UnitKey]) -> Mapping[UnitKey, bytes]:
        return {key: core for key, core in self.stored.items() if key in keys}


class FakeEntries(StoredEntries):
    """No e-invoicing entries."""

    def __init__(self) -> None:
        """Reads nothing."""

    async def page(
        self,
        _company: CompanyKey,
        _units: Sequence[str],
        _limit: int,
        _after: EntryPosition | None = None,
    ) -> EntryPage:
        return EntryPage([], 0, None)


@dataclass
class FakeRegister(StoredRegister):
    """The register of companies and who has which phone number, best first."""

    rows: Mapping[CompanyKey, CompanyRow] = field(default_factory=dict)
    phones: Mapping[str, Sequence[CompanyKey]] = field(default_factory=dict)
    units: FakeUnits = field(default_factory=FakeUnits)
    entries: FakeEntries = field(default_factory=FakeEntries)

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        return {key: self.rows[key] for key in keys if key in self.rows}

    async def owned(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        return await self.companies(keys)

    async def removed(self, _keys: Collection[CompanyKey]) -> Mapping[CompanyKey, str]:
        return {}

    async def companies_of_phones(
        self, country: Country, phones: Collection[str], limit: int = 1000
    ) -> Mapping[str, Sequence[CompanyKey]]:
        return {phone: self.phones.get(f"{country}:{phone}", ())[:limit] for phone in phones}

    async def companies_of_units(self, _units: Collection[UnitKey]) -> Mapping[UnitKey, CompanyKey]:
        return {}

    async def holders(self, _identifiers: Collection[str]) -> Mapping[str, CompanyKey | UnitKey]:
        return {}


class FakeSearches(IndexSearches):
    """Searches with the ranked hits of each term."""

    def __init__(
        self,
        names: Mapping[str, Sequence[SearchHit]] | None = None,
        addresses: Mapping[str, Sequence[SearchHit]] | None = None,
        shared: Collection[str] = (),
        owned: Mapping[str, Sequence[str]] | None = None,
        contacts: Mapping[str, Sequence[SearchHit]] | None = None,
    ) -> None:
        self.names, self.addresses = names or {}, addresses or {}
        self.contacts = contacts or {}
        #: The numbers of the companies that the index has for each owner, by name; Danish numbers
        #: have eight digits.
        self.owned = owned or {}
        #: Names whose words many companies share.
        self.shared = shared
        #: The client of each search.
        self.clients: list[str] = []

    @property
    def countries(self) -> Collection[Country]:
        return tuple(Country)

    async def many_share(self, _country: Country, name: str, *, client: str = "") -> bool:
        self.clients.append(client)
        return name in self.shared

    async def by_name(
        self, _country: Country, name: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        return self._hits(self.names, name, limit, client)

    async def by_address(
        self, _country: Country, address: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        return self._hits(self.addresses, address, limit, client)

    async def by_contact(
        self, _country: Country, contact: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        return self._hits(self.contacts, contact, limit, client)

    def _hits(
        self, found: Mapping[str, Sequence[SearchHit]], term: str, limit: int, client: str
    ) -> Sequence[SearchHit]:
        self.clients.append(client)
        return found.get(term, ())[:limit]

    async def match_candidates(
        self, _country: Country, _record: ReadRecord, *, client: str = ""
    ) -> list[CompanyKey]:
        self.clients.append(client)
        return []

    async def owned_companies(
        self, country: Country, owners: Collection[CompanyKey], limit: int, *, client: str = ""
    ) -> list[CompanyKey]:
        self.clients.append(client)
        found = {vat for owner in owners for vat in self.owned.get(owner.vat, ())}
        digits = FORMATS[country].vat_digits
        return [CompanyKey(country, vat) for vat in sorted(found) if len(vat) == digits][:limit]

    async def apart(
        self, _country: Country, _kind: str, work: Callable[[Budget], T], *, client: str = ""
    ) -> T:
        self.clients.append(client)
        return work(Budget())

    async def find(self, request: FindRequest) -> FindPage:
        self.clients.append(request.client)
        owned = self.owned.get(request.owned_by or "", ())
        listed = owned[: request.limit]
        positions = [
            FindPosition(key=place, country=request.country, number=int(number))
            for place, number in enumerate(listed)
        ]
        return FindPage(positions, len(owned), len(owned) > len(listed), {})
