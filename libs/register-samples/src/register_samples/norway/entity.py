"""`enhet`, a company of Enhetsregisteret, and `underenhet`, a place of business: Norway's unit."""

from datetime import date
from functools import cache
from textwrap import wrap

from register_samples.chance import Draw, Topic
from register_samples.facts import AS_OF, Company, Document, Form, Naming, Standing, Unit
from register_samples.norway import parts
from register_samples.owners import earlier_company
from register_samples.registers import NORWAY

_PRIVATE = ("2100", "Private aksjeselskaper mv.")
_SECTORS = {
    Naming.TRADING: _PRIVATE,
    Naming.FOREIGN: _PRIVATE,
    Naming.ESTATE: _PRIVATE,
    Naming.SOLE_TRADER: ("8200", "Personlig næringsdrivende"),
    Naming.PARTNERS: ("2300", "Personlige foretak"),
    Naming.ASSOCIATION: ("7000", "Ideelle organisasjoner"),
    Naming.PROPERTY: ("8300", "Borettslag o.l."),
    Naming.PUBLIC: ("6500", "Kommuneforvaltningen"),
}
_SINCE = {
    Standing.BANKRUPT: "konkursdato",
    Standing.LIQUIDATION: "underAvviklingDato",
    Standing.COMPULSORY: "tvangsopplostPgaManglendeRegnskapDato",
    Standing.RECONSTRUCTION: "underRekonstruksjonsforhandlingDato",
    Standing.ENDED: "slettedato",
}
#: The day on which employees were last counted.
_COUNTED = date(2026, 6, 12).isoformat()
_TRADED = (Naming.TRADING, Naming.PARTNERS, Naming.FOREIGN)

_BUSINESS = Form(
    "BEDR", "BEDR", "Underenhet til næringsdrivende og offentlig forvaltning", Naming.TRADING
)
_OTHER = Form("AAFY", "AAFY", "Underenhet til ikke-næringsdrivende", Naming.ASSOCIATION)


def entity(company: Company) -> Document:
    """One `enhet`; fields without a value are absent, as in the register."""
    draw = Draw(NORWAY.ordinal, Topic.DETAILS, company.index)
    naming = company.form.naming
    sector, sector_text = _SECTORS[naming]
    return {
        "organisasjonsnummer": company.number,
        "navn": company.name,
        "organisasjonsform": parts.form(company.form),
        **parts.site(company.contacts),
        **parts.known(postadresse=company.postal and parts.address(company.postal)),
        "registreringsdatoEnhetsregisteret": company.registered.isoformat(),
        **_vat(company, draw),
        **{f"naeringskode{n}": parts.industry(x) for n, x in enumerate(company.industries, 1)},
        **parts.employees(company.employees),
        **parts.reachable(company.contacts),
        **parts.known(forretningsadresse=company.address and parts.address(company.address)),
        # Sole traders have no date of foundation, only that of registration.
        **({} if naming is Naming.SOLE_TRADER else {"stiftelsesdato": str(company.founded)}),
        "institusjonellSektorkode": {"kode": sector, "beskrivelse": sector_text},
        "registrertIForetaksregisteret": naming in _TRADED,
        "registrertIStiftelsesregisteret": company.form.code == "STI",
        "registrertIFrivillighetsregisteret": naming is Naming.ASSOCIATION,
        **_accounts(company, draw),
        **_parent(company, draw),
        **_standing(company),
        "maalform": "Nynorsk" if draw.happens(0.12) else "Bokmål",
        **_newer(company, draw),
        "links": [],
        "respons_klasse": "Enhet",
    }


def unit(unit: Unit, owner: Company) -> Document:
    """One `underenhet` of a company."""
    trading = owner.form.naming not in (Naming.ASSOCIATION, Naming.PROPERTY)
    return {
        "organisasjonsnummer": unit.number,
        "navn": unit.name,
        "organisasjonsform": parts.form(_BUSINESS if trading else _OTHER),
        **parts.site(unit.contacts),
        "registreringsdatoEnhetsregisteret": max(unit.started, owner.registered).isoformat(),
        "registrertIMvaregisteret": trading,
        "naeringskode1": parts.industry(unit.industry),
        **parts.employees(unit.employees),
        **parts.reachable(unit.contacts),
        "overordnetEnhet": owner.number,
        **parts.known(
            oppstartsdato=unit.started.isoformat(),
            datoEierskifte=unit.moved and unit.moved.on.isoformat(),
            nedleggelsesdato=unit.ended and unit.ended.isoformat(),
            beliggenhetsadresse=unit.address and parts.address(unit.address),
        ),
        "links": [],
        "respons_klasse": "Underenhet",
    }


def _vat(company: Company, draw: Draw) -> Document:
    registered = company.form.naming in _TRADED and draw.happens(0.7)
    record: Document = {"registrertIMvaregisteret": registered}
    day = company.registered.isoformat()
    if registered:
        record["registreringsdatoMerverdiavgiftsregisteret"] = day
        record["registreringsdatoMerverdiavgiftsregisteretEnhetsregisteret"] = day
    return record


def _accounts(company: Company, draw: Draw) -> Document:
    if company.form.naming is not Naming.TRADING or draw.happens(0.1):
        return {}
    return {"sisteInnsendteAarsregnskap": str(AS_OF.year - draw.between(1, 2))}


def _parent(company: Company, draw: Draw) -> Document:
    if company.form.code != "ORGL":
        return {}
    return {"overordnetEnhet": earlier_company(NORWAY, company, draw).number}


def _standing(company: Company) -> Document:
    standing, _, since = company.state
    return {
        "konkurs": standing is Standing.BANKRUPT,
        "underAvvikling": standing is Standing.LIQUIDATION,
        "underTvangsavviklingEllerTvangsopplosning": standing is Standing.COMPULSORY,
        **({_SINCE[standing]: since.isoformat()} if standing in _SINCE else {}),
    }


def _newer(company: Company, draw: Draw) -> Document:
    """Fields that the register has added since."""
    record: Document = {"registrertIPartiregisteret": False, "paategninger": []}
    if company.form.naming in _TRADED:
        record["registreringsdatoForetaksregisteret"] = company.registered.isoformat()
    if company.former_names:
        record["historiskeNavn"] = [
            {"navn": former.name, "fraDato": str(former.since), "tilDato": str(former.until)}
            for former in company.former_names
        ]
    if company.employees:
        record["registreringsdatoAntallAnsatteEnhetsregisteret"] = _COUNTED
        record["registreringsdatoAntallAnsatteNAVAaregisteret"] = _COUNTED
    if company.purpose:
        record["vedtektsdato"] = draw.day(company.founded, AS_OF).isoformat()
        record["vedtektsfestetFormaal"] = list(_in_lines(company.purpose))
        record["aktivitet"] = list(_in_lines(company.purpose))
    if company.capital:
        record["kapital"] = _capital(company.capital, company.registered)
        record["erIKonsern"] = draw.happens(0.2)
    return record


@cache
def _in_lines(text: str) -> tuple[str, ...]:
    """A text in lines as wide as the register's."""
    return tuple(wrap(text, 70))


def _capital(amount: int, entered: date) -> Document:
    return {
        "belop": float(amount),
        "antallAksjer": amount // 10,
        "type": "Aksjekapital",
        "valuta": "NOK",
        "innfortDato": entered.isoformat(),
        "fulltInnbetalt": True,
    }
