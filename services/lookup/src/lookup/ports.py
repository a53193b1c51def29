"""What the use cases need of the outside, in their own words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from common.contracts.company import CompanyKey, Country, UnitKey
from lookup.domain.digests import Part
from lookup.domain.planning.states import Known, Plan
from lookup.domain.records import Kind, Record, Refused, Unread
from lookup.domain.suggesting import Suggested


class CompanyRow(NamedTuple):
    """What an answer is made of."""

    revision: int
    core: bytes
    #: A JSON list, or JSON's null where nothing is known of them.
    owners: bytes
    roles: bytes
    updated_at: datetime | None


class Companies(Protocol):
    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        """The known ones of `keys`; may raise `Outage`."""


class Register(Companies, Protocol):
    """The stored registers, read in lists. Every method may raise `Outage`."""

    async def companies_of_units(self, units: Collection[UnitKey]) -> Mapping[UnitKey, CompanyKey]:
        """The company of each unit that is stored, or that a company lists as its own."""

    async def holders(self, identifiers: Collection[str]) -> Mapping[str, CompanyKey | UnitKey]:
        """Whose the registered e-invoicing identifiers are."""

    async def companies_of_phones(
        self, country: Country, phones: Collection[str], limit: int = 1
    ) -> Mapping[str, Sequence[CompanyKey]]:
        """At most `limit` companies of each number, best first.

        Companies with the number itself come before those that have it through a unit.
        """

    async def units_of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[tuple[UnitKey, bytes | None]]]:
        """Each company's units; None for one that only the company's own record lists."""

    async def einvoicing_of(
        self, holders: Collection[CompanyKey | UnitKey]
    ) -> Mapping[CompanyKey | UnitKey, Sequence[tuple[str, bytes]]]:
        """The entries of each by their identifiers, in no order."""


class SearchHit(NamedTuple):
    key: CompanyKey
    #: 0 to 100.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None


class Searches(Protocol):
    """Search by name and address."""

    async def by_name(self, country: Country, name: str, limit: int = 1) -> Sequence[SearchHit]:
        """At most `limit` companies, best first, each once; none when nobody is called so."""

    async def by_address(
        self, country: Country, address: str, limit: int = 1
    ) -> Sequence[SearchHit]:
        """At most `limit` companies at the address, best first, each once."""


class Suggestions(Protocol):
    """What a name may become."""

    async def suggest(self, country: Country, text: str, limit: int) -> Sequence[Suggested]:
        """At most `limit` companies, best first, each once; raises `Outage`."""


class Conflict(Exception):
    """Somebody else changed what a plan was made from; nothing of it was written."""


class StoredDigests(Protocol):
    """The digests of the documents that what is stored was read from."""

    async def of(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        """Of those that are stored; None where none is known. May raise `Outage`."""


class Reader(Protocol):
    """Understands documents."""

    async def __call__(
        self, kind: Kind, documents: Sequence[Unread], /
    ) -> Sequence[Record | Refused]:
        """What each of them says, or why it cannot be used."""


class RegisterWriter(Protocol):
    """The stored registers, for those that load them. Every method may raise `Outage`."""

    async def known(
        self, *, companies: Collection[CompanyKey] = (), units: Collection[UnitKey] = ()
    ) -> Known:
        """What is stored of these, of the companies behind the units, and their tombstones."""

    async def known_participants(
        self, identifiers: Collection[str], holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        """What is stored of these identifiers and of all who hold them or are to hold them."""

    async def with_all_participants(
        self, known: Known, holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        """The same, with every identifier of these companies, their units, and of these units."""

    async def write(self, plan: Plan) -> None:
        """All of the plan or nothing; raises Conflict when it was made from an older state."""

    async def remove(self, key: CompanyKey, *, at: datetime, announces: bool) -> bool:
        """Purges a company with all that belongs to it and leaves a tombstone; False if unknown.

        What was to be told of it is forgotten; with `announces` its removal is told instead.
        """


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """An event that is stored and not published yet."""

    id: str
    company: CompanyKey
    routing_key: str
    body: bytes


class Outbox(Protocol):
    """Events that were never published. Every method may raise `Outage`."""

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        """The first events to publish, those of one company together and by revision."""

    async def mark(self, events: Collection[str], *, at: datetime, again_at: datetime) -> None:
        """Notes that these were published, and are due again unless they are confirmed."""


class Unconfirmed(NamedTuple):
    """An event that was published and has no receipt yet."""

    id: str
    publications: int


class UnconfirmedEvents(Protocol):
    """Events that were published and have no receipt yet. Every method may raise `Outage`."""

    async def due(self, *, at: datetime, limit: int) -> Sequence[Unconfirmed]:
        """The events that should have a receipt by now, in the order of their publication."""

    async def events(self, ids: Collection[str]) -> Sequence[WaitingEvent]:
        """The events with these ids, in the order in which they are published."""

    async def confirm(self, ids: Collection[str]) -> None:
        """Notes that these have a receipt: they are never published again by themselves."""

    async def postpone(self, ids: Collection[str], *, again_at: datetime) -> None:
        """Notes that these were published once more."""


class Receipts(Protocol):
    """The dispatcher's notes of the events that it has turned into deliveries."""

    async def of(self, event_ids: Collection[str]) -> Collection[str]:
        """The ids that have a receipt; raises `Outage`."""


class EventBus(Protocol):
    async def publish(self, event: WaitingEvent) -> None:
        """Returns when the broker has it; raises `Outage` when it has not."""


class EventQueue(Protocol):
    """The dispatcher's queue of events."""

    async def takes_repeats(self) -> bool:
        """Whether a dispatcher consumes events and few wait for it; raises `Outage`.

        An event that still waits in the queue must not be added to it again and again.
        """


class FileOrigin(StrEnum):
    """How a file came here. Files are compared with the last one of the same origin."""

    IMPORTED = "imported"
    DOWNLOADED = "downloaded"


class LoadStates(Protocol):
    """How far each kind has been loaded."""

    async def begin(self, kind: Kind, *, at: datetime) -> None:
        """Notes that a load runs; a kind never loaded to the end is `loading` from now on."""

    async def is_loaded(self, kind: Kind) -> bool:
        """Whether the kind has once been loaded to the end of a file."""

    async def records(self, kind: Kind, origin: FileOrigin) -> int:
        """The number of records in the last whole file of that origin; 0 before the first."""

    async def finish(
        self,
        kind: Kind,
        *,
        at: datetime,
        counts: Mapping[str, int],
        whole: FileOrigin | None = None,
    ) -> None:
        """Notes that a file was read to its end: the kind is `loaded` from now on.

        `whole` is the origin of a file that later ones of the same origin are compared with.
        """
