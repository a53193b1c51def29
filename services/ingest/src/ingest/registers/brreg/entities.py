"""Companies from the entities (`enheter`) of the Norwegian register."""

from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from common.contracts.company import (
    Capital,
    Company,
    Country,
    Dissolution,
    DissolutionCause,
    DissolutionReason,
    HomeRegister,
    RegisterName,
    Registration,
    Remark,
    Status,
)
from common.domain.numbers import searchable_phones
from ingest.records.fields import (
    MAX_INT64,
    Amount,
    Day,
    Document,
    Flag,
    Many,
    Text,
    Word,
    coded,
    country_code,
    first,
    read_document,
    required,
)
from ingest.records.records import CompanyRecord, Raw, RecordRejected, without_holders
from ingest.records.text import on_one_line
from ingest.registers.brreg.documents import (
    ADDED,
    TOLD_BY,
    UNIT_FORMS,
    BrregAddress,
    BrregDocument,
    Coded,
    OrganisationNumber,
    Prose,
    is_deleted,
    next_day,
    public_address,
    public_code,
    untold,
)


class ShareCapital(Document):
    """The capital of an entity; of some only the paid-in part is registered."""

    belop: Amount = None
    innbetalt: Amount = None
    valuta: Text = None
    type: Text = None
    innfort_dato: Day = None
    fullt_innbetalt: Flag = None
    antall_aksjer: Annotated[int | None, Field(ge=0, le=MAX_INT64)] = None


class FormAbroad(Coded):
    """The legal form of a foreign enterprise in its own country, also in Norwegian."""

    beskrivelse_bokmaal: Text = None


class Annotation(Document):
    """A remark (`påtegning`) of the register on an entity."""

    infotype: Text = None
    tekst: Text = None
    innfoert_dato: Day = None


class Entity(BrregDocument):
    """An entity (`enhet`) as the register's interface and files write it."""

    forretningsadresse: BrregAddress | None = None
    kapital: ShareCapital | None = None
    overordnet_enhet: OrganisationNumber | None = None
    vedtektsfestet_formaal: Prose = None
    aktivitet: Prose = None
    vedtektsdato: Day = None
    fravalg_revisjon_dato: Day = None
    fravalg_revisjon_beslutnings_dato: Day = None
    institusjonell_sektorkode: Coded | None = None
    er_i_konsern: Flag = None
    maalform: Text = None
    paategninger: Many[Annotation] = ()
    stiftelsesdato: Day = None
    registrert_i_foretaksregisteret: Flag = None
    registreringsdato_foretaksregisteret: Day = None
    registrert_i_frivillighetsregisteret: Flag = None
    registreringsdato_frivillighetsregisteret: Day = None
    registrert_i_stiftelsesregisteret: Flag = None
    registrert_i_partiregisteret: Flag = None
    registreringsdato_partiregisteret: Day = None
    siste_innsendte_aarsregnskap: Word = None
    utenlandsk_register_navn: Text = None
    utenlandsk_register_adresse: BrregAddress | None = None
    registreringsnummer_i_hjemlandet: Text = None
    underlagt_lovgivning_land_kode: Text = None
    foretaksform_i_hjemlandet: FormAbroad | None = None
    konkurs: Flag = None
    under_avvikling: Flag = None
    under_tvangsavvikling_eller_tvangsopplosning: Flag = None
    konkursdato: Day = None
    under_avvikling_dato: Day = None
    tvangsavviklet_pga_manglende_sletting_dato: Day = None
    tvangsopplost_pga_manglende_daglig_leder_dato: Day = None
    tvangsopplost_pga_manglende_revisor_dato: Day = None
    tvangsopplost_pga_manglende_regnskap_dato: Day = None
    tvangsopplost_pga_mangelfullt_styre_dato: Day = None
    under_rekonstruksjonsforhandling_dato: Day = None
    under_utenlandsk_insolvensbehandling_dato: Day = None

    @property
    def conditions(self) -> "list[tuple[_Condition, list[str]]]":
        """The conditions that apply or will, with their dates, which replace an omitted flag."""
        fields = vars(self)
        found: list[tuple[_Condition, list[str]]] = []
        if not any(_of_conditions(fields)):
            return found
        for condition in _CONDITIONS:
            flag = None if condition.flag is None else fields[condition.flag]
            if flag is not False:
                days = [day for name in condition.dates if (day := fields[name]) is not None]
                if days or flag:
                    found.append((condition, days))
        return found

    @property
    def audit_waived_on(self) -> str | None:
        """The day from which its accounts are not audited, or on which that was decided."""
        return self.fravalg_revisjon_dato or self.fravalg_revisjon_beslutnings_dato


