"""Production units from the `VrproduktionsEnhed` documents of the Danish register (CVR)."""

from datetime import date
from typing import Annotated

from common.contracts.company import Country, ProductionUnit, UnitKey
from common.domain.countries import FORMATS
from common.domain.numbers import searchable_phones
from ingest.records.fields import Many, digits, first
from ingest.records.records import Raw, RegisteredInError, UnitRecord
from ingest.registers.cvr.addresses import public_address
from ingest.registers.cvr.documents import CvrDocument, Metadata, unwrapped
from ingest.registers.cvr.employees import employees_of
from ingest.registers.cvr.periods import Dated

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
    # What is odd and the next day are known once everything has been read.
    return UnitRecord.of(
        public,
        Country.DK,
        company=owner,
        phones=searchable_phones(unit.phones, Country.DK),
        version=unit.version,
        next_day=unit.as_of.next_day,
        odd=unit.odd,
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
