"""Companies from the `Vrvirksomhed` documents of the Danish register (CVR)."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

from common.contracts.company import (
    Capital,
    CodedText,
    Company,
    CompanyKey,
    Country,
    LegalForm,
    UnitKey,
)
from common.domain.countries import FORMATS
from common.domain.numbers import registered_phone, searchable_phones
from lookup.records.fields import (
    Day,
    Flag,
    Many,
    Text,
    Word,
    amount_of,
    digits,
    each_once,
    first,
    legal_form,
    read_document,
)
from lookup.records.records import CompanyRecord, Raw, RegisteredInError
from lookup.registers.cvr.addresses import public_address
from lookup.registers.cvr.documents import (
    Contact,
    CvrAddress,
    CvrDocument,
    Dated,
    Industry,
    Metadata,
    Name,
    current,
    latest,
    unwrapped,
)
from lookup.registers.cvr.employees import employees_of
from lookup.registers.cvr.owners import Attribute, Relation, owners_of, roles_of, values_of


class CompanyForm(Dated):
    """A legal form of a company, with its period."""

    virksomhedsformkode: Word = None
    kort_beskrivelse: Text = None
    lang_beskrivelse: Text = None

    @property
    def public(self) -> LegalForm | None:
        """The public form of the legal form; None without a code."""
        return legal_form(self.virksomhedsformkode, self.lang_beskrivelse, self.kort_beskrivelse)


class StatusWord(Dated):
    """A status of a company in the register's own word, with its period."""

    status: Text = None


class ListedUnit(Dated):
    """A production unit that a company lists, with its period."""

    p_nummer: Word = None


class CompanyMetadata(Metadata):
    """The newest values of a company."""

    nyeste_virksomhedsform: CompanyForm | None = None
    nyeste_binavne: Many[Text] = ()
    stiftelses_dato: Day = None


class CvrCompany(CvrDocument):
    """A company (`Vrvirksomhed`) as the register writes it."""

    cvr_nummer: Annotated[str, digits(FORMATS[Country.DK].vat_digits)]
    binavne: Many[Name] = ()
    postadresse: Many[CvrAddress] = ()
    telefax_nummer: Many[Contact] = ()
    sekundaert_telefax_nummer: Many[Contact] = ()
    hjemmeside: Many[Contact] = ()
    bibranche1: Many[Industry] = ()
    bibranche2: Many[Industry] = ()
    bibranche3: Many[Industry] = ()
    virksomhedsstatus: Many[StatusWord] = ()
    virksomhedsform: Many[CompanyForm] = ()
    attributter: Many[Attribute] = ()
    penheder: Many[ListedUnit] = ()
    #: Absent if the documents were requested without it.
    deltager_relation: Many[Relation] | None = None
    reklamebeskyttet: Flag = None
    virksomhed_metadata: CompanyMetadata | None = None

    @property
    def newest(self) -> CompanyMetadata:
        """The metadata, which may be empty."""
        return self.virksomhed_metadata or CompanyMetadata()

    @property
    def words(self) -> tuple[str | None, ...]:
        """The register's words for the status, that of its history first."""
        word = latest(self.virksomhedsstatus)
        return (None if word is None else word.status, *super().words)


def company_record(raw: Raw, _today: date) -> CompanyRecord | RegisteredInError:
    """Returns the record of a company's document on a day; raises RecordRejected."""
    company = read_document(CvrCompany, unwrapped(raw, "Vrvirksomhed", "cvrNummer"))
    if company.fejl_registreret:
        return RegisteredInError(CompanyKey(Country.DK, company.cvr_nummer), company.version)
    relations = company.deltager_relation
    return CompanyRecord.of(
        _company(company),
        phones=searchable_phones(company.phones, Country.DK),
        units=_units(company.penheder),
        owners=None if relations is None else owners_of(relations, company.odd),
        roles=None if relations is None else roles_of(relations),
        version=company.version,
        updated_at=company.sidst_opdateret,
        odd=company.odd,
    )


def _units(listed: Sequence[ListedUnit]) -> tuple[UnitKey, ...]:
    """Returns the units by number, since their order in the document has no meaning."""
    numbers = {unit.p_nummer for unit in current(listed) if unit.p_nummer}
    return tuple(UnitKey(Country.DK, number) for number in sorted(numbers))


def _company(company: CvrCompany) -> Company:
    name, newest = company.name, company.newest
    status, status_text = company.state
    form = latest(company.virksomhedsform) or newest.nyeste_virksomhedsform
    return Company(
        country=Country.DK,
        vat=company.cvr_nummer,
        name=name,
        trade_names=_trade_names(company, name),
        former_names=_former_names(company, name),
        status=status,
        status_text=status_text,
        form=None if form is None else form.public,
        address=public_address(company.address),
        postal_address=public_address(first(company.current_or_last(company.postadresse))),
        phone=first(company.phones),
        fax=_fax(company),
        email=first(company.contacts(company.elektronisk_post)),
        website=first(company.contacts(company.hjemmeside)),
        industry=company.industry,
        secondary_industries=_secondary_industries(company),
        employees=employees_of(company),
        founded=company.began or newest.stiftelses_dato,
        ended=company.ended,
        capital=_capital(company),
        purpose=_attribute(company, "FORMÅL"),
        advertising_protected=bool(company.reklamebeskyttet),
    )


def _trade_names(company: CvrCompany, name: str) -> tuple[str, ...]:
    names = [given.navn for given in company.current_or_last(company.binavne)]
    if not company.binavne:
        names = list(company.newest.nyeste_binavne)
    return each_once(given for given in names if given != name)


def _former_names(company: CvrCompany, name: str) -> tuple[str, ...]:
    """Returns the former names, newest first, each once."""
    newest_first = sorted(company.navne, key=lambda given: given.since or "", reverse=True)
    return each_once(given.navn for given in newest_first if given.navn != name)


def _fax(company: CvrCompany) -> str | None:
    text = first(company.contacts(company.telefax_nummer, company.sekundaert_telefax_nummer))
    return None if text is None else registered_phone(text, Country.DK)


def _secondary_industries(company: CvrCompany) -> tuple[CodedText, ...]:
    given = (company.bibranche1, company.bibranche2, company.bibranche3)
    industries = (first(company.current_or_last(each)) for each in given)
    return each_once(industry.public for industry in industries if industry is not None)


def _attribute(company: CvrCompany, type_: str) -> str | None:
    value = latest(values_of(company.attributter, type_))
    return None if value is None else value.vaerdi


def _capital(company: CvrCompany) -> Capital | None:
    try:
        amount = amount_of(_attribute(company, "KAPITAL"))
    except ValueError:
        company.odd.append("attributter.KAPITAL")
        return None
    if amount is None:
        return None
    return Capital(amount=amount, currency=_attribute(company, "KAPITALVALUTA") or "DKK")