class _Condition(NamedTuple):
    """A status, its word, its flag if it has one, and its dates."""

    status: Status
    word: str
    flag: str | None
    dates: tuple[str, ...]


#: The days of a compulsory dissolution, each of its reason.
_REASONS: Final = {
    "tvangsavviklet_pga_manglende_sletting_dato": DissolutionReason.NOT_DELETED,
    "tvangsopplost_pga_manglende_daglig_leder_dato": DissolutionReason.NO_DIRECTOR,
    "tvangsopplost_pga_manglende_revisor_dato": DissolutionReason.NO_AUDITOR,
    "tvangsopplost_pga_manglende_regnskap_dato": DissolutionReason.NO_ACCOUNTS,
    "tvangsopplost_pga_mangelfullt_styre_dato": DissolutionReason.INCOMPLETE_BOARD,
}
#: The first that applies counts; an entity to which none applies is active.
_CONDITIONS: Final = (
    _Condition(Status.ENDED, "Slettet", None, ("slettedato",)),
    _Condition(Status.BANKRUPT, "Konkurs", "konkurs", ("konkursdato",)),
    _Condition(
        Status.BANKRUPT,
        "Under utenlandsk insolvensbehandling",
        None,
        ("under_utenlandsk_insolvensbehandling_dato",),
    ),
    _Condition(
        Status.UNDER_RECONSTRUCTION,
        "Under rekonstruksjonsforhandling",
        None,
        ("under_rekonstruksjonsforhandling_dato",),
    ),
    _Condition(
        Status.UNDER_LIQUIDATION,
        "Under tvangsavvikling eller tvangsoppløsning",
        "under_tvangsavvikling_eller_tvangsopplosning",
        tuple(_REASONS),
    ),
    _Condition(
        Status.UNDER_LIQUIDATION, "Under avvikling", "under_avvikling", ("under_avvikling_dato",)
    ),
)
#: Of the fields of a document, those that tell whether any condition applies.
_of_conditions: Final = itemgetter(
    *(name for one in _CONDITIONS for name in (one.flag, *one.dates) if name is not None)
)
_of_reasons: Final = itemgetter(*_REASONS)
#: Of the fields of a document, those of the register of its home country.
_of_home: Final = itemgetter(
    "utenlandsk_register_navn",
    "registreringsnummer_i_hjemlandet",
    "underlagt_lovgivning_land_kode",
    "foretaksform_i_hjemlandet",
    "utenlandsk_register_adresse",
)
LANGUAGES: Final = {"Bokmål": "nb", "Nynorsk": "nn"}
#: A company of this form is audited unless it has waived that.
_AUDITED: Final = "AS"

