"""Parts that Norwegian records of several kinds have."""

from typing import Any

from register_samples.facts import Abroad, Address, Contacts, Document, Form, Industry

API = "https://data.brreg.no/enhetsregisteret/api"

#: Countries as the register names them.
_COUNTRIES = {
    "SE": "Sverige",
    "GB": "Storbritannia",
    "DE": "Tyskland",
    "PL": "Polen",
    "FI": "Finland",
    "NL": "Nederland",
    "LT": "Litauen",
    "LV": "Latvia",
    "EE": "Estland",
    "FR": "Frankrike",
    "US": "USA",
}

#: Fewer employees than this are withheld: `antallAnsatte` is absent.
WITHHELD_BELOW = 5


def known(**fields: Any) -> Document:
    """The fields that have a value: the others are absent, as in the register."""
    return {name: value for name, value in fields.items() if value is not None}


def form(form: Form) -> Document:
    return {"kode": form.code, "beskrivelse": form.text, "links": []}


def industry(industry: Industry) -> Document:
    return {"kode": industry.code, "beskrivelse": industry.text}


def address(address: Address | Abroad) -> Document:
    """An address; one abroad has neither postcode nor municipality of its own."""
    if isinstance(address, Abroad):
        return {
            "land": _COUNTRIES[address.country],
            "landkode": address.country,
            "poststed": address.city,
            "adresse": list(address.lines),
        }
    care_of = [f"c/o {address.co}"] if address.co else []
    house = f" {address.house}{address.letter or ''}" if address.house else ""
    line = f"Postboks {address.box}" if address.box else address.street + house
    return {
        "land": "Norge",
        "landkode": "NO",
        "postnummer": address.place.postcode,
        "poststed": address.place.city,
        "adresse": [*care_of, line],
        "kommune": address.place.municipality,
        "kommunenummer": address.place.municipality_code,
    }


def employees(count: int) -> Document:
    shown = count if count >= WITHHELD_BELOW else None
    return known(antallAnsatte=shown, harRegistrertAntallAnsatte=count > 0)


def site(contacts: Contacts) -> Document:
    return known(hjemmeside=contacts.website and contacts.website.value)


def reachable(contacts: Contacts) -> Document:
    """Phone numbers and mail address."""
    return known(
        telefon=contacts.phone and contacts.phone.value,
        mobil=contacts.mobile and contacts.mobile.value,
        epostadresse=contacts.email and contacts.email.value,
    )
