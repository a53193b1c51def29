"""Addresses, phone numbers, mail addresses and sites, written as variously as registers do."""

from register_samples.chance import Draw, urn
from register_samples.facts import Abroad, Address, Contact, Contacts
from register_samples.registers import COINED, Register

_LETTERS = "ABCDEF"
_FLOORS = urn({None: 60, "st": 8, "1": 12, "2": 8, "3": 6, "4": 3, "5": 1, "kl": 2})
_DOORS = urn({None: 40, "tv": 20, "th": 20, "mf": 8, "1": 4, "12": 4, "0121": 4})
_FOLDED = str.maketrans({"æ": "ae", "ø": "oe", "å": "aa", "é": "e", "ö": "o", "ü": "u"})
_MAILBOXES = ("post", "info", "kontakt", "mail", "faktura")


def building(draw: Draw, register: Register) -> Address:
    """A street, a house number and a place."""
    return Address(
        street=draw.pick(register.streets),
        place=draw.pick(register.places),
        house=draw.between(1, 20) if draw.happens(0.5) else draw.between(1, 240),
        letter=draw.pick(_LETTERS) if draw.happens(0.18) else None,
    )


def in_flat(draw: Draw, address: Address) -> Address:
    """The address with a floor and a door, where there is one; Danish addresses have them."""
    floor = draw.pick(_FLOORS)
    return address._replace(floor=floor, door=draw.pick(_DOORS) if floor else None)


def post_box(draw: Draw, register: Register) -> Address:
    return Address(street="", place=draw.pick(register.places), box=str(draw.between(1, 3999)))


def abroad(draw: Draw) -> Abroad:
    """A town abroad and its lines; now and then the register has no lines."""
    town = draw.pick(COINED.foreign_towns)
    if draw.happens(0.05):
        return town
    street = f"{draw.pick(COINED.foreign_streets)} {draw.between(1, 300)}"
    second = (f"Unit {draw.between(1, 40)}",) if draw.happens(0.2) else ()
    return town._replace(lines=(*second, street))


def domain(name: str) -> str:
    """A domain under a reserved top level, after the name."""
    letters = "".join(filter(str.isalnum, name.lower().translate(_FOLDED)[:24]))
    return f"{letters or 'firma'}.example"


def _phone_number(draw: Draw, *, firsts: str) -> str:
    """Eight digits beginning with one of these."""
    return f"{draw.pick(firsts)}{draw.below(10_000_000):07d}"


def contacts(draw: Draw, register: Register, name: str) -> Contacts:
    """Contact data of a company of this name; some have none."""
    habits = register.contacts

    def contact(value: str) -> Contact:
        return Contact(value, secret=draw.happens(habits.secret))

    phone = mobile = fax = email = website = None
    if draw.happens(habits.phone):
        phone = contact(_phone_number(draw, firsts="23567"))
    if draw.happens(habits.mobile):
        mobile = contact(_phone_number(draw, firsts="49"))
    if draw.happens(habits.fax):
        fax = contact(_phone_number(draw, firsts="3567"))
    if draw.happens(habits.email):
        email = contact(f"{draw.pick(_MAILBOXES)}@{domain(name)}")
    if draw.happens(habits.website):
        website = contact(f"www.{domain(name)}")
    return Contacts(phone, mobile, fax, email, website)
