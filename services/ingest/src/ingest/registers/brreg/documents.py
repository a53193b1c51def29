"""Documents of the Norwegian register (Brønnøysund): what entities and units share, and units.

The same models read the bulk files of 2022 and 2026, the responses of the interface, and the rows
of the CSV files, whose columns are the dotted paths of the JSON.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Final

from pydantic import AliasChoices, BeforeValidator, Field

from common.contracts.company import (
    Address,
    CodedText,
    CompanyKey,
    Country,
    Employees,
    LegalForm,
    ProductionUnit,
    Status,
    UnitKey,
    VoluntaryVat,
)
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from ingest.records.fields import (
    Count,
    Day,
    Document,
    Flag,
    Many,
    Text,
    cached_property,
    coded,
    country_code,
    digits,
    each_once,
    first,
    legal_form,
    none_as_empty,
    phones,
    read_document,
    required,
)
from ingest.records.records import Raw, RecordRejected, UnitRecord
from ingest.records.tables import Dialect
from ingest.records.text import care_of, on_one_line, town_abroad, town_line
from register_store.documents import dump

DIALECT = Dialect(
    encoding="utf-8",
    first_column=b"organisasjonsnummer",
)

#: The organisation forms of units: places of business, and others.
UNIT_FORMS = {"BEDR", "AAFY"}

#: The members that tell each field that companies and units have.
TOLD_BY: Final[Mapping[str, Sequence[str]]] = {
    "former_names": ("historiskeNavn",),
    "postal_address": ("postadresse",),
    "phone": ("telefon", "mobil"),
    "phones": ("telefon", "mobil"),
    "email": ("epostadresse",),
    "website": ("hjemmeside",),
    "industry": ("naeringskode1",),
    "secondary_industries": ("naeringskode2", "naeringskode3"),
    "employees": ("antallAnsatte", "harRegistrertAntallAnsatte"),
    # Older files have what it is for alone.
    "voluntary_vat": ("registreringsdatoFrivilligMerverdiavgiftsregisteret",),
    "vat_registered": ("registrertIMvaregisteret", "registrertIMvaRegisteret"),
    "vat_registered_since": (
        "registreringsdatoMerverdiavgiftsregisteret",
        "registreringsdatoFrivilligMerverdiavgiftsregisteret",
        "registreringsdatoMerverdiavgiftsregisteretEnhetsregisteret",
    ),
}
#: The ones that came after 2022.
ADDED: Final = (
    *("former_names", "phone", "phones", "email", "voluntary_vat"),
    "vat_registered_since",
)

#: Codes of organisation forms that people write behind a name; the others are only codes.
_ABBREVIATIONS: Final = frozenset(
    ("ANS", "AS", "ASA", "BA", "BBL", "DA", "ENK", "FKF", "IKS", "KF", "KS", "NUF", "SA")
) | {"SE", "SF"}

#: Where a line of an address ends in a CSV cell; the files of 2024 have `/n` there.
_LINE_END: Final = re.compile(r"\n|/n(?=c/o\b|[^a-zæøå\s])|, ")

#: The class of a document in the present format; that of a deleted one has little but its end.
_CLASS: Final = "respons_klasse"
_DELETED: Final = "Slettet"
_REGISTERED: Final = "registreringsdatoEnhetsregisteret"
#: Members of every JSON document; rows of CSV files have none of them.
_LINKS: Final = frozenset(("links", "_links"))
#: A cell of the CSV files tells only whether there are remarks.
_REMARKS: Final = "paategninger"


def as_list(value: object) -> object:
    """Returns a text as a list of one, before a list is validated; a CSV cell has it so."""
    return (value,) if isinstance(value, str) else none_as_empty(value)


def _split(value: object) -> object:
    return _LINE_END.split(value) if isinstance(value, str) else none_as_empty(value)


_LINE_TYPES: Final = {str, type(None)}


def _joined_lines(value: object) -> object:
    """Returns the lines of a text as one; a CSV cell has them so."""
    if isinstance(value, list) and {type(line) for line in value} <= _LINE_TYPES:
        return " ".join(line.strip() for line in value if line)
    return value


OrganisationNumber = Annotated[str, digits(FORMATS[Country.NO].vat_digits)]
TextLines = Annotated[tuple[Text, ...], BeforeValidator(_split)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(as_list)]
#: A text of several lines.
Prose = Annotated[Text, BeforeValidator(_joined_lines)] | None


class Coded(Document):
    """A code of the register with its description."""

    kode: Text = None
    beskrivelse: Text = None


def public_code(given: Coded | None) -> CodedText | None:
    """Returns the public form of a code; None without one."""
    return None if given is None else coded(given.kode, given.beskrivelse)


class BrregAddress(Document):
    """An address as the register writes it."""

    adresse: TextLines = ()
    postnummer: Text = None
    poststed: Text = None
    kommune: Text = None
    kommunenummer: Text = None
    land: Text = None
    landkode: Text = None


class FormerName(Document):
    """An earlier name, with its first and last day."""

    navn: Text = None
    fra_dato: Day = None
    til_dato: Day = None


class BrregDocument(Document):
    """The common fields of an entity and a unit."""

    organisasjonsnummer: OrganisationNumber
    navn: Text = None
    historiske_navn: Many[FormerName] = ()
    organisasjonsform: Coded | None = None
    postadresse: BrregAddress | None = None
    naeringskode1: Coded | None = None
    naeringskode2: Coded | None = None
    naeringskode3: Coded | None = None
    hjelpeenhetskode: Coded | None = None
    antall_ansatte: Count | None = None
    har_registrert_antall_ansatte: Flag = None
    #: The day on which the employees were counted in the register of employment.
    telt: Annotated[
        Day,
        Field(
            validation_alias=AliasChoices(
                "registreringsdatoAntallAnsatteNAVAaregisteret",
                "registreringsdatoantallansatteNAVAaregisteret",
                "registreringsdatoAntallAnsatteNavAaregisteret",
            )
        ),
    ] = None
    telefon: Text = None
    mobil: Text = None
    epostadresse: Text = None
    hjemmeside: Text = None
    #: The CSV files spell it in lower case, those of units of 2024 in one more way.
    registreringsdato: Annotated[
        Day,
        Field(
            validation_alias=AliasChoices(
                "registreringsdatoEnhetsregisteret",
                "registreringsdatoenhetsregisteret",
                "registreringsdatoIEnhetsregisteret",
            )
        ),
    ] = None
    registrert_i_mvaregisteret: Annotated[
        Flag,
        Field(
            validation_alias=AliasChoices("registrertIMvaregisteret", "registrertIMvaRegisteret")
        ),
    ] = None
    frivillig_mva_registrert_beskrivelser: Texts = ()
    registreringsdato_merverdiavgiftsregisteret: Day = None
    registreringsdato_frivillig_merverdiavgiftsregisteret: Day = None
    registreringsdato_merverdiavgiftsregisteret_enhetsregisteret: Day = None
    slettedato: Day = None

    @cached_property
    def phones(self) -> tuple[str, ...]:
        """The landline before the mobile: digits without the calling code."""
        return phones((self.telefon, self.mobil), Country.NO)

    @property
    def vat_since(self) -> str | None:
        """The day of its registration for VAT; else that of its entry here."""
        return (
            self.registreringsdato_merverdiavgiftsregisteret
            or self.registreringsdato_frivillig_merverdiavgiftsregisteret
            or self.registreringsdato_merverdiavgiftsregisteret_enhetsregisteret
        )

    @cached_property
    def form(self) -> LegalForm | None:
        """The organisation form, with its code as abbreviation if people write it."""
        given = self.organisasjonsform
        if given is None:
            return None
        short = given.kode if given.kode in _ABBREVIATIONS else None
        return legal_form(given.kode, given.beskrivelse, short)

    @property
    def industry(self) -> CodedText | None:
        """The main industry."""
        return public_code(self.naeringskode1)

    @property
    def secondary_industries(self) -> tuple[CodedText, ...]:
        """The further industries; that of a unit that serves its own group is one of them."""
        given = (self.naeringskode2, self.naeringskode3, self.hjelpeenhetskode)
        return each_once(map(public_code, given)) if any(given) else ()

    @property
    def employees(self) -> Employees | None:
        """The exact number; 1 to 4 if the register withholds it, as it does since 2026."""
        if self.antall_ansatte is not None or self.har_registrert_antall_ansatte:
            return _employees(self.antall_ansatte, self.telt)
        return None

    @property
    def voluntary_vat(self) -> VoluntaryVat | None:
        """The voluntary registration for VAT; None without one."""
        since = self.registreringsdato_frivillig_merverdiavgiftsregisteret
        given = self.frivillig_mva_registrert_beskrivelser
        if since is None and not given:
            return None
        return VoluntaryVat(activities=each_once(given), since=since)

    def former_names(self, today: str) -> tuple[str, ...]:
        """Returns the names that the holder no longer has, newest first, each once."""
        if not self.historiske_navn:
            return ()
        former = [
            old
            for old in self.historiske_navn
            if old.navn != self.navn and (old.til_dato or "") <= today
        ]
        former.sort(key=lambda old: (old.til_dato or "", old.fra_dato or ""), reverse=True)
        return each_once(old.navn for old in former)

    def past_names(self, today: str) -> Sequence[tuple[str, str, str]]:
        """Returns the names with their first days, the present one last; none if it is the only."""
        if not self.historiske_navn:
            return ()
        begun = sorted(
            (old.fra_dato, old.til_dato or "", old.navn)
            for old in self.historiske_navn
            if old.navn is not None and old.fra_dato is not None and old.fra_dato <= today
        )
        # Of names that begin on one day the last one counts, and two periods of one name are one.
        days = {since: name for since, _, name in begun}
        ends = [old.til_dato for old in self.historiske_navn if old.til_dato is not None]
        if self.navn is not None and ends and max(ends) <= today:
            days[max(ends)] = self.navn
        found: list[tuple[str, str, str]] = []
        for day, name in days.items():
            if not found or found[-1][2] != name:
                found.append((day, "name", name))
        return found if len(found) > 1 else ()


@lru_cache(8192)
def _employees(count: int | None, as_of: str | None) -> Employees:
    if count is None:
        return Employees(min=1, max=4, as_of=as_of)
    return Employees(min=count, max=count, exact=count, as_of=as_of)


def public_address(given: BrregAddress | None) -> Address | None:
    """Returns the public form of an address; None if it is missing or empty."""
    if given is None:
        return None
    lines = [line for line in given.adresse if line]
    with_co = "/" in "".join(lines)
    co, street = _without_care_of(lines) if with_co else (None, _joined(lines))
    country = country_code(given.landkode)
    town = town_line(given.postnummer, given.poststed)
    abroad = None if country == "NO" else given.land
    text = on_one_line(co, street, None, town, abroad)
    if not text:
        return None
    postal_code, city = given.postnummer, given.poststed
    if city and postal_code is None and country and country != "NO":
        postal_code, city = town_abroad(city, country)
    return Address(
        street=street,
        co=co,
        postal_code=postal_code,
        city=city,
        municipality=given.kommune,
        municipality_code=given.kommunenummer,
        country=country,
        text=text,
    )


def _without_care_of(lines: list[str]) -> tuple[str | None, str | None]:
    """Returns the addressee, and the lines of the address itself.

    `c/o` may be alone on the line above the name, and the only line may contain name and street.
    """
    named: list[str] = []
    others: list[str] = []
    rest = iter(lines)
    for line in rest:
        name = care_of(line)
        if name is None:
            others.append(line)
        elif name:
            named.append(name)
        else:
            named.extend(islice(rest, 1))
    if len(lines) == 1 and named:
        name, _, street = named[0].partition(", ")
        named, others = [name], [street]
    return _joined(named), _joined(others)


def _joined(lines: list[str]) -> str | None:
    return ", ".join([line.strip(" ,") for line in lines]) or None


def next_day(days: Iterable[str | None], today: str) -> date | None:
    """Returns the first of the days after today; None if there is none."""
    later = [day for day in days if day and day > today]
    return date.fromisoformat(min(later)) if later else None


def is_deleted(raw: Raw) -> bool:
    """Returns True for a deleted entity or unit: little but its name and its end is left.

    Before it was a class of its own, only the members that every other document has were missing.
    """
    if str(raw.get(_CLASS)).startswith(_DELETED):
        return True
    return bool(raw.get("slettedato")) and _REGISTERED not in raw


def untold(
    raw: Raw, told_by: Mapping[str, Sequence[str]], added: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    """Returns the public fields that a document's source cannot tell.

    `told_by` has the members that tell a field. JSON omits an empty member, so its absence tells
    that it is empty, unless the file is older than the member: `added` has the fields that came
    after 2022, by a member that every document has since then. A row has every column of its file,
    and a deleted document lacks what the register still knows.
    """
    if is_deleted(raw) or raw.keys().isdisjoint(_LINKS):
        asked: Iterable[str] = told_by
    else:
        asked = [name for marker, names in added.items() if marker not in raw for name in names]
    return frozenset(name for name in asked if raw.keys().isdisjoint(told_by[name]))


@lru_cache(1024)
def _path_of(column: str) -> tuple[Sequence[str], str]:
    """Returns the members that a column's cell is in, from without, and its own."""
    *path, name = column.split(".")
    return path, name


