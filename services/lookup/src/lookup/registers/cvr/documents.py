"""Common parts of companies and production units of the Danish register (CVR).

A CVR document contains the whole history: each value has a period, and the current one has no end.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, TypeVar

from pydantic import BeforeValidator

from common.contracts.company import CodedText, Country, Status
from lookup.records.fields import (
    Count,
    Day,
    Document,
    Flag,
    LastDay,
    Lines,
    Many,
    Moment,
    Text,
    Word,
    coded,
    phones,
    required,
)
from lookup.records.records import Raw, RecordRejected, SourceVersion
from lookup.registers.cvr.status import status_of


def _industry_code(value: object) -> object:
    return str(value).zfill(6) if type(value) is int else value


def _postal_code(value: object) -> object:
    return (str(value).zfill(4) if value else None) if type(value) is int else value


def _secrecy(value: object) -> object:
    return value not in (None, False, "N")


#: Anything but a clear no is a secret.
Secret = Annotated[bool, BeforeValidator(_secrecy)]


class Period(Document):
    """The first and the last day of a value; a current one has no last day."""

    gyldig_fra: Day = None
    gyldig_til: LastDay = None


class Dated(Document):
    """A value with the period in which it held."""

    periode: Period | None = None

    @property
    def since(self) -> str | None:
        """The first day of the value; None if unknown."""
        return None if self.periode is None else self.periode.gyldig_fra

    @property
    def until(self) -> str | None:
        """The last day of the value; None while it holds."""
        return None if self.periode is None else self.periode.gyldig_til


class Name(Dated):
    """A name, with its period."""

    navn: Text = None


class Contact(Dated):
    """A phone number, mail or web address, which may be secret."""

    kontaktoplysning: Word = None
    hemmelig: Secret = False


class Municipality(Document):
    """A municipality, by its name."""

    kommune_navn: Text = None


class CvrAddress(Dated):
    """An address in the register's parts, with its period."""

    landekode: Text = None
    fritekst: Lines = None
    vejnavn: Text = None
    husnummer_fra: Word = None
    husnummer_til: Word = None
    bogstav_fra: Text = None
    bogstav_til: Text = None
    etage: Word = None
    sidedoer: Word = None
    conavn: Text = None
    postboks: Word = None
    bynavn: Text = None
    postnummer: Annotated[Text, BeforeValidator(_postal_code)] = None
    postdistrikt: Text = None
    kommune: Municipality | None = None


class Industry(Dated):
    """An industry code with its text, and its period."""

    branchekode: Annotated[Text, BeforeValidator(_industry_code)] = None
    branchetekst: Text = None

    @property
    def public(self) -> CodedText | None:
        """The public form of the industry; None without a code."""
        return coded(self.branchekode, self.branchetekst)


class Employment(Document):
    """Number of employees in a year, quarter or month."""

    aar: Count | None = None
    kvartal: Count | None = None
    maaned: Count | None = None
    antal_ansatte: Count | None = None
    interval_kode_antal_ansatte: Text = None


Value = TypeVar("Value", bound=Dated)


def current(values: Sequence[Value]) -> list[Value]:
    """Returns the values without an end, the newest first."""
    lasting = [value for value in values if value.until is None]
    return sorted(lasting, key=lambda value: value.since or "", reverse=True)


def latest(values: Sequence[Value]) -> Value | None:
    """Returns the current value, or else the last one."""
    return max(
        values,
        key=lambda value: (value.until is None, value.until or "", value.since or ""),
        default=None,
    )


class Metadata(Document):
    """The newest values according to CVR; used where the history is empty."""

    nyeste_navn: Name | None = None
    nyeste_beliggenhedsadresse: CvrAddress | None = None
    nyeste_hovedbranche: Industry | None = None
    nyeste_erst_maanedsbeskaeftigelse: Employment | None = None
    nyeste_maanedsbeskaeftigelse: Employment | None = None
    nyeste_kvartalsbeskaeftigelse: Employment | None = None
    nyeste_aarsbeskaeftigelse: Employment | None = None
    sammensat_status: Text = None

    @property
    def counts(self) -> list[Employment]:
        """The newest numbers of employees: monthly before quarterly before yearly ones."""
        given = (
            self.nyeste_erst_maanedsbeskaeftigelse,
            self.nyeste_maanedsbeskaeftigelse,
            self.nyeste_kvartalsbeskaeftigelse,
            self.nyeste_aarsbeskaeftigelse,
        )
        return [count for count in given if count is not None]


