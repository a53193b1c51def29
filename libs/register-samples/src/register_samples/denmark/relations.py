"""`deltagerRelation`: owners, partners, management and auditors of a company."""

from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.contacts import building, in_flat
from register_samples.denmark import parts
from register_samples.denmark.parts import attribute, held
from register_samples.facts import AS_OF, Company, Document, Naming, Owner, Ownership, Person
from register_samples.names import person
from register_samples.owners import earlier_company, owners
from register_samples.registers import DENMARK

#: Roles of the people who answer for a company: the body's name and their function.
_LIABLE = {
    Ownership.SOLE: ("Indehaver", "INDEHAVER"),
    Ownership.PARTNERS: ("Interessenter", "INTERESSENT"),
    Ownership.GENERAL_PARTNER: ("Komplementarer", "KOMPLEMENTAR"),
}


def relations(company: Company) -> list[Document]:
    """Everybody related to the company; home addresses of persons included, as in the register."""
    draw = Draw(DENMARK.ordinal, Topic.OFFICERS, company.index)
    found = [_owner(owner, company, draw) for owner in owners(DENMARK, company)]
    if company.form.naming is Naming.TRADING:
        found += _management(company, draw)
    return found


def firm(number: str, name: str) -> Document:
    """A company as a participant."""
    return {
        "enhedstype": "VIRKSOMHED",
        "forretningsnoegle": int(number),
        "navne": [{"navn": name}],
    }


def shareholder(
    holder: Document, share: str | None, votes: str | None, since: date, until: date | None = None
) -> Document:
    """A participant in the register of owners, with floors of intervals."""
    values = {"EJERANDEL_PROCENT": share, "EJERANDEL_STEMMERET_PROCENT": votes}
    holding = [
        attribute(kind, held({"vaerdi": value}, since, until)) for kind, value in values.items()
    ]
    return _relation(holder, "REGISTER", "EJERREGISTER", *holding)


def _owner(owner: Owner, company: Company, draw: Draw) -> Document:
    if isinstance(owner.holder, Person):
        holder = _person(owner.holder, draw)
    else:
        holder = firm(owner.holder.number, owner.holder.name)
    kind = DENMARK.ownership[company.form.short]
    if kind is Ownership.SHAREHOLDERS:
        return shareholder(holder, owner.share, owner.votes, owner.since, owner.until)
    name, function = _LIABLE[kind]
    liable = _function(function, owner.since, company.ended)
    return _relation(holder, "FULDT_ANSVARLIG_DELTAGERE", name, liable)


def _management(company: Company, draw: Draw) -> list[Document]:
    """A director, perhaps a board and an auditor."""
    found = [_officer("Direktion", "DIREKTION", company, draw)]
    if company.form.short == "A/S":
        found += [_officer("Bestyrelse", "BESTYRELSE", company, draw) for _ in range(3)]
    if draw.happens(0.3):
        auditor = earlier_company(DENMARK, company, draw)
        function = _function("REVISION", company.founded, company.ended)
        found.append(
            _relation(firm(auditor.number, auditor.name), "REVISION", "Revision", function)
        )
    return found


def _officer(name: str, function: str, company: Company, draw: Draw) -> Document:
    since = draw.day(company.founded, company.ended or AS_OF)
    officer = _person(person(draw, DENMARK), draw)
    return _relation(officer, "LEDELSESORGAN", name, _function(function, since, company.ended))


def _function(value: str, since: date, until: date | None) -> Document:
    return attribute("FUNKTION", held({"vaerdi": value}, since, until))


def _relation(holder: Document, main_type: str, name: str, *attributes: Document) -> Document:
    """A participant as a member of an organisation."""
    organisation = {
        "hovedtype": main_type,
        "organisationsNavn": [{"navn": name}],
        "medlemsData": [{"attributter": list(attributes)}],
    }
    return {"deltager": holder, "organisationer": [organisation]}


def _person(holder: Person, draw: Draw) -> Document:
    home = parts.address(in_flat(draw, building(draw, DENMARK)), draw.day(holder.born, AS_OF))
    return {
        "enhedstype": "PERSON",
        "forretningsnoegle": None,
        "navne": [{"navn": holder.name}],
        "beliggenhedsadresse": [home],
    }
