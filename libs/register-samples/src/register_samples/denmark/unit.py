"""`VrproduktionsEnhed`: a production unit of CVR."""

from datetime import timedelta

from register_samples.chance import Draw, Topic
from register_samples.denmark import parts
from register_samples.denmark.parts import held, newest
from register_samples.facts import AS_OF, Company, Document, Unit
from register_samples.registers import DENMARK

_DAY = timedelta(days=1)

#: Units have entity numbers above those of companies, persons and bodies.
_ENTITIES = 4_000_000_000


def unit_document(unit: Unit, owner: Company) -> Document:
    """`{"VrproduktionsEnhed": {...}}` of a unit of a company."""
    draw = Draw(owner.seed, DENMARK.ordinal, Topic.UNIT, int(unit.number))
    since, ended = unit.started, unit.ended
    history = {
        "navne": [held({"navn": unit.name}, since, ended)],
        "beliggenhedsadresse": (
            [parts.address(unit.address, since, ended)] if unit.address else []
        ),
        "postadresse": [],
        "telefonNummer": parts.current(unit.contacts.phone, since, ended),
        "telefaxNummer": parts.current(unit.contacts.fax, since, ended),
        "elektroniskPost": parts.current(unit.contacts.email, since, ended),
        **parts.industries((unit.industry,), since, ended),
        **_employment(unit, draw),
        "livsforloeb": [held({}, since, ended)],
        "virksomhedsrelation": _owners(unit, owner),
        "attributter": [],
        "deltagerRelation": [],
    }
    drawn = draw.day(max(since, AS_OF - timedelta(days=400)), AS_OF)
    return {
        "VrproduktionsEnhed": {
            "pNummer": int(unit.number),
            "brancheAnsvarskode": None,
            "reklamebeskyttet": owner.protected,
            **history,
            "produktionsEnhedMetadata": _metadata(unit, owner, history),
            "samtId": draw.between(1, 20),
            "enhedsNummer": _ENTITIES + int(unit.number),
            "enhedstype": "PRODUKTIONSENHED",
            **parts.record_end(owner.index, drawn),
        }
    }


def _employment(unit: Unit, draw: Draw) -> Document:
    if not unit.employees:
        return parts.no_employment()
    return parts.employment(unit.started, unit.ended, unit.employees, draw)


def _owners(unit: Unit, owner: Company) -> list[Document]:
    """The company it belongs to, after the one it came from."""
    if not unit.moved:
        return [held({"cvrNummer": int(owner.number)}, unit.started, unit.ended)]
    origin, on = unit.moved
    return [
        held({"cvrNummer": int(origin)}, unit.started, max(unit.started, on - _DAY)),
        held({"cvrNummer": int(owner.number)}, on, unit.ended),
    ]


def _metadata(unit: Unit, owner: Company, history: Document) -> Document:
    return {
        "nyesteCvrNummerRelation": int(owner.number),
        "sammensatStatus": "Ophørt" if unit.ended else "Aktiv",
        "nyesteKontaktoplysninger": parts.public(unit.contacts.phone, unit.contacts.email),
        "nyesteNavn": newest(history, "navne"),
        **parts.digest(history),
    }
