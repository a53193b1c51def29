"""The register's own digest of a document: the newest entry of each part.

It keeps the last values of companies that ended, where the parts have no current ones.
"""

from typing import Any

from register_samples.denmark import parts
from register_samples.facts import Company, Document, Unit


def company_metadata(company: Company, history: Document, unit_count: int) -> Document:
    """`virksomhedMetadata`."""
    contacts = company.contacts
    status = company.state.text or ("Ophørt" if company.ended else "Aktiv")
    return {
        "nyesteNavn": _newest(history, "navne"),
        "nyesteBinavne": [name["navn"] for name in history["binavne"]],
        "nyesteVirksomhedsform": _newest(history, "virksomhedsform"),
        **_place_and_industry(history),
        "nyesteStatus": _newest(history, "status"),
        "nyesteKontaktoplysninger": parts.public(
            contacts.phone, contacts.fax, contacts.email, contacts.website
        ),
        "antalPenheder": unit_count,
        **_employment(history),
        "sammensatStatus": status,
        "stiftelsesDato": company.founded.isoformat(),
        "virkningsDato": company.founded.isoformat(),
    }


def unit_metadata(unit: Unit, owner: Company, history: Document) -> Document:
    """`produktionsEnhedMetadata`."""
    return {
        "nyesteCvrNummerRelation": int(owner.number),
        "sammensatStatus": "Ophørt" if unit.ended else "Aktiv",
        "nyesteKontaktoplysninger": parts.public(unit.contacts.phone, unit.contacts.email),
        "nyesteNavn": _newest(history, "navne"),
        **_place_and_industry(history),
        **_employment(history),
    }


def _newest(history: Document, part: str) -> Any:
    found = history.get(part)
    return found[-1] if found else None


def _place_and_industry(history: Document) -> Document:
    return {
        "nyesteBeliggenhedsadresse": _newest(history, "beliggenhedsadresse"),
        "nyesteHovedbranche": _newest(history, "hovedbranche"),
        **{f"nyesteBibranche{n}": _newest(history, f"bibranche{n}") for n in (1, 2, 3)},
    }


def _employment(history: Document) -> Document:
    return {
        "nyesteAarsbeskaeftigelse": _newest(history, "aarsbeskaeftigelse"),
        "nyesteKvartalsbeskaeftigelse": _newest(history, "kvartalsbeskaeftigelse"),
        "nyesteMaanedsbeskaeftigelse": _newest(history, "maanedsbeskaeftigelse"),
        "nyesteErstMaanedsbeskaeftigelse": _newest(history, "erstMaanedsbeskaeftigelse"),
    }
