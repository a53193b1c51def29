"""CVR documents become records of companies and production units."""

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, date
from functools import partial
from typing import Annotated, Final

from common.contracts.company import (
    Capital,
    Company,
    CompanyKey,
    Country,
    Employees,
    FinancialYear,
    FullTimeEquivalents,
    LegalForm,
    ProductionUnit,
    Restructuring,
    RestructuringType,
    UnitKey,
)
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from ingest.records.fields import (
    Day,
    Document,
    Many,
    Text,
    amount_of,
    cached_property,
    digits,
    each_once,
    first,
    legal_form,
    phones,
)
from ingest.records.records import CompanyRecord, Raw, RegisteredInError, UnitRecord
from ingest.registers.cvr.dated_values import (
    AsOf,
    Dated,
    Past,
    State,
    Word,
    past_values,
    state_by_decree,
)
from ingest.registers.cvr.documents import (
    Contact,
    CvrAddress,
    CvrDocument,
    Employment,
    Insolvency,
    Metadata,
    Name,
    public_address,
    unwrapped,
)
from ingest.registers.cvr.owners import Attribute, AttributeValue, Participants, Relation, values_of
from register_store.documents import dump

#: `ANTAL_20_49`; an open class is `ANTAL_1000_`, in some extracts `ANTAL_1000_999999`.
_INTERVAL = re.compile(r"ANTAL_(\d+)_(\d*)")
_NO_LIMIT = 999_999


def employees_of(document: CvrDocument) -> Employees | None:
    """Returns the newest count, of the metadata if the history has none; None without any.

    Of counts up to the same month, the one of the shorter period is more precise.
    """
    counts = [
        *document.erst_maanedsbeskaeftigelse,
        *document.maanedsbeskaeftigelse,
        *document.kvartalsbeskaeftigelse,
        *document.erst_aarsbeskaeftigelse,
        *document.aarsbeskaeftigelse,
    ] or document.newest.counts
    for count in sorted(counts, key=_last_month, reverse=True):
        employees = _employees(count)
        if employees is not None:
            return employees
    return None


def _last_month(count: Employment) -> tuple[int, int]:
    if count.maaned is not None:
        return count.aar or 0, count.maaned
    return count.aar or 0, 12 if count.kvartal is None else count.kvartal * 3


def _employees(count: Employment) -> Employees | None:
    number = _number(count.interval_kode_antal_ansatte, count.antal_ansatte)
    if number is None:
        return None
    exact = None if count.antal_aarsvaerk is None else round(count.antal_aarsvaerk)
    full_time = _number(count.interval_kode_antal_aarsvaerk, exact)
    return Employees(
        **number,
        full_time_equivalents=None if full_time is None else FullTimeEquivalents(**full_time),
        as_of=_last_day(count),
    )


def _number(code: str | None, exact: int | None) -> dict[str, int | None] | None:
    """Returns the bounds of a class and the exact number; None without either."""
    interval = _INTERVAL.fullmatch(code or "")
    if interval is None:
        return None if exact is None else {"min": exact, "max": exact, "exact": exact}
    most = int(interval[2]) if interval[2] else _NO_LIMIT
    bounds = {"min": int(interval[1]), "max": None if most >= _NO_LIMIT else most}
    return {**bounds, "exact": exact}


def _last_day(count: Employment) -> str | None:
    """Returns the last day of the month, quarter or year that was counted."""
    year, month = _last_month(count)
    if not MINYEAR <= year <= MAXYEAR or not 1 <= month <= 12:
        return None
    return f"{year:04}-{month:02}-{monthrange(year, month)[1]:02}"


class Reorganisation(Document):
    """A merger or demerger in which a company took part."""

    organisations_navn: Many[Name] = ()
    indgaaende: Many[Attribute] = ()
    udgaaende: Many[Attribute] = ()


def restructurings(
    type_: RestructuringType, given: Sequence[Reorganisation], as_of: AsOf, *, ended: bool
) -> tuple[tuple[Restructuring, ...], tuple[Restructuring, ...]]:
    """Returns those into which the company went, and those out of which it came, oldest first.

    A company that still exists after a merger continues the others, whatever its part is called.
    """
    into: list[Restructuring] = []
    out_of: list[Restructuring] = []
    for one in given:
        parts = values_of((*one.indgaaende, *one.udgaaende), "FUNKTION")
        dated = first(parts) or first(one.organisations_navn)
        if dated is None or not as_of.has_begun(dated):
            continue
        went_in = bool(one.indgaaende and not one.udgaaende)
        gone = went_in and (ended or type_ is RestructuringType.DEMERGER)
        (into if gone else out_of).append(Restructuring(type=type_, date=dated.since))
    return _by_date(into), _by_date(out_of)


