"""`roller`: who is what in a company, as in the file `totalbestand`."""

from collections.abc import Iterator, Sequence

from register_samples.chance import Draw, Topic
from register_samples.facts import Company, Corporate, Document, Naming, Person
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

#: The code of a role and who holds it.
Seat = tuple[str, Person | Corporate]


def roles(company: Company) -> Document | None:
    """The roles of a company with its number; None where the register has none."""
    if company.ended or company.form.code == "UTLA":
        return None
    draw = Draw(NORWAY.ordinal, Topic.OFFICERS, company.index)
    groups = [group(code, seats) for code, seats in _seats(company, draw)]
    if not groups:
        return None
    return {"organisasjonsnummer": company.number, "rollegrupper": groups}


def group(code: str, seats: Sequence[Seat]) -> Document:
    """The roles of one group, such as a board."""
    return {
        "type": _type(code, _GROUPS[code]),
        "roller": [
            {
                "type": _type(role, _ROLES[role]),
                **_holder(holder),
                "fratraadt": False,
                "avregistrert": False,
            }
            for role, holder in seats
        ],
    }


def _seats(company: Company, draw: Draw) -> Iterator[tuple[str, list[Seat]]]:
    """The groups of roles in a company, each with who sits in it."""
    naming = company.form.naming
    known = owners(NORWAY, company)
    if known:
        code = _OWNERS[company.form.short]
        yield code, [(code, owner.holder) for owner in known]
    if naming is Naming.ESTATE:
        yield "BOBE", [("BOBE", person(draw, NORWAY))]
    if naming in (Naming.TRADING, Naming.FOREIGN, Naming.PUBLIC) and draw.happens(0.8):
        yield "DAGL", [("DAGL", person(draw, NORWAY))]
    if naming in _BOARDS:
        members = ["LEDE", *["MEDL"] * draw.below(4), *(["VARA"] if draw.happens(0.2) else [])]
        yield "STYR", [(code, person(draw, NORWAY)) for code in members]
    for code in ("REVI", "REGN"):
        if naming is Naming.TRADING and draw.happens(0.4):
            yield code, [(code, earlier_company(NORWAY, company, draw))]


def _holder(holder: Person | Corporate) -> Document:
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
    return {
        "person": {
            "fodselsdato": holder.born.isoformat(),
            "navn": {"fornavn": holder.given, **middle, "etternavn": holder.family},
            "erDoed": False,
        }
    }


def _type(code: str, text: str) -> Document:
    return {"kode": code, "beskrivelse": text}
