"""`deltagerRelation`: owners, partners, management, founders and auditors of a company."""

from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.contacts import building, in_flat
from register_samples.denmark import parts
from register_samples.denmark.parts import attribute, held, period, recorded
from register_samples.facts import (
    AS_OF,
    Company,
    Corporate,
    Document,
    Naming,
    Owner,
    Ownership,
    Person,
)
from register_samples.names import person
from register_samples.owners import earlier_company, owners
from register_samples.registers import DENMARK

#: Persons have numbers of their own kind, none of them their personal identity number.
_PERSONS, _COMPANIES, _BODIES = 4_100_000_000, 4_000_000_000, 4_500_000_000

#: Roles of the people who answer for a company: the body's name and their function.
_LIABLE = {
    Ownership.SOLE: ("Indehaver", "INDEHAVER"),
    Ownership.PARTNERS: ("Interessenter", "INTERESSENT"),
    Ownership.GENERAL_PARTNER: ("Komplementarer", "KOMPLEMENTAR"),
}
_REGISTER_OPENED = date(1903, 1, 1)


def relations(company: Company) -> list[Document]:
    """Everybody related to the company; home addresses of persons included, as in the register."""
    draw = Draw(company.seed, DENMARK.ordinal, Topic.OFFICERS, company.index)
    found = [_owner(owner, company, draw) for owner in owners(DENMARK, company)]
    if company.form.naming is Naming.TRADING:
        found += _management(company, draw)
    if draw.happens(0.02):
        found.append(_anonymous(company))
    return found


def entity_number(company_number: str) -> int:
    """The number of a company as a participant."""
    return _COMPANIES + int(company_number)


def _owner(owner: Owner, company: Company, draw: Draw) -> Document:
    kind = DENMARK.ownership[company.form.short]
    if kind is Ownership.SHAREHOLDERS:
        bodies = [_register("EJERREGISTER", _holding(owner))]
        if isinstance(owner.holder, Person) and draw.happens(0.5):
            bodies.append(_register("Reelle ejere", _beneficial(owner)))
        return _relation(owner.holder, draw, *bodies)
    name, function = _LIABLE[kind]
    liable = _function(function, owner.since, company.ended)
    body = _body("FULDT_ANSVARLIG_DELTAGERE", name, company.founded, liable)
    return _relation(owner.holder, draw, body)


def _holding(owner: Owner) -> list[Document]:
    """The share and the votes, as floors of intervals, and the day they were reported."""
    values = {
        "EJERANDEL_MEDDELELSE_DATO": ("date", owner.since.isoformat()),
        "EJERANDEL_PROCENT": ("decimal", owner.share),
        "EJERANDEL_STEMMERET_PROCENT": ("decimal", owner.votes),
    }
    return [
        attribute(kind, type_, held({"vaerdi": value}, owner.since, owner.until))
        for kind, (type_, value) in values.items()
    ]


def _beneficial(owner: Owner) -> list[Document]:
    """The exact share of a beneficial owner, which is not public any more."""
    exact = f"{min(float(owner.share or 0) + 0.0186, 1.0):.4f}"
    value = held({"vaerdi": exact}, owner.since, owner.until)
    return [attribute("EJERANDEL_PROCENT", "decimal", value)]


def _management(company: Company, draw: Draw) -> list[Document]:
    """A director, perhaps a board and an auditor, and the founder."""
    since, ended = company.founded, company.ended
    found = [_officer("Direktion", "DIREKTION", company, draw)]
    if company.form.short == "A/S":
        found += [_officer("Bestyrelse", "BESTYRELSE", company, draw) for _ in range(3)]
    if draw.happens(0.3):
        body = _body("REVISION", "Revision", since, _function("REVISION", since, ended))
        found.append(_relation(earlier_company(DENMARK, company, draw), draw, body))
    if draw.happens(0.3):
        body = _body("STIFTERE", "Stiftere", since, _function("STIFTERE", since))
        found.append(_relation(person(draw, DENMARK), draw, body))
    return found


def _officer(name: str, function: str, company: Company, draw: Draw) -> Document:
    since = draw.day(company.founded, company.ended or AS_OF)
    body = _body("LEDELSESORGAN", name, company.founded, _function(function, since, company.ended))
    return _relation(person(draw, DENMARK), draw, body)


def _register(name: str, attributes: list[Document]) -> Document:
    return _body("REGISTER", name, _REGISTER_OPENED, attributes)


def _body(main_type: str, name: str, since: date, attributes: list[Document]) -> Document:
    """An organisation that a participant is a member of."""
    return {
        "enhedsNummerOrganisation": _BODIES + since.toordinal(),
        "hovedtype": main_type,
        "organisationsNavn": [held({"navn": name}, since)],
        "attributter": _function(name, since),
        "medlemsData": [{"attributter": attributes}],
    }


def _function(value: str, since: date, until: date | None = None) -> list[Document]:
    return [attribute("FUNKTION", "string", held({"vaerdi": value}, since, until))]


def _relation(holder: Person | Corporate, draw: Draw, *bodies: Document) -> Document:
    deltager = _person(holder, draw) if isinstance(holder, Person) else _corporate(holder, draw)
    return {"deltager": deltager, "kontorsteder": [], "organisationer": list(bodies)}


def _person(holder: Person, draw: Draw) -> Document:
    home = in_flat(draw, building(draw, DENMARK))
    moved = draw.day(holder.born, AS_OF)
    return {
        **_participant("PERSON", _PERSONS + draw.below(300_000_000), None),
        "navne": [{"navn": holder.name, "periode": period(None), "sidstOpdateret": None}],
        "beliggenhedsadresse": [parts.address(home, moved)] if draw.happens(0.7) else [],
    }


def _corporate(holder: Corporate, draw: Draw) -> Document:
    since = draw.day(date(1990, 1, 1), AS_OF)
    seat = building(draw, DENMARK)
    return {
        **_participant("VIRKSOMHED", entity_number(holder.number), int(holder.number)),
        "navne": [held({"navn": holder.name}, since)],
        "beliggenhedsadresse": [parts.address(seat, since)],
    }


def _participant(kind: str, number: int, key: int | None) -> Document:
    return {
        "enhedsNummer": number,
        "enhedstype": kind,
        "forretningsnoegle": key,
        "organisationstype": None,
        "sidstIndlaest": recorded(AS_OF),
        "sidstOpdateret": recorded(AS_OF),
    }


def _anonymous(company: Company) -> Document:
    """A relation without its participant, as the register has some."""
    function = _function("DIREKTION", company.founded, company.ended)
    body = _body("LEDELSESORGAN", "Direktion", company.founded, function)
    return {"deltager": None, "kontorsteder": [], "organisationer": [body]}
