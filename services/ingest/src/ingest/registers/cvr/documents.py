"""CVR documents as the register writes them, and their addresses."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Self

from pydantic import BeforeValidator, Field

from common.contracts.company import Address, CodedText, Country, Status
from ingest.records.fields import (
    Count,
    Document,
    Flag,
    Lines,
    Many,
    Moment,
    Text,
    cached_property,
    coded,
    country_code,
    each_once,
    first,
    phones,
    read_document,
    required,
)
from ingest.records.records import Raw, RecordRejected, SourceVersion
from ingest.records.text import (
    DANISH,
    care_of,
    free_address,
    is_unknown_town,
    on_one_line,
    town_line,
    without_accents,
)
from ingest.registers.cvr.codes import FAROESE_TOWNS
from ingest.registers.cvr.dated_values import (
    AsOf,
    Dated,
    State,
    Value,
    Word,
    is_retired,
    recorded_at,
    state_of,
)
from ingest.registers.cvr.decrees import CourtNotice


def _industry_code(value: object) -> object:
    return str(value).zfill(6) if type(value) is int else value


def _postal_code(value: object) -> object:
    return (str(value).zfill(4) if value else None) if type(value) is int else value


def _secrecy(value: object) -> object:
    return value not in (None, False, "N")


#: Anything but a clear no is a secret.
Secret = Annotated[bool, BeforeValidator(_secrecy)]


class Name(Dated):
    """A name, with its period."""

    navn: Text = None


class Contact(Dated):
    """A phone number, mail or web address, which may be secret."""

    kontaktoplysning: Text = None
    hemmelig: Secret = False


class Municipality(Document):
    """A municipality, by its code and its name."""

    kommune_kode: Text = None
    kommune_navn: Text = None


class CvrAddress(Dated):
    """An address in the register's parts, with its period."""

    landekode: Text = None
    fritekst: Lines = None
    vejnavn: Text = None
    husnummer_fra: Text = None
    husnummer_til: Text = None
    bogstav_fra: Text = None
    bogstav_til: Text = None
    etage: Text = None
    sidedoer: Text = None
    conavn: Text = None
    postboks: Text = None
    bynavn: Text = None
    postnummer: Annotated[Text, BeforeValidator(_postal_code)] = None
    postdistrikt: Text = None
    adresse_id: Text = None
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
    antal_ansatte: Count = None
    interval_kode_antal_ansatte: Text = None
    antal_aarsvaerk: Annotated[float | None, Field(ge=0)] = None
    interval_kode_antal_aarsvaerk: Text = None
    #: Of years alone.
    antal_inklusiv_ejere: Count = None
    interval_kode_antal_inklusiv_ejere: Text = None


class Metadata(Document):
    """The newest values according to CVR; used where the history is empty."""

    nyeste_navn: Name | None = None
    nyeste_beliggenhedsadresse: CvrAddress | None = None
    nyeste_hovedbranche: Industry | None = None
    nyeste_erst_maanedsbeskaeftigelse: Employment | None = None
    nyeste_maanedsbeskaeftigelse: Employment | None = None
    nyeste_kvartalsbeskaeftigelse: Employment | None = None
    nyeste_erst_aarsbeskaeftigelse: Employment | None = None
    nyeste_aarsbeskaeftigelse: Employment | None = None
    nyeste_status: CourtNotice | None = None
    sammensat_status: Text = None

    @property
    def counts(self) -> list[Employment]:
        """The newest numbers of employees: monthly before quarterly before yearly ones."""
        given = (
            self.nyeste_erst_maanedsbeskaeftigelse,
            self.nyeste_maanedsbeskaeftigelse,
            self.nyeste_kvartalsbeskaeftigelse,
            self.nyeste_erst_aarsbeskaeftigelse,
            self.nyeste_aarsbeskaeftigelse,
        )
        return [count for count in given if count is not None]


