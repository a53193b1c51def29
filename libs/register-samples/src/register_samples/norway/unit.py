"""`underenhet`: a place of business, Norway's production unit."""

from register_samples.facts import Company, Document, Form, Naming, Unit
from register_samples.norway import shape as write
from register_samples.norway.entity import reachable
from register_samples.norway.shape import BULK, Shape

_BUSINESS = Form(
    "BEDR", "BEDR", "Underenhet til næringsdrivende og offentlig forvaltning", Naming.TRADING
)
_OTHER = Form("AAFY", "AAFY", "Underenhet til ikke-næringsdrivende", Naming.ASSOCIATION)


def unit(unit: Unit, owner: Company, shape: Shape = BULK) -> Document:
    """One `underenhet` of a company."""
    trading = owner.form.naming not in (Naming.ASSOCIATION, Naming.PROPERTY)
    return {
        "organisasjonsnummer": unit.number,
        "navn": unit.name,
        "organisasjonsform": write.form(_BUSINESS if trading else _OTHER, shape),
        **({"hjemmeside": unit.contacts.website.value} if unit.contacts.website else {}),
        "registreringsdatoEnhetsregisteret": max(unit.started, owner.registered).isoformat(),
        "registrertIMvaregisteret": trading,
        "naeringskode1": write.industry(unit.industry),
        **write.employees(unit.employees, shape),
        **({} if shape.old else reachable(unit.contacts)),
        "overordnetEnhet": owner.number,
        **_dates(unit),
        **({"beliggenhetsadresse": write.address(unit.address)} if unit.address else {}),
        **write.links(
            shape,
            self=f"underenheter/{unit.number}",
            overordnetEnhet=f"enheter/{owner.number}",
        ),
        **({} if shape.old else {"respons_klasse": "Underenhet"}),
    }


def _dates(unit: Unit) -> Document:
    return {
        "oppstartsdato": unit.started.isoformat(),
        **({"datoEierskifte": unit.moved.on.isoformat()} if unit.moved else {}),
        **({"nedleggelsesdato": unit.ended.isoformat()} if unit.ended else {}),
    }