#: The members that tell each field of `Company`.
_TOLD_BY: Final = {
    **TOLD_BY,
    "form": ("organisasjonsform",),
    "address": ("forretningsadresse",),
    "founded": ("stiftelsesdato",),
    "registered": ("registreringsdatoEnhetsregisteret", "registreringsdatoenhetsregisteret"),
    "capital": ("kapital",),
    "shares": ("kapital",),
    "purpose": ("vedtektsfestetFormaal",),
    "activity": ("aktivitet",),
    "audit_waived": ("fravalgRevisjonDato", "fravalgRevisjonBeslutningsDato"),
    "articles_dated": ("vedtektsdato",),
    "dissolution": ("tvangsopplostPgaManglendeRegnskapDato",),
    # The flags alone are told by `vat_registered` in part, and would take away the dates.
    "registrations": (
        "registreringsdatoForetaksregisteret",
        "registreringsdatoFrivillighetsregisteret",
        "registreringsdatoMerverdiavgiftsregisteret",
    ),
    "sector": ("institusjonellSektorkode",),
    "in_group": ("erIKonsern",),
    "language": ("maalform",),
    "home_register": ("utenlandskRegisterNavn", "registreringsnummerIHjemlandet"),
    "remarks": ("paategninger",),
    "accounts": ("sisteInnsendteAarsregnskap",),
    "parent": ("overordnetEnhet",),
}
#: The fields that came after 2022, by a member that every document has since then.
_ADDED: Final = {
    "respons_klasse": (
        *ADDED,
        "purpose",
        "activity",
        "audit_waived",
        "articles_dated",
        "registrations",
        "dissolution",
    ),
    "erIKonsern": ("capital", "shares", "in_group", "home_register"),
    "paategninger": ("remarks",),
}


def company_record(raw: Raw, today: date) -> CompanyRecord:
    """Returns the record of a company's document on a day; raises RecordRejected."""
    entity = read_document(Entity, raw)
    if entity.form is not None and entity.form.code in UNIT_FORMS:
        raise RecordRejected(
            f"organisasjonsform.kode: {entity.form.code} is a unit's, not an entity's"
        )
    day = today.isoformat()
    unknown = untold(raw, _TOLD_BY, _ADDED)
    company = _company(entity, day, unknown, deleted=is_deleted(raw))
    if company.status_since is None and company.status is not Status.ACTIVE:
        unknown |= {"status_since"}
    record = CompanyRecord.of(
        company,
        phones=searchable_phones(entity.phones, Country.NO),
        next_day=next_day(
            (
                *(day for _, days in entity.conditions for day in days),
                entity.audit_waived_on,
                *(name.til_dato for name in entity.historiske_navn),
            ),
            day,
        ),
        unknown=unknown,
        past=None if "former_names" in unknown else entity.past_names(day),
        odd=entity.odd,
    )
    return without_holders(record) if company.status is Status.ENDED else record


def _company(entity: Entity, today: str, unknown: frozenset[str], *, deleted: bool) -> Company:
    status, status_text, since = _status(entity, today)
    if deleted:
        status, status_text = Status.ENDED, _CONDITIONS[0].word
    is_vat_registered = entity.registrert_i_mvaregisteret
    return Company(
        country=Country.NO,
        vat=entity.organisasjonsnummer,
        name=required(entity.navn, "navn"),
        former_names=entity.former_names(today),
        status=status,
        status_text=status_text,
        status_since=since,
        form=entity.form,
        address=public_address(entity.forretningsadresse),
        postal_address=public_address(entity.postadresse),
        phone=first(entity.phones),
        phones=entity.phones,
        email=entity.epostadresse,
        website=entity.hjemmeside,
        industry=entity.industry,
        secondary_industries=entity.secondary_industries,
        employees=entity.employees,
        founded=entity.stiftelsesdato,
        registered=entity.registreringsdato,
        ended=entity.slettedato if status is Status.ENDED else None,
        capital=_capital(entity.kapital),
        shares=None if entity.kapital is None else entity.kapital.antall_aksjer,
        purpose=entity.vedtektsfestet_formaal,
        activity=entity.aktivitet,
        audit_waived=None if "audit_waived" in unknown else _audit_waived(entity, today),
        articles_dated=entity.vedtektsdato,
        vat_registered=is_vat_registered,
        vat_registered_since=None if is_vat_registered is False else entity.vat_since,
        voluntary_vat=entity.voluntary_vat,
        registrations=_registrations(entity),
        sector=public_code(entity.institusjonell_sektorkode),
        in_group=entity.er_i_konsern,
        language=_language(entity),
        home_register=_home_register(entity),
        remarks=tuple(
            Remark(type=one.infotype, text=one.tekst, since=one.innfoert_dato)
            for one in entity.paategninger
            if one.tekst is not None
        ),
        accounts=entity.siste_innsendte_aarsregnskap,
        parent=entity.overordnet_enhet,
        dissolution=_dissolution(entity, today),
    )


