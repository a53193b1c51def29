"""CVR addresses in the Danish format: `Prøvevej 43B, 2. th`."""

from common.contracts.company import Address
from ingest.records.fields import country_code
from ingest.records.text import (
    DANISH,
    care_of,
    on_one_line,
    split_abroad,
    town_line,
    without_country,
)
from ingest.registers.cvr.documents import CvrAddress


def public_address(given: CvrAddress | None) -> Address | None:
    """Returns the public form of an address; None if it is missing or empty."""
    if given is None:
        return None
    co, country = _co(given), country_code(given.landekode)
    abroad = None if country is None or country == "DK" else DANISH.get(country)
    lines = without_country(given.fritekst.split("\n"), country) if given.fritekst else []
    postal_code, city = given.postnummer, given.postdistrikt
    town = town_line(postal_code, city)
    # An address abroad is free text.
    is_free = bool(country and lines and not town)
    if is_free and (parts := split_abroad(lines, country or "")):
        lines, postal_code, city = parts
        town = town_line(postal_code, city)
    street = _street(given, lines)
    if not (co or street or given.bynavn or town):
        return None
    text = on_one_line(co, street, given.bynavn, town, abroad)
    if is_free and abroad and not town:
        # The parts cannot be told apart.
        street = None
    kommune = given.kommune
    return Address(
        street=street,
        co=co,
        postal_code=postal_code,
        city=city,
        district=given.bynavn,
        municipality=None if kommune is None else kommune.kommune_navn,
        municipality_code=None if kommune is None else kommune.kommune_kode,
        id=given.adresse_id,
        country=country,
        text=text,
    )


def _street(given: CvrAddress, lines: list[str]) -> str | None:
    house = f"{given.husnummer_fra or ''}{given.bogstav_fra or ''}"
    last_house = f"{given.husnummer_til or ''}{given.bogstav_til or ''}"
    numbers = f"{house}-{last_house}" if house and last_house else house
    road = " ".join(part for part in (given.vejnavn, numbers) if part)
    box = given.postboks and f"Postboks {given.postboks.removeprefix('Postboks ')}"
    parts = (road, _floor_and_door(given), box, *lines)
    return ", ".join(part.strip(" ,") for part in parts if part and part.strip(" ,")) or None


def _floor_and_door(given: CvrAddress) -> str:
    floor = given.etage
    if floor and floor.isdigit():
        floor = floor.lstrip("0") or "0"
    return " ".join(part for part in (floor and f"{floor.rstrip('.')}.", given.sidedoer) if part)


def _co(given: CvrAddress) -> str | None:
    if given.conavn is None:
        return None
    named = care_of(given.conavn)
    return given.conavn if named is None else named or None
