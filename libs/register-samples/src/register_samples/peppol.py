"""Business cards of the Peppol Directory: who receives electronic documents, at which address."""

from collections.abc import Iterator
from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.companies import company
from register_samples.facts import AS_OF, Company, Document, Identifier, Naming
from register_samples.numbers import gln
from register_samples.registers import Register
from register_samples.showcase import exhibit
from register_samples.units import units

_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"
_UBL = "urn:oasis:names:specification:ubl:schema:xsd"
#: A receiver of invoices receives credit notes, too.
_DOCUMENT_TYPES = (
    f"{_UBL}:Invoice-2::Invoice##{_BILLING}",
    f"{_UBL}:CreditNote-2::CreditNote##{_BILLING}",
)

#: Companies can have this many GLNs; it keeps theirs apart.
_GLNS = 4
_OPENED = date(2012, 1, 1)


def cards(register: Register, index: int) -> Iterator[Document]:
    """The cards of the company at a position."""
    holder = company(register, index)
    for identifier in identifiers(register, holder):
        yield card(register, identifier, holder.number, holder.name)


def card(register: Register, identifier: Identifier, holder: str, name: str) -> Document:
    """The card of an identifier; its holder is a company of the register."""
    entity = {
        "names": [{"name": name}],
        "countryCode": register.code.upper(),
        "identifiers": [{"scheme": register.company_scheme, "value": holder}],
        "regdate": identifier.registered.isoformat(),
    }
    return {
        "pid": f"iso6523-actorid-upis::{identifier.scheme}:{identifier.value}",
        "entities": [entity],
        "docTypes": [{"scheme": "busdox-docid-qns", "value": value} for value in _DOCUMENT_TYPES],
    }


def identifiers(register: Register, company: Company) -> tuple[Identifier, ...]:
    """The electronic addresses of a company: mostly none; public bodies have GLNs."""
    shown = exhibit(register.code, company.index)
    if shown is not None:
        return shown.identifiers
    draw = Draw(register.ordinal, Topic.EINVOICING, company.index)
    if company.ended or company.form.naming is Naming.ESTATE:
        return ()
    found = []
    if company.form.naming is Naming.PUBLIC:
        found += [_gln(register, company, draw, place) for place in range(draw.between(1, _GLNS))]
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
    number = gln(register.gln_prefix, company.index * _GLNS + place)
    return Identifier("0088", number, _registered(draw))


def _company_number(register: Register, company: Company, draw: Draw) -> Identifier:
    # Danish numbers are found with and without the letters of the country.
    letters = "DK" if register.code == "dk" and draw.happens(0.5) else ""
    return Identifier(register.company_scheme, letters + company.number, _registered(draw))


def _registered(draw: Draw) -> date:
    return draw.day(_OPENED, AS_OF)