class CvrDocument(Document):
    """The common fields of a company and a production unit."""

    navne: Many[Name] = ()
    beliggenhedsadresse: Many[CvrAddress] = ()
    telefon_nummer: Many[Contact] = ()
    sekundaert_telefon_nummer: Many[Contact] = ()
    telefax_nummer: Many[Contact] = ()
    sekundaert_telefax_nummer: Many[Contact] = ()
    elektronisk_post: Many[Contact] = ()
    livsforloeb: Many[Dated] = ()
    hovedbranche: Many[Industry] = ()
    bibranche1: Many[Industry] = ()
    bibranche2: Many[Industry] = ()
    bibranche3: Many[Industry] = ()
    postadresse: Many[CvrAddress] = ()
    aarsbeskaeftigelse: Many[Employment] = ()
    erst_aarsbeskaeftigelse: Many[Employment] = ()
    kvartalsbeskaeftigelse: Many[Employment] = ()
    maanedsbeskaeftigelse: Many[Employment] = ()
    erst_maanedsbeskaeftigelse: Many[Employment] = ()
    #: None if the register does not say.
    reklamebeskyttet: Flag = None
    #: The register has withdrawn the document as an error.
    fejl_registreret: Flag = None
    sidst_opdateret: Moment = None
    sidst_indlaest: Moment = None

    @classmethod
    def read(cls, raw: Raw, today: date) -> Self:
        """Returns the document as of a day; raises RecordRejected."""
        document = read_document(cls, raw)
        # Where a cached property keeps its value: a private attribute takes ten times as long.
        vars(document)["as_of"] = AsOf(today)
        return document

    @cached_property
    def as_of(self) -> AsOf:
        """The day as of which it is read."""
        raise TypeError("a document without a day")

    @property
    @abstractmethod
    def newest(self) -> Metadata:
        """The metadata, which may be empty."""

    @property
    def words(self) -> tuple[Word, ...]:
        """The register's words for the status, the most significant first."""
        return (Word(self.newest.sammensat_status, "sammensatStatus"),)

    def insolvent(self, otherwise: State) -> State:
        """Returns the status by the notices of courts, or else `otherwise`."""
        return otherwise

    @cached_property
    def name(self) -> str:
        """The current name; raises RecordRejected if there is none."""
        newest = self.newest.nyeste_navn
        name = self.as_of.latest(self.navne, newest) or newest
        return required(None if name is None else name.navn, "navne")

    @property
    def former_names(self) -> tuple[str, ...]:
        """The names before the current one, newest first, each once."""
        if len(self.navne) < 2:
            return ()
        held = self.as_of.current(self.navne)
        since = held[0].since if held else None
        # Another that began with the current one, and has no end, was corrected.
        begun = [
            given
            for given in self.navne
            if self.as_of.has_begun(given) and not (given in held and given.since == since)
        ]
        begun.sort(key=lambda given: given.since or "", reverse=True)
        name = self.name
        return each_once(given.navn for given in begun if given.navn != name)

    @cached_property
    def address(self) -> CvrAddress | None:
        """The current address, or the newest one of the metadata."""
        newest = self.newest.nyeste_beliggenhedsadresse
        return self.as_of.latest(self.beliggenhedsadresse, newest) or newest

    @property
    def postal_address(self) -> CvrAddress | None:
        """The current postal address."""
        return first(self.current_or_last(self.postadresse))

    @property
    def industry(self) -> CodedText | None:
        """The current main industry, or the newest one of the metadata."""
        given = self.main_industry
        return None if given is None else given.public

    @cached_property
    def main_industry(self) -> Industry | None:
        """The current main industry with its period, or the newest one of the metadata."""
        newest = self.newest.nyeste_hovedbranche
        return self._industry(self.hovedbranche, newest) or newest

    @property
    def secondary_industries(self) -> tuple[CodedText, ...]:
        """The current further industries."""
        given = (self.bibranche1, self.bibranche2, self.bibranche3)
        industries = (self._industry(self.current_or_last(each)) for each in given if each)
        return each_once(industry.public for industry in industries if industry is not None)

    def _industry(
        self, given: Sequence[Industry], newest: Industry | None = None
    ) -> Industry | None:
        """Returns the current industry, of codes that begin on one day that of the newer list."""
        held = self.as_of.current(given)
        same_day = [one for one in held if one.since == held[0].since]
        if len(same_day) < 2:
            return held[0] if held else self.as_of.latest(given)
        code = None if newest is None else newest.branchekode
        return max(
            same_day,
            key=lambda one: (
                not is_retired(one.branchekode),
                recorded_at(one),
                one.branchekode == code,
            ),
        )

    @cached_property
    def state_by_words(self) -> State:
        """The status by the register's words and the life, without the notices of courts."""
        alive = [life.since for life in self.livsforloeb if self.as_of.is_alive(life)]
        living_since = max((since for since in alive if since), default=None)
        return state_of(self.words, ended=self.ended, living_since=living_since)

    @cached_property
    def state(self) -> State:
        """The public status, the register's own word for it, and since when it holds."""
        state = self.state_by_words
        if state.status is Status.ACTIVE:
            state = self.insolvent(state)
        if state.odd is not None:
            self.odd.append(state.odd)
        return state

    @property
    def dead(self) -> bool:
        """True if the company or unit has ended."""
        return self.state.status is Status.ENDED

    @cached_property
    def began(self) -> str | None:
        """The first day of its life; None if the register has none."""
        return min((life.since for life in self.livsforloeb if life.since), default=None)

    @cached_property
    def ended(self) -> str | None:
        """The last day of its life; None while it exists."""
        alive = [life for life in self.livsforloeb if self.as_of.is_alive(life)]
        ends = (
            life.until
            for life in self.livsforloeb
            if life.until is not None and life.until <= self.as_of.today
        )
        return None if alive else max(ends, default=None)

    @property
    def version(self) -> SourceVersion | None:
        """The time at which the register loaded the document, or else that of its last change.

        New counts of employees, and new names of participants, do not move the latter.
        """
        at = self.sidst_indlaest or self.sidst_opdateret
        return None if at is None else SourceVersion(at)

    def current_or_last(self, values: Sequence[Value]) -> Sequence[Value]:
        """Returns the current values, newest first; after its end, the last ones."""
        if not values:
            return values
        as_of = self.as_of
        if len(values) == 1 and as_of.is_current(values[0]):
            return values
        held = as_of.current(values)
        if held or not self.dead:
            return held
        over = as_of.past(values)
        return [value for value in over if value.until == over[0].until]

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

    @property
    def fax(self) -> str | None:
        """The first public fax number, digits without the calling code."""
        texts = self.contacts(self.telefax_nummer, self.sekundaert_telefax_nummer)
        return first(phones(texts[:1], Country.DK))


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


