"""Production units from the units (`underenheter`) of the Norwegian register."""

from datetime import date
from typing import Final

from common.contracts.company import Country, ProductionUnit, Status
from common.domain.numbers import searchable_phones
from ingest.records.fields import Day, first, read_document, required
from ingest.records.records import Raw, RecordRejected, UnitRecord
from ingest.registers.brreg.documents import (
    ADDED,
    TOLD_BY,
    UNIT_FORMS,
    BrregAddress,
    BrregDocument,
    OrganisationNumber,
    is_deleted,
    next_day,
    public_address,
    untold,
)

#: The members that tell each field of `ProductionUnit`, and its company.
_TOLD_BY: Final = {
    **TOLD_BY,
    "company": ("overordnetEnhet",),
    "address": ("beliggenhetsadresse",),
    "started": ("oppstartsdato",),
}
#: The fields that came after 2022, by a member that every document has since then.
_ADDED: Final = {"respons_klasse": ADDED}


class Unit(BrregDocument):
    """A production unit (`underenhet`) as the register writes it."""

    overordnet_enhet: OrganisationNumber | None = None
    beliggenhetsadresse: BrregAddress | None = None
    oppstartsdato: Day = None
    nedleggelsesdato: Day = None


def unit_record(raw: Raw, today: date) -> UnitRecord:
    """Returns the record of a unit's document on a day; raises RecordRejected."""
    unit = read_document(Unit, raw)
    if unit.form is not None and unit.form.code not in UNIT_FORMS:
        raise RecordRejected(
            f"organisasjonsform.kode: {unit.form.code} is an entity's, not a unit's"
        )
    return UnitRecord.of(
        _production_unit(unit, today.isoformat(), deleted=is_deleted(raw)),
        Country.NO,
        company=unit.overordnet_enhet,
        phones=searchable_phones(unit.phones, Country.NO),
        version=None,
        next_day=next_day(
            (
                unit.nedleggelsesdato,
                unit.slettedato,
                *(name.til_dato for name in unit.historiske_navn),
            ),
            today.isoformat(),
        ),
        unknown=untold(raw, _TOLD_BY, _ADDED),
        odd=unit.odd,
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
    )
