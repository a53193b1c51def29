"""Parts that Norwegian records of several kinds have."""

from register_samples.facts import Abroad, Address, Document, Form, Industry

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
    return {
        "land": "Norge",
        "landkode": "NO",
        "postnummer": address.place.postcode,
        "poststed": address.place.city,
        "adresse": _lines(address),
        "kommune": address.place.municipality,
        "kommunenummer": address.place.municipality_code,
    }


def employees(count: int) -> Document:
    if count < WITHHELD_BELOW:
        return {"harRegistrertAntallAnsatte": count > 0}
    return {"antallAnsatte": count, "harRegistrertAntallAnsatte": True}


def _lines(address: Address) -> list[str]:
    care_of = [f"c/o {address.co}"] if address.co else []
    if address.box:
        return [*care_of, f"Postboks {address.box}"]
    house = f" {address.house}{address.letter or ''}" if address.house else ""
    return [*care_of, address.street + house]
