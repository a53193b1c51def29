"""Companies from the entities (`enheter`) of the Norwegian register."""

from datetime import date
from typing import Annotated, Final

from pydantic import AliasChoices, Field

from common.contracts.company import Capital, CodedText, Company, Country, Status
from common.domain.numbers import searchable_phones
from lookup.records.fields import (
    Amount,
    Day,
    Document,
    Flag,
    Many,
    Text,
    Word,
    each_once,
    first,
    read_document,
    required,
)
from lookup.records.records import CompanyRecord, Raw, RecordRejected
from lookup.registers.brreg.documents import (
    UNIT_FORMS,
    BrregAddress,
    BrregDocument,
    Coded,
    OrganisationNumber,
    TextLines,
    employees_of,
    public_address,
    public_code,
)


class FormerName(Document):
    """An earlier name of an entity, with its first and last day."""

    navn: Text = None
    fra_dato: Day = None
    til_dato: Day = None


class ShareCapital(Document):
    """The share capital of an entity."""

    belop: Amount = None
    valuta: Text = None


class Entity(BrregDocument):
    """An entity (`enhet`) as the register's interface and files write it."""

    historiske_navn: Many[FormerName] = ()
    forretningsadresse: BrregAddress | None = None
    hjemmeside: Text = None
    naeringskode2: Coded | None = None
    naeringskode3: Coded | None = None
    hjelpeenhetskode: Coded | None = None
    kapital: ShareCapital | None = None
    overordnet_enhet: OrganisationNumber | None = None
    vedtektsfestet_formaal: TextLines = ()
    stiftelsesdato: Day = None
    #: The CSV files spell it in lower case.
    registreringsdato: Annotated[
        Day,
        Field(
            validation_alias=AliasChoices(
                "registreringsdatoEnhetsregisteret", "registreringsdatoenhetsregisteret"
            )
        ),
    ] = None
    registrert_i_mvaregisteret: Annotated[
        Flag,
        Field(
            validation_alias=AliasChoices("registrertIMvaregisteret", "registrertIMvaRegisteret")
        ),
    ] = None
    siste_innsendte_aarsregnskap: Word = None
    konkurs: Flag = None
    under_avvikling: Flag = None
    under_tvangsavvikling_eller_tvangsopplosning: Flag = None
    konkursdato: Day = None
    under_avvikling_dato: Day = None
    tvangsavviklet_pga_manglende_sletting_dato: Day = None
    tvangsopplost_pga_manglende_revisor_dato: Day = None
    tvangsopplost_pga_manglende_regnskap_dato: Day = None
    tvangsopplost_pga_mangelfullt_styre_dato: Day = None
    under_rekonstruksjonsforhandling_dato: Day = None
    under_utenlandsk_insolvensbehandling_dato: Day = None


#: Status, word, and the flag of an entity with the dates that replace it where it is omitted. The
#: first that applies counts; an entity to which none applies is active.
_CONDITIONS: Final = (
    (Status.ENDED, "Slettet", None, ("slettedato",)),
    (Status.BANKRUPT, "Konkurs", "konkurs", ("konkursdato",)),
    (
        Status.BANKRUPT,
        "Under utenlandsk insolvensbehandling",
        None,
        ("under_utenlandsk_insolvensbehandling_dato",),
    ),
    (
        Status.UNDER_RECONSTRUCTION,
        "Under rekonstruksjonsforhandling",
        None,
        ("under_rekonstruksjonsforhandling_dato",),
    ),
    (
        Status.UNDER_LIQUIDATION,
        "Under tvangsavvikling eller tvangsoppløsning",
        "under_tvangsavvikling_eller_tvangsopplosning",
        (
            "tvangsavviklet_pga_manglende_sletting_dato",
            "tvangsopplost_pga_manglende_revisor_dato",
            "tvangsopplost_pga_manglende_regnskap_dato",
            "tvangsopplost_pga_mangelfullt_styre_dato",
        ),
    ),
    (Status.UNDER_LIQUIDATION, "Under avvikling", "under_avvikling", ("under_avvikling_dato",)),
)


def company_record(raw: Raw, _today: date) -> CompanyRecord:
    """Returns the record of a company's document on a day; raises RecordRejected."""
    entity = read_document(Entity, raw)
    if entity.form is not None and entity.form.code in UNIT_FORMS:
        raise RecordRejected(
            f"organisasjonsform.kode: {entity.form.code} is a unit's, not an entity's"
        )
    return CompanyRecord.of(
        _company(entity),
        phones=searchable_phones(entity.phones, Country.NO),
        units=(),
        owners=None,
        version=None,
        odd=entity.odd,
    )


def _company(entity: Entity) -> Company:
    name = required(entity.navn, "navn")
    status, status_text = _status(entity)
    return Company(
        country=Country.NO,
        vat=entity.organisasjonsnummer,
        name=name,
        former_names=_former_names(entity, name),
        status=status,
        status_text=status_text,
        form=entity.form,
        address=public_address(entity.forretningsadresse),
        postal_address=public_address(entity.postadresse),
        phone=first(entity.phones),
        email=entity.epostadresse,
        website=entity.hjemmeside,
        industry=entity.industry,
        secondary_industries=_secondary_industries(entity),
        employees=employees_of(entity),
        founded=entity.stiftelsesdato,
        registered=entity.registreringsdato,
        ended=entity.slettedato,
        capital=_capital(entity.kapital),
        purpose=" ".join(line for line in entity.vedtektsfestet_formaal if line) or None,
        vat_registered=entity.registrert_i_mvaregisteret,
        accounts=entity.siste_innsendte_aarsregnskap,
        parent=entity.overordnet_enhet,
    )


def _status(entity: Entity) -> tuple[Status, str | None]:
    for status, word, name, days in _CONDITIONS:
        flag = getattr(entity, name) if name else None
        if any(getattr(entity, day) for day in days) if flag is None else flag:
            return status, word
    return Status.ACTIVE, None


def _former_names(entity: Entity, name: str) -> tuple[str, ...]:
    """Returns the former names, newest first, each once."""
    former = [old for old in entity.historiske_navn if old.navn and old.navn != name]
    former.sort(key=lambda old: (old.til_dato or "", old.fra_dato or ""), reverse=True)
    return each_once(old.navn for old in former)


def _secondary_industries(entity: Entity) -> tuple[CodedText, ...]:
    """Returns the further industries; that of a unit that serves its own group is one of them."""
    given = (entity.naeringskode2, entity.naeringskode3, entity.hjelpeenhetskode)
    return each_once(map(public_code, given))


def _capital(given: ShareCapital | None) -> Capital | None:
    if given is None or given.belop is None:
        return None
    return Capital(amount=given.belop, currency=given.valuta or "NOK")
