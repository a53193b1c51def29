"""Companies from the `Vrvirksomhed` documents of the Danish register (CVR)."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Final

from common.contracts.company import (
    Capital,
    Company,
    CompanyKey,
    Country,
    FinancialYear,
    LegalForm,
    RestructuringType,
    UnitKey,
)
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from ingest.records.fields import (
    Day,
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
from ingest.records.records import CompanyRecord, Raw, RegisteredInError
from ingest.registers.cvr.addresses import public_address
from ingest.registers.cvr.documents import (
    Contact,
    CvrDocument,
    Insolvency,
    Metadata,
    Name,
    unwrapped,
)
from ingest.registers.cvr.employees import employees_of
from ingest.registers.cvr.mergers import Reorganisation, restructurings
from ingest.registers.cvr.owners import Attribute, AttributeValue, Participants, Relation
from ingest.registers.cvr.periods import Dated
from ingest.registers.cvr.status import State, Word, state_by_decree

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
    units = _units(company)
    owners = None if participants is None else participants.owners()
    roles = None if participants is None else participants.roles()
    # What is odd and the next day are known once everything has been read.
    return CompanyRecord.of(
        public,
        phones=searchable_phones(company.phones, Country.DK),
        units=units,
        owners=owners,
        roles=roles,
        version=company.version,
        updated_at=company.sidst_opdateret,
        next_day=company.as_of.next_day,
        odd=company.odd,
    )


def _units(company: CvrCompany) -> tuple[UnitKey, ...]:
    """Returns the units by number, since their order in the document has no meaning."""
    numbers = {unit.p_nummer for unit in company.as_of.current(company.penheder) if unit.p_nummer}
    return tuple(UnitKey(Country.DK, number) for number in sorted(numbers))


def _company(company: CvrCompany) -> Company:
    name, state, participants = company.name, company.state, company.participants
    is_over = company.ended is not None
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
        fax=_fax(company),
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


def _fax(company: CvrCompany) -> str | None:
    texts = company.contacts(company.telefax_nummer, company.sekundaert_telefax_nummer)
    return first(phones(texts[:1], Country.DK))


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
