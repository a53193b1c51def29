"""Addresses in the register's country and abroad."""

from register_samples.chance import Draw, urn
from register_samples.facts import Abroad, Address
from register_samples.lexicon import COINED, Lexicon

_LETTERS = "ABCDEF"
_FLOORS = urn({None: 60, "st": 8, "1": 12, "2": 8, "3": 6, "4": 3, "5": 1, "kl": 2})
_DOORS = urn({None: 40, "tv": 20, "th": 20, "mf": 8, "1": 4, "12": 4, "0121": 4})


def building(draw: Draw, lexicon: Lexicon) -> Address:
    """A street, a house number and a place."""
    return Address(
        street=draw.pick(lexicon.streets),
        place=draw.pick(lexicon.places),
        house=draw.between(1, 20) if draw.happens(0.5) else draw.between(1, 240),
        letter=draw.pick(_LETTERS) if draw.happens(0.18) else None,
    )


def in_flat(draw: Draw, address: Address) -> Address:
    """The address with a floor and a door, where there is one; Danish addresses have them."""
    floor = draw.pick(_FLOORS)
    return address._replace(floor=floor, door=draw.pick(_DOORS) if floor else None)


def post_box(draw: Draw, lexicon: Lexicon) -> Address:
    return Address(street="", place=draw.pick(lexicon.places), box=str(draw.between(1, 3999)))


def abroad(draw: Draw) -> Abroad:
    """A town abroad and its lines; now and then the register has no lines."""
    town = draw.pick(COINED.foreign_towns)
    if draw.happens(0.05):
        return town
    street = f"{draw.pick(COINED.foreign_streets)} {draw.between(1, 300)}"
    second = (f"Unit {draw.between(1, 40)}",) if draw.happens(0.2) else ()
    return town._replace(lines=(*second, street))