class CvrDocument(Document):
    """The common fields of a company and a production unit."""

    navne: Many[Name] = ()
    beliggenhedsadresse: Many[CvrAddress] = ()
    telefon_nummer: Many[Contact] = ()
    sekundaert_telefon_nummer: Many[Contact] = ()
    elektronisk_post: Many[Contact] = ()
    livsforloeb: Many[Dated] = ()
    hovedbranche: Many[Industry] = ()
    aarsbeskaeftigelse: Many[Employment] = ()
    kvartalsbeskaeftigelse: Many[Employment] = ()
    maanedsbeskaeftigelse: Many[Employment] = ()
    erst_maanedsbeskaeftigelse: Many[Employment] = ()
    #: The register has withdrawn the document as an error.
    fejl_registreret: Flag = None
    sidst_opdateret: Moment = None
    sidst_indlaest: Moment = None

    @property
    @abstractmethod
    def newest(self) -> Metadata:
        """The metadata, which may be empty."""

    @property
    def words(self) -> tuple[str | None, ...]:
        """The register's words for the status, the most significant first."""
        return (self.newest.sammensat_status,)

    @property
    def name(self) -> str:
        """The current name; raises RecordRejected if there is none."""
        name = latest(self.navne) or self.newest.nyeste_navn
        return required(None if name is None else name.navn, "navne")

    @property
    def address(self) -> CvrAddress | None:
        """The current address, or the newest one of the metadata."""
        return latest(self.beliggenhedsadresse) or self.newest.nyeste_beliggenhedsadresse

    @property
    def industry(self) -> CodedText | None:
        """The current main industry, or the newest one of the metadata."""
        given = latest(self.hovedbranche) or self.newest.nyeste_hovedbranche
        return None if given is None else given.public

    @cached_property
    def state(self) -> tuple[Status, str | None]:
        """The public status, and the register's own word for it."""
        return status_of(*self.words, ended=self.ended is not None)

    @property
    def dead(self) -> bool:
        """True if the company or unit has ended."""
        return self.state[0] is Status.ENDED

    @property
    def began(self) -> str | None:
        """The first day of its life; None if the register has none."""
        return min((life.since for life in self.livsforloeb if life.since), default=None)

    @property
    def ended(self) -> str | None:
        """The last day of its life; None while it exists."""
        last = latest(self.livsforloeb)
        return None if last is None else last.until

    @property
    def version(self) -> SourceVersion | None:
        """The time at which the register loaded the document, or else that of its last change.

        New counts of employees, and new names of participants, do not move the latter.
        """
        at = self.sidst_indlaest or self.sidst_opdateret
        return None if at is None else SourceVersion(at)

    def current_or_last(self, values: Sequence[Value]) -> list[Value]:
        """Returns the current values, newest first; after its end, the last ones."""
        held = current(values)
        if held or not self.dead:
            return held
        end = max((value.until or "" for value in values), default="")
        return [value for value in values if value.until == end]

    def contacts(self, *given: Sequence[Contact]) -> list[str]:
        """Returns public values; if the current one is secret, no older one replaces it."""
        return [
            contact.kontaktoplysning
            for contacts in given
            for contact in self.current_or_last(contacts)
            if contact.kontaktoplysning and not contact.hemmelig
        ]

    @cached_property
    def phones(self) -> tuple[str, ...]:
        """The public phone numbers, each once, digits without the calling code."""
        texts = self.contacts(self.telefon_nummer, self.sekundaert_telefon_nummer)
        return phones(texts, Country.DK)


def unwrapped(raw: Raw, document: str, number: str) -> Raw:
    """Returns the document inside a search hit, or under its own name (`Vrvirksomhed`).

    Raises RecordRejected if there is no such document.
    """
    found = raw
    for wrapping in ("_source", document):
        inner = found.get(wrapping, found)
        if not isinstance(inner, dict):
            raise RecordRejected(f"{wrapping}: not an object")
        found = inner
    if number not in found:
        raise RecordRejected(f"{document}.{number}: missing")
    return found
