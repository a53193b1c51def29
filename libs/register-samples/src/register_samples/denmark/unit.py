"""`VrproduktionsEnhed`: a production unit of CVR."""

from datetime import timedelta

from register_samples.chance import Draw, Topic
from register_samples.denmark import parts
from register_samples.denmark.parts import held
from register_samples.facts import AS_OF, Company, Document, Unit
from register_samples.registers import DENMARK

_DAY = timedelta(days=1)


def unit_document(unit: Unit, owner: Company) -> Document:
    """`{"VrproduktionsEnhed": {...}}` of a unit of a company."""
    draw = Draw(DENMARK.ordinal, Topic.UNIT, int(unit.number))
    since, ended = unit.started, unit.ended
    return {
        "VrproduktionsEnhed": {
            "pNummer": int(unit.number),
            "navne": [held({"navn": unit.name}, since, ended)],
            "beliggenhedsadresse": (
                [parts.address(unit.address, since, ended)] if unit.address else []
            ),
            "telefonNummer": parts.current(unit.contacts.phone, since, ended),
            "elektroniskPost": parts.current(unit.contacts.email, since, ended),
            "hovedbranche": [parts.industry(unit.industry, since, ended)],
            **(parts.employment(ended, unit.employees, draw) if unit.employees else {}),
            "livsforloeb": [held({}, since, ended)],
            "virksomhedsrelation": _owners(unit, owner),
            "produktionsEnhedMetadata": {
                "nyesteCvrNummerRelation": int(owner.number),
                "sammensatStatus": "Ophørt" if ended else "Aktiv",
            },
            **parts.record_end(
                owner.index, draw.day(max(since, AS_OF - timedelta(days=400)), AS_OF)
            ),
        }
    }


def _owners(unit: Unit, owner: Company) -> list[Document]:
    """The company it belongs to, after the one it came from."""
    if not unit.moved:
        return [held({"cvrNummer": int(owner.number)}, unit.started, unit.ended)]
    origin, on = unit.moved
    return [
        held({"cvrNummer": int(origin)}, unit.started, max(unit.started, on - _DAY)),
        held({"cvrNummer": int(owner.number)}, on, unit.ended),
    ]
