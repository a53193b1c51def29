"""Phone numbers, mail addresses and sites, written as variously as registers have them."""

from dataclasses import dataclass

from register_samples.chance import Draw
from register_samples.facts import Contact, Contacts

_FOLDED = str.maketrans({"æ": "ae", "ø": "oe", "å": "aa", "é": "e", "ö": "o", "ü": "u"})
_MAILBOXES = ("post", "info", "kontakt", "mail", "faktura")


@dataclass(frozen=True, slots=True)
class ContactHabits:
    """Contact data of a register's companies; shares are of all companies."""

    phone_prefix: str
    phone: float
    mobile: float
    fax: float
    email: float
    website: float
    #: The share of contacts that are secret.
    secret: float
    #: The share of phone numbers written in another way than eight digits.
    spaced: float


def domain(name: str) -> str:
    """A domain under a reserved top level, after the name."""
    letters = "".join(filter(str.isalnum, name.lower().translate(_FOLDED)[:24]))
    return f"{letters or 'firma'}.example"


def _written(draw: Draw, digits: str, habits: ContactHabits) -> str:
    if not draw.happens(habits.spaced):
        return digits
    kind = draw.below(3)
    if kind == 0:
        return f"{digits[:2]} {digits[2:4]} {digits[4:6]} {digits[6:]}"
    if kind == 1:
        return f"{digits[:3]} {digits[3:5]} {digits[5:]}"
    return f"{habits.phone_prefix} {digits}"


def phone_number(draw: Draw, habits: ContactHabits, *, firsts: str) -> str:
    """Eight digits beginning with one of these, perhaps with spaces or the country's prefix."""
    digits = f"{draw.pick(firsts)}{draw.below(10_000_000):07d}"
    return _written(draw, digits, habits)


def contacts(draw: Draw, habits: ContactHabits, name: str) -> Contacts:
    """Contact data of a company of this name; some have none."""

    def contact(value: str) -> Contact:
        return Contact(value, secret=draw.happens(habits.secret))

    phone = mobile = fax = email = website = None
    if draw.happens(habits.phone):
        phone = contact(phone_number(draw, habits, firsts="23567"))
    if draw.happens(habits.mobile):
        mobile = contact(phone_number(draw, habits, firsts="49"))
    if draw.happens(habits.fax):
        fax = contact(phone_number(draw, habits, firsts="3567"))
    if draw.happens(habits.email):
        email = contact(f"{draw.pick(_MAILBOXES)}@{domain(name)}")
    if draw.happens(habits.website):
        website = contact(f"www.{domain(name)}")
    return Contacts(phone, mobile, fax, email, website)
