"""CVR documents become records of companies and production units."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final

from common.contracts.company import (
    Capital,
    Company,
    CompanyKey,
    Country,
    Dissolution,
    FinancialPeriod,
    FinancialYear,
    ProductionUnit,
    Remark,
    UnitKey,
)
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from ingest.records.fields import Many, digits, each_once, first
from ingest.records.records import (
    CompanyRecord,
    Raw,
    RegisteredInError,
    UnitRecord,
    in_order,
    restructurings,
)
from ingest.registers.cvr.company_documents import CvrCompany
from ingest.registers.cvr.dated_values import Dated, unbroken_since
from ingest.registers.cvr.documents import (
    CvrDocument,
    Metadata,
    public_address,
    unwrapped,
)
from ingest.registers.cvr.earlier import read_before
from ingest.registers.cvr.employees import employees_of
from ingest.registers.cvr.owners import of_each, owners_in_order
from ingest.registers.cvr.past import past_of
from register_store.documents import dump

#: Attributes that are true or false, with their fields.
_FLAGS: Final = {
    "EJERREGISTRERING_UNDER_5_PROCENT": "minor_owners",
    "STATSLIG_VIRK": "state_owned",
    "OMFATTET_AF_LOV_OM_HVIDVASK_OG_TERRORFINANSIERING": "aml_obliged",
    "SOCIAL_ØKONOMISK_VIRKSOMHED": "social_enterprise",
}
_FURTHER: Final = {*_FLAGS, "OPLØSNINGSTRUSSEL_SENESTE", "GENOPTAGELSE_TVANGSOPLØSNING"}
#: The attributes of the first period of accounts, and of the one that moved the financial year.
_PERIODS: Final = ("FØRSTE_REGNSKABSPERIODE", "OMLÆGNINGSPERIODE")
_PERIOD_DAYS: Final = {f"{period}_{end}" for period in _PERIODS for end in ("START", "SLUT")}
#: The type of the register's note on its own record, and its text where it gives none.
_NOT_LOADED: Final = "fejlVedIndlaesning"
_NOT_LOADED_TEXT: Final = "Fejl ved indlæsning"
_MONTH_AND_DAY: Final = re.compile(r"-{0,2}(\d{2}-\d{2})")


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
    owners = [] if participants is None else participants.owners()
    roles = [] if participants is None else participants.roles()
    past = past_of(company)
    # Odd values and the next day are known once everything has been read.
    return CompanyRecord.of(
        public,
        phones=searchable_phones(company.phones, Country.DK),
        units=tuple(UnitKey(Country.DK, number) for number in numbers),
        owners=None if participants is None else owners_in_order(of_each(owners)),
        roles=None if participants is None else in_order(of_each(roles)),
        version=company.version,
        updated_at=company.sidst_opdateret,
        past=past,
        reorganisations=company.reorganisations,
        next_day=company.as_of.next_day,
        odd=company.odd,
        earlier=read_before(company, public, owners, roles),
    )


def _company(company: CvrCompany) -> Company:
    name, state, participants = company.name, company.state, company.participants
    into, out_of = restructurings(company.reorganisations)
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
        fax=company.fax,
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
        merged_into=into,
        merged_from=out_of,
        remarks=_remarks(company),
        parent=None if participants is None else participants.parent(),
        advertising_protected=company.reklamebeskyttet,
        **_attributes(company),
    )


def _attributes(company: CvrCompany) -> dict[str, Any]:
    """Returns the fields of attributes that few companies have, as far as there are any."""
    if company.has_no_attributes(_FURTHER):
        return {}
    threatened = company.day("OPLØSNINGSTRUSSEL_SENESTE")
    resumed = company.day("GENOPTAGELSE_TVANGSOPLØSNING")
    return {
        "dissolution": Dissolution(warned=threatened, resumed=resumed)
        if threatened or resumed
        else None,
        **{field: company.flag(attribute) for attribute, field in _FLAGS.items()},
    }


def _remarks(company: CvrCompany) -> tuple[Remark, ...]:
    """Returns the register's note that it could not load all of the document."""
    text = company.fejl_beskrivelse
    if not company.fejl_ved_indlaesning and text is None:
        return ()
    return (Remark(type=_NOT_LOADED, text=text or _NOT_LOADED_TEXT),)


def _trade_names(company: CvrCompany, name: str) -> tuple[str, ...]:
    names = [given.navn for given in company.current_or_last(company.binavne)]
    if not company.binavne:
        names = list(company.newest.nyeste_binavne)
    return each_once(given for given in names if given != name)


def _capital(company: CvrCompany) -> Capital | None:
    amount = company.amount("KAPITAL")
    if amount is None:
        return None
    values = company.attribute_values("KAPITAL")
    present = first(company.current_or_last(values))
    same = [one for one in values if present is None or one.vaerdi == present.vaerdi]
    paid_in, fully_paid = _paid_in(company, amount)
    return Capital(
        amount=amount,
        currency=company.attribute("KAPITALVALUTA") or "DKK",
        since=None if present is None else unbroken_since(same, present),
        paid_in=paid_in,
        fully_paid=fully_paid,
        has_classes=company.flag("KAPITALKLASSER"),
    )


def _paid_in(company: CvrCompany, amount: str) -> tuple[str | None, bool | None]:
    """Returns the part of the capital that is paid in, and whether that is all of it.

    The register has it of a capital that is paid in part; some documents have a flag instead.
    """
    given = company.attribute("KAPITAL_DELVIST")
    if given is None or given.lower() in ("true", "false"):
        return None, None if given is None else given.lower() == "false"
    paid_in = company.amount("KAPITAL_DELVIST")
    return paid_in, None if paid_in is None else Decimal(paid_in) >= Decimal(amount)


def _financial_year(company: CvrCompany) -> FinancialYear | None:
    """Returns the first and the last day of the financial year (`--01-01`, `--12-31`)."""
    days = [company.attribute(f"REGNSKABSÅR_{end}") for end in ("START", "SLUT")]
    found = [_MONTH_AND_DAY.fullmatch(day) for day in days if day]
    if any(day is None for day in found):
        company.odd.append("attributter.REGNSKABSÅR")
    start, end = [day and day[1] for day in found] if len(found) == len(days) else (None, None)
    if not start or not end:
        return None
    if company.has_no_attributes(_PERIOD_DAYS):
        return FinancialYear(start=start, end=end)
    first_, adjusted = (_period(company, each) for each in _PERIODS)
    return FinancialYear(start=start, end=end, first=first_, adjusted=adjusted)


def _period(company: CvrCompany, attribute: str) -> FinancialPeriod | None:
    start, end = (company.day(f"{attribute}_{each}") for each in ("START", "SLUT"))
    return FinancialPeriod(start=start, end=end) if start or end else None


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
        fax=unit.fax,
        industry=unit.industry,
        secondary_industries=unit.secondary_industries,
        employees=employees_of(unit),
        started=unit.began,
        ended=unit.ended,
        advertising_protected=unit.reklamebeskyttet,
    )
