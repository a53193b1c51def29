"""Production units from the `VrproduktionsEnhed` documents of the Danish register (CVR)."""

from typing import Annotated

from common.contracts.company import Country, ProductionUnit, UnitKey
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from lookup.ingest.document_fields import (
    Document,
    Many,
    Text,
    digits,
    first,
    read_document,
    required,
)
from lookup.ingest.files.raw_records import Raw
from lookup.ingest.records import RegisteredInError, UnitRecord
from lookup.registers.cvr.addresses import public_address
from lookup.registers.cvr.documents import (
    CvrAddress,
    CvrDocument,
    Dated,
    Employment,
    Industry,
    Name,
    industry_of,
    latest,
    unwrapped,
)
from lookup.registers.cvr.employees import employees_of

CvrNumber = Annotated[str, digits(FORMATS[Country.DK].vat_digits)]


class CompanyRelation(Dated):
    """A unit may move from one company to another."""

    cvr_nummer: CvrNumber


class UnitMetadata(Document):
    """The newest values according to CVR; used where the history is empty."""

    nyeste_cvr_nummer_relation: CvrNumber | None = None
    nyeste_navn: Name | None = None
    nyeste_beliggenhedsadresse: CvrAddress | None = None
    nyeste_hovedbranche: Industry | None = None
    nyeste_erst_maanedsbeskaeftigelse: Employment | None = None
    nyeste_kvartalsbeskaeftigelse: Employment | None = None
    nyeste_aarsbeskaeftigelse: Employment | None = None
    sammensat_status: Text = None

    @property
    def counts(self) -> tuple[Employment | None, ...]:
        return (
            self.nyeste_erst_maanedsbeskaeftigelse,
            self.nyeste_kvartalsbeskaeftigelse,
            self.nyeste_aarsbeskaeftigelse,
        )


class CvrUnit(CvrDocument):
    p_nummer: Annotated[str, digits(FORMATS[Country.DK].unit_digits)]
    virksomhedsrelation: Many[CompanyRelation] = ()
    produktions_enhed_metadata: UnitMetadata | None = None

    @property
    def words(self) -> tuple[str | None, ...]:
        metadata = self.produktions_enhed_metadata
        return () if metadata is None else (metadata.sammensat_status,)


def unit_record(raw: Raw) -> UnitRecord | RegisteredInError:
    """Raises RecordRejected."""
    unit = read_document(CvrUnit, unwrapped(raw, "VrproduktionsEnhed", "pNummer"))
    if unit.fejl_registreret:
        return RegisteredInError(UnitKey(Country.DK, unit.p_nummer), unit.version)
    newest = unit.produktions_enhed_metadata or UnitMetadata()
    relation = latest(unit.virksomhedsrelation)
    owner = newest.nyeste_cvr_nummer_relation if relation is None else relation.cvr_nummer
    return UnitRecord.of(
        _production_unit(unit, newest),
        Country.DK,
        company=owner,
        phones=searchable_phones(unit.phones, Country.DK),
        version=unit.version,
    )


def _production_unit(unit: CvrUnit, newest: UnitMetadata) -> ProductionUnit:
    name = latest(unit.navne) or newest.nyeste_navn
    status, _ = unit.state
    return ProductionUnit(
        number=unit.p_nummer,
        name=required(None if name is None else name.navn, "navne"),
        status=status,
        address=public_address(
            latest(unit.beliggenhedsadresse) or newest.nyeste_beliggenhedsadresse
        ),
        phone=first(unit.phones),
        email=first(unit.contacts(unit.elektronisk_post)),
        industry=industry_of(latest(unit.hovedbranche) or newest.nyeste_hovedbranche),
        employees=employees_of(unit, newest.counts),
        started=unit.began,
        ended=unit.ended,
    )
