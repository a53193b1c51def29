"""`Vrvirksomhed`: a company of CVR."""

from datetime import timedelta

from register_samples.chance import Draw, Topic
from register_samples.contacts import building
from register_samples.denmark import parts
from register_samples.denmark.parts import attribute, held
from register_samples.denmark.relations import relations
from register_samples.facts import AS_OF, Company, Document, Industry, Standing
from register_samples.registers import DENMARK
from register_samples.units import departed, units

_DAY = timedelta(days=1)
_UNKNOWN = Industry("980000", "Uoplyst")


def company_document(company: Company) -> Document:
    """`{"Vrvirksomhed": {...}}`, with the history of each part."""
    draw = Draw(DENMARK.ordinal, Topic.DETAILS, company.index)
    since, ended = company.founded, company.ended
    status = company.state.text or ("Ophørt" if ended else "Aktiv")
    return {
        "Vrvirksomhed": {
            "cvrNummer": int(company.number),
            "reklamebeskyttet": company.protected,
            **_names(company),
            **_addresses(company, draw),
            **_contacts(company),
            "livsforloeb": [held({}, since, ended)],
            **_industries(company),
            "virksomhedsstatus": _states(company),
            "virksomhedsform": [_form(company)],
            **_employment(company, draw),
            "attributter": _attributes(company, draw),
            "penheder": _units(company),
            "deltagerRelation": relations(company),
            "virksomhedMetadata": {"sammensatStatus": status},
            **parts.record_end(
                company.index,
                draw.day(max(company.state.since, AS_OF - timedelta(days=400)), AS_OF),
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


def _contacts(company: Company) -> Document:
    since, ended, known = company.founded, company.ended, company.contacts
    return {
        "telefonNummer": parts.current(known.phone, since, ended),
        "sekundaertTelefonNummer": parts.current(known.mobile, since, ended),
        "telefaxNummer": parts.current(known.fax, since, ended),
        "elektroniskPost": parts.current(known.email, since, ended),
        "hjemmeside": parts.current(known.website, since, ended),
    }


def _industries(company: Company) -> Document:
    """The main industry and up to two secondary ones."""
    known = [
        parts.industry(each, company.founded, company.ended)
        for each in company.industries or (_UNKNOWN,)
    ]
    names = ("hovedbranche", "bibranche1", "bibranche2")
    return {name: known[place : place + 1] for place, name in enumerate(names)}


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
    }
    return held(form, company.founded, company.ended)


def _employment(company: Company, draw: Draw) -> Document:
    if not company.employees and draw.happens(0.6):
        return {}
    return parts.employment(company.ended, company.employees, draw)


def _units(company: Company) -> list[Document]:
    """The units by number, with when they belonged to the company."""
    present = [
        (unit, unit.moved.on if unit.moved else unit.started, unit.ended)
        for unit in units(DENMARK, company)
    ]
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
    """Capital and purpose; only companies with a capital have them."""
    if company.capital is None:
        return []
    values = {
        "KAPITAL": f"{company.capital}.00",
        "KAPITALVALUTA": "EUR" if draw.happens(0.02) else "DKK",
        **({"FORMÅL": company.purpose} if company.purpose else {}),
    }
    return [
        attribute(kind, held({"vaerdi": value}, company.founded, company.ended))
        for kind, value in values.items()
    ]
