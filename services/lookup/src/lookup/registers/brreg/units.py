"""Production units from the units (`underenheter`) of the Norwegian register."""

from datetime import date

from common.contracts.company import Country, ProductionUnit, Status
from common.domain.numbers import searchable_phones
from lookup.records.fields import Day, first, read_document, required
from lookup.records.records import Raw, RecordRejected, UnitRecord
from lookup.registers.brreg.documents import (
    UNIT_FORMS,
    BrregAddress,
    BrregDocument,
    OrganisationNumber,
    employees_of,
    public_address,
)


class Unit(BrregDocument):
    """A production unit (`underenhet`) as the register writes it."""

    overordnet_enhet: OrganisationNumber | None = None
    beliggenhetsadresse: BrregAddress | None = None
    oppstartsdato: Day = None
    nedleggelsesdato: Day = None


def unit_record(raw: Raw, _today: date) -> UnitRecord:
    """Returns the record of a unit's document on a day; raises RecordRejected."""
    unit = read_document(Unit, raw)
    if unit.form is not None and unit.form.code not in UNIT_FORMS:
        raise RecordRejected(
            f"organisasjonsform.kode: {unit.form.code} is an entity's, not a unit's"
        )
    return UnitRecord.of(
        _production_unit(unit),
        Country.NO,
        company=unit.overordnet_enhet,
        phones=searchable_phones(unit.phones, Country.NO),
        version=None,
        odd=unit.odd,
    )


def _production_unit(unit: Unit) -> ProductionUnit:
    ended = unit.nedleggelsesdato or unit.slettedato
    return ProductionUnit(
        number=unit.organisasjonsnummer,
        name=required(unit.navn, "navn"),
        status=Status.ENDED if ended else Status.ACTIVE,
        address=public_address(unit.beliggenhetsadresse),
        phone=first(unit.phones),
        email=unit.epostadresse,
        industry=unit.industry,
        employees=employees_of(unit),
        started=unit.oppstartsdato,
        ended=ended,
    )