def _status(entity: Entity, today: str) -> tuple[Status, str | None, str | None]:
    """Returns the status, its word, and its first day; nothing begins before its date."""
    for condition, days in entity.conditions:
        if not days or min(days) <= today:
            return condition.status, condition.word, min(days, default=None)
    return Status.ACTIVE, None, None


def _audit_waived(entity: Entity, today: str) -> bool | None:
    if entity.audit_waived_on is not None and entity.audit_waived_on <= today:
        return True
    return False if entity.form is not None and entity.form.code == _AUDITED else None


def _language(entity: Entity) -> str | None:
    language = LANGUAGES.get(entity.maalform or "")
    if entity.maalform and language is None:
        entity.odd.append("maalform")
    return language


def _capital(given: ShareCapital | None) -> Capital | None:
    amount = None if given is None else given.belop or given.innbetalt
    if given is None or amount is None:
        return None
    return Capital(
        amount=amount,
        currency=given.valuta or "NOK",
        type=given.type,
        since=given.innfort_dato,
        paid_in=given.innbetalt,
        fully_paid=given.fullt_innbetalt,
    )


def _dissolution(entity: Entity, today: str) -> Dissolution | None:
    """Returns the reasons of a compulsory dissolution that has begun, the oldest first."""
    fields = vars(entity)
    if not any(_of_reasons(fields)):
        return None
    if entity.under_tvangsavvikling_eller_tvangsopplosning is False:
        # A flag that is false ends its condition.
        return None
    begun = sorted((day, _REASONS[name]) for name in _REASONS if (day := fields[name]) is not None)
    causes = tuple(DissolutionCause(reason=each, since=day) for day, each in begun if day <= today)
    return Dissolution(reasons=causes) if causes else None


@lru_cache(10_000)
def _registration(name: RegisterName, since: str | None) -> Registration:
    return Registration(register=name, since=since)


def _registrations(entity: Entity) -> tuple[Registration, ...] | None:
    """Returns the entity's entries in further registers; None if nothing is said of any."""
    entered = (
        (
            RegisterName.BUSINESS_ENTERPRISES,
            entity.registrert_i_foretaksregisteret,
            entity.registreringsdato_foretaksregisteret,
        ),
        (RegisterName.VAT, entity.registrert_i_mvaregisteret, entity.vat_since),
        (
            RegisterName.VOLUNTARY_ORGANISATIONS,
            entity.registrert_i_frivillighetsregisteret,
            entity.registreringsdato_frivillighetsregisteret,
        ),
        (RegisterName.FOUNDATIONS, entity.registrert_i_stiftelsesregisteret, None),
        (
            RegisterName.POLITICAL_PARTIES,
            entity.registrert_i_partiregisteret,
            entity.registreringsdato_partiregisteret,
        ),
    )
    found = [_registration(name, day) for name, flag, day in entered if flag]
    if not found and all(flag is None for _, flag, _ in entered):
        return None
    return tuple(found)


def _home_register(entity: Entity) -> HomeRegister | None:
    if not any(_of_home(vars(entity))):
        return None
    form = entity.foretaksform_i_hjemlandet
    home = HomeRegister(
        name=entity.utenlandsk_register_navn,
        number=entity.registreringsnummer_i_hjemlandet,
        country=country_code(entity.underlagt_lovgivning_land_kode),
        form=form and coded(form.kode, form.beskrivelse or form.beskrivelse_bokmaal),
        address=_on_one_line(entity.utenlandsk_register_adresse),
    )
    return None if home == HomeRegister() else home


def _on_one_line(given: BrregAddress | None) -> str | None:
    if given is None:
        return None
    street = ", ".join(line for line in given.adresse if line)
    return on_one_line(None, street, None, given.poststed or "", given.land) or None