def _by_date(found: Sequence[Restructuring]) -> tuple[Restructuring, ...]:
    return tuple(sorted(found, key=lambda one: one.date or ""))


#: The abbreviations that the register writes otherwise than companies do.
_SHORT: Final = {
    "APS": "ApS",
    "KAS": "P/S",
    "E/S": "SE",
    "ABA": "A.M.B.A.",
    "FMA": "F.M.B.A.",
    "SMA": "S.M.B.A.",
}
#: The code of a decree's end.
_LIFTED: Final = "2"
_MONTH_AND_DAY: Final = re.compile(r"-{0,2}(\d{2}-\d{2})")


class CompanyForm(Dated):
    """A legal form of a company, with its period."""

    virksomhedsformkode: Text = None
    kort_beskrivelse: Text = None
    lang_beskrivelse: Text = None

    @property
    def public(self) -> LegalForm | None:
        """The public form of the legal form; None without a code."""
        short = self.kort_beskrivelse and _SHORT.get(self.kort_beskrivelse, self.kort_beskrivelse)
        return legal_form(self.virksomhedsformkode, self.lang_beskrivelse, short)


class StatusWord(Dated):
    """A status of a company in the register's own word, with its period."""

    status: Text = None


class ListedUnit(Dated):
    """A production unit that a company lists, with its period."""

    p_nummer: Text = None


class CompanyMetadata(Metadata):
    """The newest values of a company."""

    nyeste_virksomhedsform: CompanyForm | None = None
    nyeste_binavne: Many[Text] = ()
    stiftelses_dato: Day = None


class CvrCompany(CvrDocument):
    """A company (`Vrvirksomhed`) as the register writes it."""

    cvr_nummer: Annotated[str, digits(FORMATS[Country.DK].vat_digits)]
    binavne: Many[Name] = ()
    hjemmeside: Many[Contact] = ()
    telefax_nummer: Many[Contact] = ()
    sekundaert_telefax_nummer: Many[Contact] = ()
    status: Many[Insolvency] = ()
    virksomhedsstatus: Many[StatusWord] = ()
    virksomhedsform: Many[CompanyForm] = ()
    attributter: Many[Attribute] = ()
    penheder: Many[ListedUnit] = ()
    #: Absent if the documents were requested without it.
    deltager_relation: Many[Relation] | None = None
    fusioner: Many[Reorganisation] = ()
    spaltninger: Many[Reorganisation] = ()
    virksomhed_metadata: CompanyMetadata | None = None

    @property
    def newest(self) -> CompanyMetadata:
        """The metadata, which may be empty."""
        return self.virksomhed_metadata or CompanyMetadata()

    @property
    def words(self) -> tuple[Word, ...]:
        """The register's words for the status: that of its history before a mere summary.

        A word of the history that is over counts last, except after the company's end.
        """
        found = self.as_of.latest(self.virksomhedsstatus)
        if found is None:
            return super().words
        word = Word(found.status, "virksomhedsstatus.status", found.since)
        is_present = self.ended is not None or self.as_of.is_current(found)
        return (word, *super().words) if is_present else (*super().words, word)

    @property
    def insolvency(self) -> State | None:
        """The status by the newest decree of a court that is in force."""
        newest = self.newest.nyeste_status
        found = self.as_of.current(self.status or ((newest,) if newest else ()))
        decrees = [decree for decree in found if decree.since == found[0].since]
        if not decrees or any(decree.statuskode == _LIFTED for decree in decrees):
            return None
        decree = decrees[0]
        return state_by_decree(
            decree.kreditoplysningkode, decree.kreditoplysningtekst, decree.since
        )

    @cached_property
    def form(self) -> CompanyForm | None:
        """The current legal form."""
        return self.as_of.latest(self.virksomhedsform) or self.newest.nyeste_virksomhedsform

    @cached_property
    def participants(self) -> Participants | None:
        """The participants; None if the document was requested without them."""
        if self.deltager_relation is None:
            return None
        form = None if self.form is None else self.form.virksomhedsformkode
        return Participants.of(self.deltager_relation, form, self.as_of, self.odd)

    @cached_property
    def _attributes(self) -> Mapping[str, Sequence[AttributeValue]]:
        """The values of the attributes by their type."""
        found: dict[str, list[AttributeValue]] = {}
        for each in self.attributter:
            found.setdefault(each.type or "", []).extend(each.vaerdier)
        return found

    def attribute(self, type_: str) -> str | None:
        """Returns the value of an attribute."""
        value = first(self.current_or_last(self._attributes.get(type_, ())))
        return None if value is None else value.vaerdi

    def flag(self, type_: str) -> bool | None:
        """Returns the value of an attribute that is true or false; None if there is none."""
        text = self.attribute(type_)
        if text is not None and text.lower() not in ("true", "false"):
            self.odd.append(f"attributter.{type_}")
            return None
        return None if text is None else text.lower() == "true"

    def day(self, type_: str) -> str | None:
        """Returns the value of an attribute that is a date; None if there is none."""
        text = self.attribute(type_)
        try:
            return None if text is None else date.fromisoformat(text[:10]).isoformat()
        except ValueError:
            self.odd.append(f"attributter.{type_}")
            return None


