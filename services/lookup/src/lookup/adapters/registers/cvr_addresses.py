"""CVR addresses in the Danish form: `Prøvevej 43B, 2. th`."""

from common.contracts.company import Address
from lookup.adapters.registers.addresses import care_of, on_one_line, town_line
from lookup.adapters.registers.cvr_documents import CvrAddress


def public_address(given: CvrAddress | None) -> Address | None:
    if given is None:
        return None
    co, street = _co(given), _street(given)
    text = on_one_line(
        co, street, given.bynavn, town_line(given.postnummer, given.postdistrikt), None
    )
    if not text:
        return None
    return Address(
        street=street,
        co=co,
        postal_code=given.postnummer,
        city=given.postdistrikt,
        district=given.bynavn,
        municipality=None if given.kommune is None else given.kommune.kommune_navn,
        country=_country(given.landekode),
        text=text,
    )


def _street(given: CvrAddress) -> str | None:
    """A foreign address is free text, whose lines are joined."""
    house = f"{given.husnummer_fra or ''}{given.bogstav_fra or ''}"
    last_house = f"{given.husnummer_til or ''}{given.bogstav_til or ''}"
    numbers = f"{house}-{last_house}" if house and last_house else house
    road = " ".join(part for part in (given.vejnavn, numbers) if part)
    box = given.postboks and f"Postboks {given.postboks.removeprefix('Postboks ')}"
    parts = (road, _floor_and_door(given), box, *(given.fritekst or "").split("\n"))
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


def _country(code: str | None) -> str | None:
    return code.upper() if code and len(code) == 2 else None
