"""`enhet`: a company of Enhetsregisteret, as in the bulk file `enheter` and the API."""

from datetime import date, timedelta
from functools import cache
from textwrap import wrap

from register_samples.chance import Draw, Topic
from register_samples.facts import (
    AS_OF,
    Abroad,
    Company,
    Contact,
    Contacts,
    Document,
    Naming,
    Standing,
)
from register_samples.norway import parts
from register_samples.owners import earlier_company
from register_samples.registers import NORWAY

_SECTORS = {
    Naming.TRADING: ("2100", "Private aksjeselskaper mv."),
    Naming.FOREIGN: ("2100", "Private aksjeselskaper mv."),
    Naming.SOLE_TRADER: ("8200", "Personlig næringsdrivende"),
    Naming.PARTNERS: ("2300", "Personlige foretak"),
    Naming.ASSOCIATION: ("7000", "Ideelle organisasjoner"),
    Naming.PROPERTY: ("8300", "Borettslag o.l."),
    Naming.PUBLIC: ("6500", "Kommuneforvaltningen"),
    Naming.ESTATE: ("2100", "Private aksjeselskaper mv."),
}
_SINCE = {
    Standing.BANKRUPT: "konkursdato",
    Standing.LIQUIDATION: "underAvviklingDato",
    Standing.COMPULSORY: "tvangsopplostPgaManglendeRegnskapDato",
    Standing.RECONSTRUCTION: "underRekonstruksjonsforhandlingDato",
}
#: The day on which employees were last counted.
_COUNTED = date(2026, 6, 12)
_TRADED = (Naming.TRADING, Naming.PARTNERS, Naming.FOREIGN)


def entity(company: Company) -> Document:
    """One `enhet`; fields without a value are absent, as in the register."""
    draw = Draw(company.seed, NORWAY.ordinal, Topic.DETAILS, company.index)
    return {
        "organisasjonsnummer": company.number,
        "navn": company.name,
        "organisasjonsform": parts.form(company.form),
        **_site(company.contacts),
        **_postal(company),
        "registreringsdatoEnhetsregisteret": company.registered.isoformat(),
        **_vat(company, draw),
        **_industries(company),
        **parts.employees(company.employees),
        **reachable(company.contacts),
        **_business_address(company),
        **_founding(company),
        **_sector(company),
        **_registers(company),
        **_accounts(company, draw),
        **_parent(company, draw),
        **_standing(company),
        "maalform": "Nynorsk" if draw.happens(0.12) else "Bokmål",
        **_newer(company, draw),
        "links": [],
        "respons_klasse": "Enhet",
    }


def reachable(contacts: Contacts) -> Document:
    """Phone numbers and mail address, where known."""
    known: dict[str, Contact | None] = {
        "telefon": contacts.phone,
        "mobil": contacts.mobile,
        "epostadresse": contacts.email,
    }
    return {field: contact.value for field, contact in known.items() if contact}


def _site(contacts: Contacts) -> Document:
    return {"hjemmeside": contacts.website.value} if contacts.website else {}


def _postal(company: Company) -> Document:
    return {"postadresse": parts.address(company.postal)} if company.postal else {}


def _business_address(company: Company) -> Document:
    if company.address:
        return {"forretningsadresse": parts.address(company.address)}
    return {}


def _vat(company: Company, draw: Draw) -> Document:
    registered = company.form.naming in _TRADED and draw.happens(0.7)
    record: Document = {"registrertIMvaregisteret": registered}
    day = company.registered.isoformat()
    if registered and draw.happens(0.04):
        record["frivilligMvaRegistrertBeskrivelser"] = ["Utleier av bygg eller anlegg"]
        record["registreringsdatoFrivilligMerverdiavgiftsregisteret"] = day
    if registered:
        record["registreringsdatoMerverdiavgiftsregisteret"] = day
        record["registreringsdatoMerverdiavgiftsregisteretEnhetsregisteret"] = day
    return record


def _industries(company: Company) -> Document:
    return {
        f"naeringskode{place}": parts.industry(industry)
        for place, industry in enumerate(company.industries, start=1)
    }


def _founding(company: Company) -> Document:
    # Sole traders have no date of foundation, only that of registration.
    if company.form.naming is Naming.SOLE_TRADER:
        return {}
    return {"stiftelsesdato": company.founded.isoformat()}


def _sector(company: Company) -> Document:
    code, text = _SECTORS[company.form.naming]
    return {"institusjonellSektorkode": {"kode": code, "beskrivelse": text}}


def _registers(company: Company) -> Document:
    naming = company.form.naming
    return {
        "registrertIForetaksregisteret": naming in _TRADED,
        "registrertIStiftelsesregisteret": company.form.code == "STI",
        "registrertIFrivillighetsregisteret": naming is Naming.ASSOCIATION,
    }


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
    record: Document = {
        "konkurs": standing is Standing.BANKRUPT,
        "underAvvikling": standing is Standing.LIQUIDATION,
        "underTvangsavviklingEllerTvangsopplosning": standing is Standing.COMPULSORY,
    }
    if standing is Standing.ENDED:
        record["slettedato"] = since.isoformat()
    elif standing is not Standing.ACTIVE:
        record[_SINCE[standing]] = since.isoformat()
    return record


def _newer(company: Company, draw: Draw) -> Document:
    record: Document = {"registrertIPartiregisteret": False, "paategninger": []}
    if company.form.naming in _TRADED:
        record["registreringsdatoForetaksregisteret"] = company.registered.isoformat()
    if company.former_names:
        record["historiskeNavn"] = [
            {"navn": former.name, "fraDato": str(former.since), "tilDato": str(former.until)}
            for former in company.former_names
        ]
    if company.employees:
        record["registreringsdatoAntallAnsatteEnhetsregisteret"] = _COUNTED.isoformat()
        record["registreringsdatoAntallAnsatteNAVAaregisteret"] = _COUNTED.isoformat()
    if company.purpose:
        record |= _statutes(company, company.purpose, draw)
    if company.capital:
        record["kapital"] = _capital(company.capital, company.registered)
        record["erIKonsern"] = draw.happens(0.2)
    if draw.happens(0.005):
        record["paategninger"] = [_remark(draw)]
    if isinstance(company.address, Abroad):
        record |= _at_home(company.address, draw)
    return record


def _statutes(company: Company, purpose: str, draw: Draw) -> Document:
    adopted = draw.day(company.founded, AS_OF)
    return {
        "vedtektsdato": adopted.isoformat(),
        "vedtektsfestetFormaal": list(_in_lines(purpose)),
        "aktivitet": list(_in_lines(purpose)),
    }


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


def _remark(draw: Draw) -> Document:
    entered = AS_OF - timedelta(days=draw.below(900))
    return {
        "infotype": "FADR",
        "tekst": "Foretaket er ikke funnet på registrert adresse.",
        "innfoertDato": entered.isoformat(),
    }


def _at_home(address: Abroad, draw: Draw) -> Document:
    """The home register of a foreign company."""
    written = parts.address(address)
    return {
        "registreringsnummerIHjemlandet": f"{draw.between(1_000_000, 99_999_999)}",
        "underlagtLovgivningLand": written["land"],
        "underlagtLovgivningLandKode": address.country,
        "utenlandskRegisterNavn": "Companies register",
        "utenlandskRegisterAdresse": {
            "adresse": written["adresse"],
            "poststed": address.city,
            "land": written["land"],
        },
    }
