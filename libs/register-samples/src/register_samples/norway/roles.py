"""`roller`: who is what in a company, as in the file `totalbestand`."""

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from register_samples.chance import Draw, Topic
from register_samples.facts import AS_OF, Company, Corporate, Document, Naming, Person
from register_samples.names import person
from register_samples.norway import parts
from register_samples.owners import earlier_company, owners
from register_samples.registers import NORWAY

_ROLES = {
    "DAGL": "Daglig leder",
    "LEDE": "Styrets leder",
    "MEDL": "Styremedlem",
    "VARA": "Varamedlem",
    "INNH": "Innehaver",
    "DTSO": "Deltaker med solidarisk ansvar",
    "DTPR": "Deltaker med delt ansvar",
    "KOMP": "Komplementar",
    "SAM": "Sameier",
    "EIKM": "Eierkommune",
    "BOBE": "Bostyrer",
    "REVI": "Revisor",
    "REGN": "Regnskapsfører",
}
#: Groups of roles; most are called as the one role in them.
_GROUPS = _ROLES | {
    "STYR": "Styre",
    "DTSO": "Deltakere med solidarisk ansvar",
    "DTPR": "Deltakere med delt ansvar",
    "SAM": "Sameiere",
}

#: The group and role that the owners of companies of a legal form have.
_OWNERS = {"ENK": "INNH", "ANS": "DTSO", "DA": "DTPR", "KS": "KOMP", "SAM": "SAM", "IKS": "EIKM"}
_BOARDS = (Naming.TRADING, Naming.ASSOCIATION, Naming.PROPERTY)

#: Of persons born later none is dead.
_LONG_AGO = date(1950, 1, 1)


class _Seat(NamedTuple):
    """The code of a role and who holds it, or held it."""

    code: str
    holder: Person | Corporate
    resigned: bool = False


def roles(company: Company) -> Document | None:
    """The roles of a company with its number; None where the register has none."""
    if company.ended or company.form.code == "UTLA":
        return None
    draw = Draw(NORWAY.ordinal, Topic.OFFICERS, company.index)
    groups = [_group(code, seats, company, draw) for code, seats in _seats(company, draw)]
    if not groups:
        return None
    return {"organisasjonsnummer": company.number, "rollegrupper": groups}


def _seats(company: Company, draw: Draw) -> Iterable[tuple[str, list[_Seat]]]:
    """The groups of roles in a company, each with who sits in it."""
    naming = company.form.naming
    known = owners(NORWAY, company)
    if known:
        code = _OWNERS[company.form.short]
        yield code, [_Seat(code, owner.holder) for owner in known]
    if naming is Naming.ESTATE:
        yield "BOBE", [_Seat("BOBE", _person(draw))]
    if naming in (Naming.TRADING, Naming.FOREIGN, Naming.PUBLIC) and draw.happens(0.8):
        yield "DAGL", [_Seat("DAGL", _person(draw))]
    if naming in _BOARDS:
        yield "STYR", _board(draw)
    if naming is Naming.TRADING and draw.happens(0.4):
        yield "REVI", [_Seat("REVI", earlier_company(NORWAY, company, draw))]
    if naming is Naming.TRADING and draw.happens(0.4):
        yield "REGN", [_Seat("REGN", earlier_company(NORWAY, company, draw))]


def _board(draw: Draw) -> list[_Seat]:
    members = ["LEDE", *["MEDL"] * draw.below(4)]
    if draw.happens(0.2):
        members.append("VARA")
    return [_Seat(code, _person(draw), code != "LEDE" and draw.happens(0.05)) for code in members]


def _person(draw: Draw) -> Person:
    return person(draw, NORWAY)


def _group(code: str, seats: list[_Seat], company: Company, draw: Draw) -> Document:
    changed = draw.day(company.registered, AS_OF)
    return {
        "type": _type(code, _GROUPS[code]),
        "sistEndret": changed.isoformat(),
        "roller": [_role(seat, place, draw) for place, seat in enumerate(seats)],
    }


def _role(seat: _Seat, place: int, draw: Draw) -> Document:
    code, holder, resigned = seat
    return {
        "type": _type(code, _ROLES[code]),
        **_holder(holder, draw),
        "fratraadt": resigned,
        "avregistrert": draw.happens(0.01),
        "rekkefolge": place,
    }


def _holder(holder: Person | Corporate, draw: Draw) -> Document:
    if isinstance(holder, Corporate):
        return {
            "enhet": {
                "organisasjonsnummer": holder.number,
                "organisasjonsform": parts.form(holder.form),
                "navn": [holder.name],
                "erSlettet": False,
            }
        }
    middle = {"mellomnavn": holder.middle} if holder.middle else {}
    dead = holder.born < _LONG_AGO and draw.happens(0.02)
    return {
        "person": {
            "fodselsdato": holder.born.isoformat(),
            "navn": {"fornavn": holder.given, **middle, "etternavn": holder.family},
            "erDoed": dead,
        }
    }


def _type(code: str, text: str) -> Document:
    return {"kode": code, "beskrivelse": text}
