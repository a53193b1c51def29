"""Ports of the answers: the stored registers and the searches."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from common.contracts.company import CompanyKey, Country, UnitKey
from lookup.search.hits import SearchHit
from lookup.store.documents import CompanyRow
from lookup.store.units import UnitOrder


class Companies(Protocol):
    """The stored companies."""

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        """Returns the stored companies of `keys`; may raise `Unavailable`."""


class Units(Protocol):
    """The stored production units. Every method may raise `Unavailable`."""

    async def order(self, company: CompanyKey, core: bytes) -> UnitOrder:
        """Returns the order of the units of a company, which is given as it is stored."""

    async def cores(self, order: UnitOrder, keys: Collection[UnitKey]) -> Mapping[UnitKey, bytes]:
        """Returns the stored units among these."""


class Register(Companies, Protocol):
    """The stored registers, read in batches. Every method may raise `Unavailable`."""

    async def companies_of_units(self, units: Collection[UnitKey]) -> Mapping[UnitKey, CompanyKey]:
        """Returns the company of each unit that is stored, or that a company lists as its own."""

    async def holders(self, identifiers: Collection[str]) -> Mapping[str, CompanyKey | UnitKey]:
        """Returns the holders of registered e-invoicing identifiers."""

    async def companies_of_phones(
        self, country: Country, phones: Collection[str], limit: int = 1
    ) -> Mapping[str, Sequence[CompanyKey]]:
        """At most `limit` companies of each number, best first.

        Companies with the number itself precede those with a unit that has it.
        """

    @property
    def units(self) -> Units:
        """The production units."""

    async def einvoicing_of(
        self, holders: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, bytes]]]:
        """Returns the entries of each holder with their identifiers, unordered."""


class Searches(Protocol):
    """Search by name and address."""

    async def by_name(
        self, country: Country, name: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        """At most `limit` companies, best first, each once."""

    async def many_share(self, country: Country, name: str, *, client: str = "") -> bool:
        """True if the words are too common to find one company, and several have them all."""

    async def by_address(
        self, country: Country, address: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        """At most `limit` companies at the address, best first, each once."""
