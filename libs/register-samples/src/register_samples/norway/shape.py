"""What differs between the versions of the Norwegian formats, and what all records have."""

from dataclasses import dataclass

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

#: Fewer employees than this are withheld: `antallAnsatte` is absent then, except in old files.
WITHHELD_BELOW = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """How records are written.

    `old` is the bulk file of 2022: fewer fields, and every number of employees is told.
    `supervised` records carry `_links` as the API answers do; bulk files have an empty `links`.
    """

    old: bool = False
    supervised: bool = False


#: The bulk files of today.
BULK = Shape()


def links(shape: Shape, **targets: str) -> Document:
    """The links of a record: paths below the API, or the bulk file's empty list."""
    if not shape.supervised:
        return {"links": []}
    return {"_links": {name: {"href": f"{API}/{path}"} for name, path in targets.items()}}


def form(form: Form, shape: Shape) -> Document:
    return {
        "kode": form.code,
        "beskrivelse": form.text,
        **links(shape, self=f"organisasjonsformer/{form.code}"),
    }


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


def employees(count: int, shape: Shape) -> Document:
    if shape.old:
        return {"antallAnsatte": count}
    if count < WITHHELD_BELOW:
        return {"harRegistrertAntallAnsatte": count > 0}
    return {"antallAnsatte": count, "harRegistrertAntallAnsatte": True}


def _lines(address: Address) -> list[str]:
    care_of = [f"c/o {address.co}"] if address.co else []
    if address.box:
        return [*care_of, f"Postboks {address.box}"]
    house = f" {address.house}{address.letter or ''}" if address.house else ""
    return [*care_of, address.street + house]
