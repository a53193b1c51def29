"""The electronic addresses of companies."""

from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.facts import AS_OF, Company, Identifier, Naming
from register_samples.numbers import gln
from register_samples.registers import Register
from register_samples.showcase import exhibit
from register_samples.units import units

#: Companies can have this many GLNs; it keeps theirs apart.
GLNS = 4

_OPENED = date(2012, 1, 1)


def identifiers(register: Register, company: Company) -> tuple[Identifier, ...]:
    """The electronic addresses of a company: mostly none; public bodies have GLNs."""
    shown = exhibit(register.code, company.index)
    if shown is not None:
        return shown.identifiers
    draw = Draw(company.seed, register.ordinal, Topic.EINVOICING, company.index)
    if company.ended or company.form.naming is Naming.ESTATE:
        return ()
    found = []
    if company.form.naming is Naming.PUBLIC:
        found += [_gln(register, company, draw, place) for place in range(draw.between(1, GLNS))]
    elif draw.happens(0.03):
        found.append(_gln(register, company, draw, 0))
    if draw.happens(0.25):
        found.append(_company_number(register, company, draw))
    if register.unit_scheme and draw.happens(0.02):
        found += [
            Identifier(register.unit_scheme, unit.number, _registered(draw))
            for unit in units(register, company)[:1]
        ]
    return tuple(found)


def _gln(register: Register, company: Company, draw: Draw, place: int) -> Identifier:
    number = gln(register.gln_prefix, company.index * GLNS + place)
    return Identifier("0088", number, _registered(draw), tells_holder=draw.happens(0.9))


def _company_number(register: Register, company: Company, draw: Draw) -> Identifier:
    # Danish numbers are found with and without the letters of the country.
    letters = "DK" if register.code == "dk" and draw.happens(0.5) else ""
    return Identifier(register.company_scheme, letters + company.number, _registered(draw))


def _registered(draw: Draw) -> date:
    return draw.day(_OPENED, AS_OF)
