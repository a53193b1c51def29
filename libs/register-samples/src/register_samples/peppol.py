"""Business cards of the Peppol Directory: who receives electronic documents, at which address."""

from collections.abc import Iterator, Sequence
from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.companies import company
from register_samples.facts import AS_OF, Company, Document, Identifier, Naming
from register_samples.names import foreign_name
from register_samples.numbers import gln
from register_samples.registers import Register
from register_samples.showcase import exhibit
from register_samples.units import units

_PARTICIPANT = "iso6523-actorid-upis"
_DOCUMENT = "busdox-docid-qns"
_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"
_UBL = "urn:oasis:names:specification:ubl:schema:xsd"
_INVOICE = f"{_UBL}:Invoice-2::Invoice##{_BILLING}"
_CREDIT_NOTE = f"{_UBL}:CreditNote-2::CreditNote##{_BILLING}"
_ORDER = (
    f"{_UBL}:Order-2::Order##urn:fdc:peppol.eu:poacc:trns:order:3"
    ":extended:urn:fdc:anonymous-order::2.1"
)

#: A participant of another country for about as many cards of ours.
_ELSEWHERE = 12
_FOREIGN_SCHEMES = {"SE": "0007", "FI": "0216", "NL": "0106", "DE": "9930", "PL": "9945"}

#: Names on cards for the scheme of a holder's number, the most frequent first.
_HOLDER_SCHEMES = {"dk": ("0184", "0184", "DK:DIGST"), "no": ("0192", "0192", "NO:ORG")}

#: Companies can have this many GLNs; it keeps theirs apart.
_GLNS = 4
_OPENED = date(2012, 1, 1)


def cards(register: Register, index: int) -> Iterator[Document]:
    """The cards of the company at a position, and now and then one of a foreign company."""
    holder = company(register, index)
    draw = Draw(register.ordinal, Topic.CARD, index)
    for identifier in identifiers(register, holder):
        scheme = draw.pick(_HOLDER_SCHEMES[register.code])
        named = {"scheme": scheme, "value": holder.number}
        yield card(
            identifier,
            register.code.upper(),
            holder.name,
            [named] if identifier.tells_holder else [],
            orders=draw.happens(0.2),
        )
    if index % _ELSEWHERE == _ELSEWHERE - 1:
        yield _foreign_card(register, index, draw)


def card(
    identifier: Identifier,
    country: str,
    name: str,
    holders: Sequence[Document] = (),
    *,
    orders: bool = False,
) -> Document:
    """The card of an identifier that receives invoices, and orders or not."""
    values = [_INVOICE, _CREDIT_NOTE, *([_ORDER] if orders else [])]
    entity = {
        "names": [{"name": name}],
        "countryCode": country,
        "identifiers": list(holders),
        "regdate": identifier.registered.isoformat(),
    }
    return {
        "pid": f"{_PARTICIPANT}::{identifier.scheme}:{identifier.value}",
        "entities": [entity],
        "docTypes": [{"scheme": _DOCUMENT, "value": value} for value in values],
    }


def _foreign_card(register: Register, index: int, draw: Draw) -> Document:
    country = draw.pick(tuple(_FOREIGN_SCHEMES))
    # Ten digits that no other card has: the register, the position.
    value = f"{register.ordinal}{index:09d}"
    registered = draw.day(date(2015, 1, 1), AS_OF)
    identifier = Identifier(_FOREIGN_SCHEMES[country], value, registered)
    return card(identifier, country, foreign_name(draw, country))


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
    return Identifier("0088", number, _registered(draw), tells_holder=draw.happens(0.9))


def _company_number(register: Register, company: Company, draw: Draw) -> Identifier:
    # Danish numbers are found with and without the letters of the country.
    letters = "DK" if register.code == "dk" and draw.happens(0.5) else ""
    return Identifier(register.company_scheme, letters + company.number, _registered(draw))


def _registered(draw: Draw) -> date:
    return draw.day(_OPENED, AS_OF)