def company_record(raw: Raw, today: date) -> CompanyRecord | RegisteredInError:
    """Returns the record of a company's document; raises RecordRejected."""
    company = CvrCompany.read(unwrapped(raw, "Vrvirksomhed", "cvrNummer"), today)
    if company.fejl_registreret:
        return RegisteredInError(CompanyKey(Country.DK, company.cvr_nummer), company.version)
    participants = company.participants
    public = _company(company)
    # By number, since their order in the document has no meaning.
    listed = company.as_of.current(company.penheder)
    numbers = sorted({unit.p_nummer for unit in listed if unit.p_nummer})
    owners = None if participants is None else participants.owners()
    roles = None if participants is None else participants.roles()
    past = _past(company)
    # Odd values and the next day are known once everything has been read.
    return CompanyRecord.of(
        public,
        phones=searchable_phones(company.phones, Country.DK),
        units=tuple(UnitKey(Country.DK, number) for number in numbers),
        owners=owners,
        roles=roles,
        version=company.version,
        updated_at=company.sidst_opdateret,
        past=past,
        next_day=company.as_of.next_day,
        odd=company.odd,
    )


def _on_one_line(given: CvrAddress) -> str | None:
    address = public_address(given)
    return None if address is None else address.text


def _past(company: CvrCompany) -> list[Past]:
    of_field = partial(past_values, as_of=company.as_of)
    return [
        *of_field("name", company.navne, lambda one: one.navn),
        *of_field("address.text", company.beliggenhedsadresse, _on_one_line),
        *of_field("form.description", company.virksomhedsform, lambda one: one.lang_beskrivelse),
        *of_field("status_text", company.virksomhedsstatus, lambda one: one.status),
        *of_field("industry.description", company.hovedbranche, lambda one: one.branchetekst),
    ]


def _company(company: CvrCompany) -> Company:
    name, state, participants = company.name, company.state, company.participants
    is_over = company.ended is not None
    faxes = company.contacts(company.telefax_nummer, company.sekundaert_telefax_nummer)
    merged, demerged = (
        restructurings(type_, given, company.as_of, ended=is_over)
        for type_, given in (
            (RestructuringType.MERGER, company.fusioner),
            (RestructuringType.DEMERGER, company.spaltninger),
        )
    )
    return Company(
        country=Country.DK,
        vat=company.cvr_nummer,
        name=name,
        trade_names=_trade_names(company, name),
        former_names=company.former_names,
        status=state.status,
        status_text=state.text,
        status_since=state.since,
        form=None if company.form is None else company.form.public,
        address=public_address(company.address),
        postal_address=public_address(company.postal_address),
        phone=first(company.phones),
        phones=company.phones,
        fax=first(phones(faxes[:1], Country.DK)),
        email=first(company.contacts(company.elektronisk_post)),
        website=first(company.contacts(company.hjemmeside)),
        industry=company.industry,
        secondary_industries=company.secondary_industries,
        employees=employees_of(company),
        founded=company.began or company.newest.stiftelses_dato,
        ended=company.ended,
        capital=_capital(company),
        purpose=company.attribute("FORMÅL"),
        signing_rule=company.attribute("TEGNINGSREGEL"),
        audit_waived=company.flag("REVISION_FRAVALGT"),
        financial_year=_financial_year(company),
        articles_dated=company.day("VEDTÆGT_SENESTE"),
        listed=company.flag("BØRSNOTERET"),
        founders=None if participants is None else participants.founders(),
        merged_into=(*merged[0], *demerged[0]),
        merged_from=(*merged[1], *demerged[1]),
        parent=None if participants is None else participants.parent(),
        advertising_protected=company.reklamebeskyttet,
    )


