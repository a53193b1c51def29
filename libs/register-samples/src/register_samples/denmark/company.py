"""`Vrvirksomhed`: a company of CVR."""

from collections.abc import Sequence
from datetime import timedelta

from register_samples.addresses import building
from register_samples.chance import Draw, Topic
from register_samples.contacts import domain, phone_number
from register_samples.denmark import parts
from register_samples.denmark.attributes import attributes
from register_samples.denmark.metadata import company_metadata
from register_samples.denmark.periods import SHOWCASE_CHANGED, held, record_end
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
        "attributter": attributes(company, draw),
        "penheder": _units(company, places),
        "deltagerRelation": relations(company),
        "fusioner": [],
        "spaltninger": [],
    }
    drawn = draw.day(max(company.state.since, AS_OF - timedelta(days=400)), AS_OF)
    changed = SHOWCASE_CHANGED if company.index < SIZE else drawn
    return {
        "Vrvirksomhed": {
            "cvrNummer": int(company.number),
            "regNummer": [],
            "brancheAnsvarskode": 0,
            "reklamebeskyttet": company.protected,
            **history,
            "virksomhedMetadata": company_metadata(company, history, len(places)),
            "samtId": draw.between(1, 60),
            "enhedsNummer": entity_number(company.number),
            "enhedstype": "VIRKSOMHED",
            **record_end(changed, mistaken=company.index >= SIZE and draw.happens(0.005)),
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
        found.append(parts.address(building(draw, DENMARK.lexicon), since, moved))
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
        old = Contact(phone_number(draw, DENMARK.contacts, firsts="3567"))
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