def public_address(given: CvrAddress | None) -> Address | None:
    """Returns the public form of an address; None if it is missing or empty."""
    if given is None:
        return None
    country = _country(given)
    postal_code, city = _known_town(given, country)
    road, free, town = _road(given), None, town_line(postal_code, city)
    if given.fritekst:
        # Beside a town it is a street; an address abroad has nothing else.
        is_whole = country not in (None, "DK") and not town
        free = free_address(given.fritekst, country or "DK", is_whole=is_whole)
        if is_whole:
            postal_code, city = free.postal_code, free.city
    written = ", ".join(part for part in (road, free and free.text) if part)
    co = _co(given)
    if not (co or written or given.bynavn or town):
        return None
    abroad = None if country in (None, "DK") else DANISH.get(country or "")
    is_said = abroad is not None and f"{written}{town}".casefold().endswith(abroad.casefold())
    kommune = given.kommune
    return Address(
        street=", ".join(part for part in (road, free and free.street) if part) or None,
        co=co or (free and free.co),
        postal_code=postal_code,
        city=city,
        district=given.bynavn,
        municipality=None if kommune is None else kommune.kommune_navn,
        municipality_code=None if kommune is None else kommune.kommune_kode,
        id=given.adresse_id,
        country=country,
        text=on_one_line(co, written, given.bynavn, town, None if is_said else abroad),
    )


def _country(given: CvrAddress) -> str | None:
    """Returns the country of an address: a Danish postal code may be one of Greenland or Faroe."""
    country, code = country_code(given.landekode), given.postnummer or ""
    if country != "DK":
        return country
    if code.startswith("39") and len(code) == 4:
        return "GL"
    if code.startswith("0") and without_accents(given.postdistrikt or "") in FAROESE_TOWNS:
        return "FO"
    return country


def _known_town(given: CvrAddress, country: str | None) -> tuple[str | None, str | None]:
    """Returns the postal code and the town, unless the register has only a word for unknown."""
    code, city = given.postnummer, given.postdistrikt
    if city is not None and is_unknown_town(city):
        return None, None
    if country == "FO" and code is not None and len(code) == 4:
        code = code.removeprefix("0")
    return code, city


def _road(given: CvrAddress) -> str | None:
    house = f"{given.husnummer_fra or ''}{given.bogstav_fra or ''}"
    last_house = f"{given.husnummer_til or ''}{given.bogstav_til or ''}"
    numbers = f"{house}-{last_house}" if house and last_house else house
    road = " ".join(part for part in (given.vejnavn, numbers) if part)
    box = given.postboks and f"Postboks {given.postboks.removeprefix('Postboks ')}"
    parts = (road, _floor_and_door(given), box)
    return ", ".join(part.strip(" ,") for part in parts if part and part.strip(" ,")) or None


def _floor_and_door(given: CvrAddress) -> str:
    floor = given.etage
    if floor and floor.isdigit():
        floor = floor.lstrip("0") or "0"
    return " ".join(part for part in (floor and f"{floor.rstrip('.')}.", given.sidedoer) if part)


def _co(given: CvrAddress) -> str | None:
    if given.conavn is None:
        return None
    named = care_of(given.conavn)
    return given.conavn if named is None else named or None