def _trade_names(company: CvrCompany, name: str) -> tuple[str, ...]:
    names = [given.navn for given in company.current_or_last(company.binavne)]
    if not company.binavne:
        names = list(company.newest.nyeste_binavne)
    return each_once(given for given in names if given != name)


def _capital(company: CvrCompany) -> Capital | None:
    try:
        amount = amount_of(company.attribute("KAPITAL"))
    except ValueError:
        company.odd.append("attributter.KAPITAL")
        return None
    if amount is None:
        return None
    return Capital(amount=amount, currency=company.attribute("KAPITALVALUTA") or "DKK")


def _financial_year(company: CvrCompany) -> FinancialYear | None:
    """Returns the first and the last day of the financial year (`--01-01`, `--12-31`)."""
    days = [company.attribute(f"REGNSKABSÅR_{end}") for end in ("START", "SLUT")]
    found = [_MONTH_AND_DAY.fullmatch(day) for day in days if day]
    if any(day is None for day in found):
        company.odd.append("attributter.REGNSKABSÅR")
    start, end = [day and day[1] for day in found] if len(found) == len(days) else (None, None)
    return FinancialYear(start=start, end=end) if start and end else None


CvrNumber = Annotated[str, digits(FORMATS[Country.DK].vat_digits)]


class CompanyRelation(Dated):
    """The company of a unit over a period; a unit may move to another."""

    cvr_nummer: CvrNumber


class UnitMetadata(Metadata):
    """The newest values of a production unit."""

    nyeste_cvr_nummer_relation: CvrNumber | None = None


class CvrUnit(CvrDocument):
    """A production unit (`VrproduktionsEnhed`) as the register writes it."""

    p_nummer: Annotated[str, digits(FORMATS[Country.DK].unit_digits)]
    virksomhedsrelation: Many[CompanyRelation] = ()
    produktions_enhed_metadata: UnitMetadata | None = None

    @property
    def newest(self) -> UnitMetadata:
        """The metadata, which may be empty."""
        return self.produktions_enhed_metadata or UnitMetadata()


def unit_record(raw: Raw, today: date) -> UnitRecord | RegisteredInError:
    """Returns the record of a unit's document; raises RecordRejected."""
    unit = CvrUnit.read(unwrapped(raw, "VrproduktionsEnhed", "pNummer"), today)
    if unit.fejl_registreret:
        return RegisteredInError(UnitKey(Country.DK, unit.p_nummer), unit.version)
    relation = unit.as_of.latest(unit.virksomhedsrelation)
    owner = unit.newest.nyeste_cvr_nummer_relation if relation is None else relation.cvr_nummer
    public = _production_unit(unit)
    # Odd values and the next day are known once everything has been read.
    return UnitRecord(
        UnitKey(Country.DK, unit.p_nummer),
        None if owner is None else CompanyKey(Country.DK, owner),
        dump(public),
        searchable_phones(unit.phones, Country.DK),
        unit.version,
        next_day=unit.as_of.next_day,
        odd=each_once(unit.odd),
    )


def _production_unit(unit: CvrUnit) -> ProductionUnit:
    return ProductionUnit(
        number=unit.p_nummer,
        name=unit.name,
        former_names=unit.former_names,
        status=unit.state.status,
        address=public_address(unit.address),
        postal_address=public_address(unit.postal_address),
        phone=first(unit.phones),
        phones=unit.phones,
        email=first(unit.contacts(unit.elektronisk_post)),
        industry=unit.industry,
        secondary_industries=unit.secondary_industries,
        employees=employees_of(unit),
        started=unit.began,
        ended=unit.ended,
        advertising_protected=unit.reklamebeskyttet,
    )
