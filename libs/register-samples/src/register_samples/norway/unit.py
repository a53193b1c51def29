"""`underenhet`: a place of business, Norway's production unit."""

from register_samples.facts import Company, Document, Form, Naming, Unit
from register_samples.norway import parts
from register_samples.norway.entity import reachable

_BUSINESS = Form(
    "BEDR", "BEDR", "Underenhet til næringsdrivende og offentlig forvaltning", Naming.TRADING
)
_OTHER = Form("AAFY", "AAFY", "Underenhet til ikke-næringsdrivende", Naming.ASSOCIATION)


def unit(unit: Unit, owner: Company) -> Document:
    """One `underenhet` of a company."""
    trading = owner.form.naming not in (Naming.ASSOCIATION, Naming.PROPERTY)
    return {
        "organisasjonsnummer": unit.number,
        "navn": unit.name,
        "organisasjonsform": parts.form(_BUSINESS if trading else _OTHER),
        **({"hjemmeside": unit.contacts.website.value} if unit.contacts.website else {}),
        "registreringsdatoEnhetsregisteret": max(unit.started, owner.registered).isoformat(),
        "registrertIMvaregisteret": trading,
        "naeringskode1": parts.industry(unit.industry),
        **parts.employees(unit.employees),
        **reachable(unit.contacts),
        "overordnetEnhet": owner.number,
        **_dates(unit),
        **({"beliggenhetsadresse": parts.address(unit.address)} if unit.address else {}),
        "links": [],
        "respons_klasse": "Underenhet",
    }


def _dates(unit: Unit) -> Document:
    return {
        "oppstartsdato": unit.started.isoformat(),
        **({"datoEierskifte": unit.moved.on.isoformat()} if unit.moved else {}),
        **({"nedleggelsesdato": unit.ended.isoformat()} if unit.ended else {}),
    }