def from_row(row: Raw) -> Raw:
    """Returns the document of a CSV row, in which the members of empty cells are null.

    Raises RecordRejected.
    """
    document: dict[str, Any] = {}
    for column, cell in row.items():
        path, name = _path_of(column)
        if not cell:
            document.setdefault(path[0] if path else name)
            continue
        target = document
        for step in path:
            target[step] = target.get(step) or {}
            target = target[step]
            if not isinstance(target, dict):
                raise RecordRejected(f"{column}: another column contradicts it")
        target[name] = cell
    if document.get(_REMARKS) is not None and document.pop(_REMARKS) == "false":
        document[_REMARKS] = []
    return document


#: The members that tell each field of `ProductionUnit`, and its company.
_TOLD_BY: Final = {
    **TOLD_BY,
    "company": ("overordnetEnhet",),
    "address": ("beliggenhetsadresse",),
    "started": ("oppstartsdato",),
    "registered": ("registreringsdatoEnhetsregisteret", "registreringsdatoIEnhetsregisteret"),
    "owner_changed": ("datoEierskifte",),
}
#: The fields that came after 2022, by a member that every document has since then.
_ADDED: Final = {"respons_klasse": ADDED}


class Unit(BrregDocument):
    """A production unit (`underenhet`) as the register writes it."""

    overordnet_enhet: OrganisationNumber | None = None
    beliggenhetsadresse: BrregAddress | None = None
    oppstartsdato: Day = None
    dato_eierskifte: Day = None
    nedleggelsesdato: Day = None


