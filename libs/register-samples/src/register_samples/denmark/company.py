"""`Vrvirksomhed`: a company of CVR."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from register_samples.chance import Draw, Topic
from register_samples.contacts import building, domain, phone_number
from register_samples.denmark import parts
from register_samples.denmark.parts import attribute, held, newest
from register_samples.denmark.relations import entity_number, relations
from register_samples.facts import AS_OF, Company, Contact, Document, Standing, Unit
from register_samples.registers import DENMARK
from register_samples.showcase import SIZE
from register_samples.units import departed, units

_DAY = timedelta(days=1)


def company_document(company: Company) -> Document:
    """`{"Vrvirksomhed": {...}}`, with the history of each part."""
    draw = Draw(company.seed, DENMARK.ordinal, Topic.DETAILS, company.index)
    places = units(DENMARK, company)
    history = {
        **_names(company),
        **_addresses(company, draw),
        **_contacts(company, draw),
        "livsforloeb": [held({}, company.founded, company.ended)],
        **parts.industries(company.industries, company.founded, company.ended),
        "status": _credit_status(company, draw),
        "virksomhedsstatus": _states(company),
        "virksomhedsform": [_form(company)],
        **_employment(company, draw),
        "attributter": _attributes(company, draw),
        "penheder": _units(company, places),
        "deltagerRelation": relations(company),
        "fusioner": [],
        "spaltninger": [],
    }
    drawn = draw.day(max(company.state.since, AS_OF - timedelta(days=400)), AS_OF)
    return {
        "Vrvirksomhed": {
            "cvrNummer": int(company.number),
            "regNummer": [],
            "brancheAnsvarskode": 0,
            "reklamebeskyttet": company.protected,
            **history,
            "virksomhedMetadata": _metadata(company, history, len(places)),
            "samtId": draw.between(1, 60),
            "enhedsNummer": entity_number(company.number),
            "enhedstype": "VIRKSOMHED",
            **parts.record_end(
                company.index, drawn, mistaken=company.index >= SIZE and draw.happens(0.005)
            ),
        }
    }


def _names(company: Company) -> Document:
    former = [held({"navn": name}, since, until) for name, since, until in company.former_names]
    since = company.former_names[-1].until + _DAY if company.former_names else company.founded
    current = held({"navn": company.name}, since, company.ended)
    trade_names = [
        held({"navn": name}, company.founded, company.ended) for name in company.trade_names
    ]
    return {"navne": [*former, current], "binavne": trade_names}


def _addresses(company: Company, draw: Draw) -> Document:
    found, since, latest = [], company.founded, company.ended or AS_OF
    if draw.happens(0.3) and since < latest:
        moved = draw.day(since, latest - _DAY)
        found.append(parts.address(building(draw, DENMARK), since, moved))
        since = moved + _DAY
    if company.address:
        found.append(parts.address(company.address, since, company.ended))
    postal = [company.postal] if company.postal else []
    return {
        "postadresse": [parts.address(at, company.founded, company.ended) for at in postal],
        "beliggenhedsadresse": found,
    }


def _contacts(company: Company, draw: Draw) -> Document:
    """Phone numbers of the past are there too, and the address the authorities write to."""
    since, ended, known = company.founded, company.ended, company.contacts
    former: Sequence[Document] = ()
    if draw.happens(0.1):
        old = Contact(phone_number(draw, DENMARK, firsts="3567"))
        former = (parts.contact(old, since, since + _DAY),)
    official = Contact(f"myndighed@{domain(company.name)}") if draw.happens(0.2) else None
    return {
        "telefonNummer": [*former, *parts.current(known.phone, since, ended)],
        "sekundaertTelefonNummer": parts.current(known.mobile, since, ended),
        "telefaxNummer": parts.current(known.fax, since, ended),
        "sekundaertTelefaxNummer": [],
        "elektroniskPost": parts.current(known.email, since, ended),
        "hjemmeside": parts.current(known.website, since, ended),
        "obligatoriskEmail": parts.current(official, since, ended),
    }


def _credit_status(company: Company, draw: Draw) -> list[Document]:
    if company.state.standing is not Standing.BANKRUPT or draw.happens(0.5):
        return []
    status = {
        "statuskode": 3,
        "statustekst": "Under konkurs",
        "kreditoplysningkode": 1,
        "kreditoplysningtekst": "Konkurs",
    }
    return [held(status, company.state.since)]


def _states(company: Company) -> list[Document]:
    """The words for the standing; sole traders, partnerships and associations have none."""
    standing, text, since = company.state
    if text is None:
        return []
    if standing is Standing.ACTIVE:
        return [held({"status": text}, since)]
    before = max(since - _DAY, company.founded)
    return [
        held({"status": "NORMAL"}, company.founded, before),
        held({"status": text}, since),
    ]


def _form(company: Company) -> Document:
    form = {
        "virksomhedsformkode": int(company.form.code),
        "kortBeskrivelse": company.form.short,
        "langBeskrivelse": company.form.text,
        "ansvarligDataleverandoer": "E&S",
    }
    return held(form, company.founded, company.ended)


def _employment(company: Company, draw: Draw) -> Document:
    if not company.employees and draw.happens(0.6):
        return parts.no_employment()
    return parts.employment(company.founded, company.ended, company.employees, draw)


def _units(company: Company, places: tuple[Unit, ...]) -> list[Document]:
    """The units by number, with when they belonged to the company."""
    present = [(unit, unit.moved.on if unit.moved else unit.started, unit.ended) for unit in places]
    gone = [
        (unit, unit.started, max(unit.started, unit.moved.on - _DAY))
        for unit in departed(DENMARK, company)
        if unit.moved
    ]
    return [
        held({"pNummer": int(unit.number)}, since, until)
        for unit, since, until in (*gone, *present)
    ]


def _attributes(company: Company, draw: Draw) -> list[Document]:
    """Capital, purpose and accounting terms; only companies with a capital have them."""
    if company.capital is None:
        return []
    since = company.founded
    single = {
        "FØRSTE_REGNSKABSPERIODE_START": ("date", since.isoformat()),
        "FØRSTE_REGNSKABSPERIODE_SLUT": ("date", date(since.year + 1, 12, 31).isoformat()),
        "KAPITALVALUTA": ("string", "EUR" if draw.happens(0.02) else "DKK"),
        "PSEUDOCVRNR": ("boolean", "false"),
        "REGNSKABSÅR_START": ("gMonthDay", "--01-01"),
        "REGNSKABSÅR_SLUT": ("gMonthDay", "--12-31"),
        "REVISION_FRAVALGT": ("boolean", "true" if draw.happens(0.5) else "false"),
        "TEGNINGSREGEL": ("string", "Selskabet tegnes af en direktør."),
        **({"FORMÅL": ("string", company.purpose)} if company.purpose else {}),
    }
    return [
        attribute("KAPITAL", "decimal", *_capital(company, company.capital, draw)),
        *(
            attribute(kind, type_, held({"vaerdi": value}, since, company.ended))
            for kind, (type_, value) in single.items()
        ),
    ]


def _capital(company: Company, amount: int, draw: Draw) -> Iterator[Document]:
    """The capital and, for some companies, the half as high one of before."""
    since, latest = company.founded, company.ended or AS_OF
    if draw.happens(0.15) and since < latest:
        raised = draw.day(since + _DAY, latest)
        yield held({"vaerdi": f"{amount // 2}.00"}, since, raised - _DAY)
        since = raised
    yield held({"vaerdi": f"{amount}.00"}, since, company.ended)


def _metadata(company: Company, history: Document, unit_count: int) -> Document:
    contacts = company.contacts
    return {
        "nyesteNavn": newest(history, "navne"),
        "nyesteBinavne": [name["navn"] for name in history["binavne"]],
        "nyesteVirksomhedsform": newest(history, "virksomhedsform"),
        "nyesteStatus": newest(history, "status"),
        "nyesteKontaktoplysninger": parts.public(
            contacts.phone, contacts.fax, contacts.email, contacts.website
        ),
        "antalPenheder": unit_count,
        **parts.digest(history),
        "sammensatStatus": company.state.text or ("Ophørt" if company.ended else "Aktiv"),
        "stiftelsesDato": company.founded.isoformat(),
        "virkningsDato": company.founded.isoformat(),
    }
