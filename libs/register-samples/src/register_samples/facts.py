"""Facts about an invented company, before they are written in a register's format."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, NamedTuple

#: A document or a record as its register writes it.
Document = dict[str, Any]

#: The day the registers are of: nothing in them is later.
AS_OF = date(2026, 6, 30)


class Naming(Enum):
    """Naming of companies of a legal form."""

    TRADING = 1
    SOLE_TRADER = 2
    PARTNERS = 3
    ASSOCIATION = 4
    PROPERTY = 5
    PUBLIC = 6
    FOREIGN = 7
    ESTATE = 8


class Form(NamedTuple):
    """A legal form; `suffix` is its addition to a name."""

    code: str
    short: str
    text: str
    naming: Naming
    suffix: str = ""


class Industry(NamedTuple):
    code: str
    text: str


class Place(NamedTuple):
    """A postcode with its town and municipality."""

    postcode: str
    city: str
    municipality: str
    municipality_code: str


class Address(NamedTuple):
    """An address in the register's own country."""

    street: str
    place: Place
    house: int | None = None
    letter: str | None = None
    floor: str | None = None
    door: str | None = None
    co: str | None = None
    #: The supplementary town.
    district: str | None = None
    #: A post-office box; then there is no street.
    box: str | None = None


class Abroad(NamedTuple):
    """An address in another country: its lines, and the town with its postcode."""

    lines: tuple[str, ...]
    city: str
    country: str


class Person(NamedTuple):
    given: str
    middle: str | None
    family: str
    born: date

    @property
    def name(self) -> str:
        middle = f" {self.middle}" if self.middle else ""
        return f"{self.given}{middle} {self.family}"


class Contact(NamedTuple):
    """A phone number, fax number, mail address or site; secret ones must not be shown."""

    value: str
    secret: bool = False


class Contacts(NamedTuple):
    phone: Contact | None = None
    mobile: Contact | None = None
    fax: Contact | None = None
    email: Contact | None = None
    website: Contact | None = None


UNREACHABLE = Contacts()


class Ownership(Enum):
    """Ownership of companies of a legal form, as far as the register shows it."""

    SOLE = 1
    PARTNERS = 2
    SHAREHOLDERS = 3
    GENERAL_PARTNER = 4
    CO_OWNERS = 5
    BODIES = 6


class FormerName(NamedTuple):
    name: str
    since: date
    until: date


class Standing(Enum):
    ACTIVE = 1
    BANKRUPT = 2
    LIQUIDATION = 3
    COMPULSORY = 4
    RECONSTRUCTION = 5
    ENDED = 6


class State(NamedTuple):
    """The standing of a company, the register's word for it if it has one, and since when."""

    standing: Standing
    text: str | None
    since: date


@dataclass(frozen=True, slots=True)
class Company:
    """One company as the generator knows it; the formats are made from this and nothing else.

    `index` says where it was drawn, so that more can be drawn about it.
    """

    index: int
    number: str
    name: str
    form: Form
    founded: date
    registered: date
    state: State
    address: Address | Abroad | None
    industries: tuple[Industry, ...]
    employees: int
    #: The person behind a sole trader.
    trader: Person | None = None
    former_names: tuple[FormerName, ...] = ()
    trade_names: tuple[str, ...] = ()
    postal: Address | None = None
    contacts: Contacts = UNREACHABLE
    #: Whole units of the country's currency.
    capital: int | None = None
    purpose: str | None = None
    protected: bool = False

    @property
    def corporate(self) -> "Corporate":
        return Corporate(self.number, self.name, self.form)

    @property
    def ended(self) -> date | None:
        return self.state.since if self.state.standing is Standing.ENDED else None

    def main_unit(self, number: str, industry: Industry) -> "Unit":
        """A unit at the company's own address, for as long as the company exists."""
        return Unit(
            number=number,
            name=self.name,
            address=self.address,
            industry=industry,
            employees=self.employees,
            started=self.founded,
            ended=self.ended,
            contacts=self.contacts,
        )


class Move(NamedTuple):
    """A unit came from another company on a day."""

    origin: str
    on: date


@dataclass(frozen=True, slots=True)
class Unit:
    """A place of business of a company."""

    number: str
    name: str
    address: Address | Abroad | None
    industry: Industry
    employees: int
    started: date
    ended: date | None = None
    contacts: Contacts = UNREACHABLE
    moved: Move | None = None


class Corporate(NamedTuple):
    """A company as others refer to it."""

    number: str
    name: str
    form: Form


class Owner(NamedTuple):
    """A person or a company that owns a company or answers for it.

    `share` and `votes` are decimal fractions, `1.0` for all of it; Danish registers keep them
    as the floor of an interval. `until` is set for an owner of the past.
    """

    holder: Person | Corporate
    since: date
    share: str | None = None
    votes: str | None = None
    until: date | None = None


class Identifier(NamedTuple):
    """An electronic address in an ISO 6523 scheme, such as `0192`."""

    scheme: str
    value: str
    registered: date