def unit_record(raw: Raw, today: date) -> UnitRecord:
    """Returns the record of a unit's document on a day; raises RecordRejected."""
    unit = read_document(Unit, raw)
    if unit.form is not None and unit.form.code not in UNIT_FORMS:
        raise RecordRejected(
            f"organisasjonsform.kode: {unit.form.code} is an entity's, not a unit's"
        )
    owner = unit.overordnet_enhet
    return UnitRecord(
        UnitKey(Country.NO, unit.organisasjonsnummer),
        None if owner is None else CompanyKey(Country.NO, owner),
        dump(_production_unit(unit, today.isoformat(), deleted=is_deleted(raw))),
        searchable_phones(unit.phones, Country.NO),
        next_day=next_day(
            (
                unit.nedleggelsesdato,
                unit.slettedato,
                *(name.til_dato for name in unit.historiske_navn),
            ),
            today.isoformat(),
        ),
        unknown=untold(raw, _TOLD_BY, _ADDED),
        odd=each_once(unit.odd),
    )


def _production_unit(unit: Unit, today: str, *, deleted: bool) -> ProductionUnit:
    days = (unit.nedleggelsesdato, unit.slettedato)
    ended = first([day for day in days if day is not None and day <= today])
    return ProductionUnit(
        number=unit.organisasjonsnummer,
        name=required(unit.navn, "navn"),
        former_names=unit.former_names(today),
        status=Status.ENDED if ended or deleted else Status.ACTIVE,
        address=public_address(unit.beliggenhetsadresse),
        postal_address=public_address(unit.postadresse),
        phone=first(unit.phones),
        phones=unit.phones,
        email=unit.epostadresse,
        website=unit.hjemmeside,
        industry=unit.industry,
        secondary_industries=unit.secondary_industries,
        employees=unit.employees,
        started=unit.oppstartsdato,
        ended=ended,
        registered=unit.registreringsdato,
        owner_changed=unit.dato_eierskifte,
        vat_registered=unit.registrert_i_mvaregisteret,
        voluntary_vat=unit.voluntary_vat,
        vat_registered_since=None if unit.registrert_i_mvaregisteret is False else unit.vat_since,
    )
