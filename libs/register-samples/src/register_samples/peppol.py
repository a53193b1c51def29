"""Business cards of the Peppol Directory: the receivers of electronic documents."""

from collections.abc import Iterator
from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.companies import AS_OF, company, units
from register_samples.numbers import gln
from register_samples.registers import Document, Register, Templates, Variables

_TEMPLATES = Templates("peppol")
#: Maximum GLNs of the companies; it keeps their numbers apart.
_GLNS = 4
_OPENED = date(2012, 1, 1)


def cards(register: Register, index: int) -> Iterator[Document]:
    """Yields the cards of the company at a position."""
    holder = company(register, index)
    shown: list[Variables] | None = holder.get("identifiers")
    for identifier in _identifiers(register, holder) if shown is None else shown:
        yield card(register, identifier, holder["number"], holder["name"])


def card(register: Register, identifier: Variables, holder: str, name: str) -> Document:
    """Returns the card of an identifier; its holder is a company of the register."""
    variables = {
        **identifier,
        "pid": f"iso6523-actorid-upis::{identifier['scheme']}:{identifier['value']}",
        "name": name,
        "country": register.code.upper(),
        "identifiers": [{"scheme": register.habits["card_scheme"], "value": holder}],
    }
    if identifier["scheme"] in register.habits["bare_schemes"]:
        del variables["identifiers"]
    return _TEMPLATES.fill("card", variables)


def _identifiers(register: Register, company: Variables) -> Iterator[Variables]:
    """Yields the electronic addresses of a company: mostly none; public bodies have GLNs."""
    habits, index, naming = register.habits, company["index"], company["form"]["naming"]
    draw = Draw(register.ordinal, Topic.EINVOICING, index)
    if company["ended"] or naming == "ESTATE":
        return

    def identifier(scheme: str, value: str) -> Variables:
        return {"scheme": scheme, "value": value, "registered": draw.day(_OPENED, AS_OF)}

    glns = draw.between(1, _GLNS) if naming == "PUBLIC" else int(draw.happens(0.03))
    for place in range(glns):
        yield identifier("0088", gln(habits["gln_prefix"], index * _GLNS + place))
    if draw.happens(0.25):
        # Danish numbers are found with and without the letters of the country.
        letters = "DK" if register.code == "dk" and draw.happens(0.5) else ""
        yield identifier(habits["company_scheme"], letters + company["number"])
    if habits["unit_scheme"] and draw.happens(0.02):
        for unit in units(register, company)[:1]:
            yield identifier(habits["unit_scheme"], unit["number"])
