"""Names, addresses and contacts, with the variety of the registers."""

from collections.abc import Callable
from datetime import date

from register_samples.chance import Draw, Topic, urn
from register_samples.registers import COINED, FOREIGN_SUFFIXES, LETTERS, Register, Variables

_OLDEST = date(1938, 1, 1)
_YOUNGEST = date(2006, 12, 31)


def person(draw: Draw, register: Register) -> Variables:
    """Returns a person whose middle name is a second given name or a second surname."""
    words = register.words
    given, family = draw.pick(words["given"]), _surname(draw, register)
    kind = draw.below(10)
    middle = None if kind < 1 else draw.pick(words["given" if kind < 7 else "families"])
    return named({"given": given, "middle": middle, "family": family}, draw.day(_OLDEST, _YOUNGEST))


def named(names: Variables, born: date) -> Variables:
    """Returns a person of these names."""
    parts = (names["given"], names.get("middle"), names["family"])
    return {**names, "born": born, "name": " ".join(filter(None, parts))}


def _surname(draw: Draw, register: Register) -> str:
    return draw.pick(register.words["patronymics" if draw.happens(0.2) else "families"])


def coin(draw: Draw) -> str:
    """Returns a word without a meaning."""
    return "".join(draw.pick(COINED[part]) for part in ("starts", "middles", "ends"))


def _initials(draw: Draw, _register: Register) -> str:
    return "".join(draw.pick(LETTERS) for _ in range(draw.between(2, 4)))


def _body(draw: Draw, register: Register) -> str:
    return draw.pick(register.words["bodies"]).format(draw.pick(register.words["families"]))


#: Parts of a name that are not words of the register as they are.
_MADE: dict[str, Callable[[Draw, Register], str]] = {
    "coined": lambda draw, _: coin(draw),
    "surname": _surname,
    "initials": _initials,
    "ending": lambda draw, register: draw.pick(register.words["trades"]).lower(),
    "body": _body,
    "house": lambda draw, _: str(draw.between(1, 240)),
    "number": lambda draw, _: str(draw.between(1, 999)),
}


#: The parts of a name in the order in which they are drawn, and how they are put together.
_Recipe = tuple[str, str]

_TRADING: tuple[_Recipe, ...] = urn(
    [
        (("coined trades", "{} {}"), 38),
        (("coined tags", "{} {}"), 8),
        (("coined trades tags", "{} {} {}"), 4),
        (("surname families trades", "{} & {} {}"), 9),
        (("trades trades families", "{2} {0} {conjunction} {1}"), 5),
        (("given surname trades", "{} {} {}"), 6),
        (("initials families holdings", "{} {} {}"), 12),
        (("house streets holdings", "{1} {0} {2}"), 5),
        (("number coined holdings", "{} {} {}"), 2),
        (("coined ending", "{}{}"), 11),
    ]
)
_OTHERS: dict[str, _Recipe] = {
    "PARTNERS": ("surname families trades", "{} & {} {}"),
    "ASSOCIATION": ("families associations qualifiers", "{} {} {}"),
    "PROPERTY": ("dwellings streets house", "{} {} {}"),
    "PUBLIC": ("body", "{}"),
}


def company_name(draw: Draw, register: Register, form: Variables) -> str:
    """Returns a name without its legal form; for all but sole traders and companies from abroad."""
    parts, pattern = _OTHERS.get(form["naming"]) or draw.pick(_TRADING)
    drawn = [
        _MADE[part](draw, register) if part in _MADE else draw.pick(register.words[part])
        for part in parts.split()
    ]
    return pattern.format(*drawn, conjunction=register.habits["conjunction"])


def foreign_name(draw: Draw, country: str) -> str:
    """Returns a name with a legal form of its country."""
    trade = draw.pick(COINED["foreign_trades"])
    return f"{coin(draw)} {trade} {draw.pick(FOREIGN_SUFFIXES[country])}"


def shared_name(draw: Draw, register: Register) -> str:
    """Returns one of the names that many companies bear: a first name or a surname, and a trade."""
    whose = draw.pick(register.words["given" if draw.happens(0.5) else "patronymics"])
    return f"{whose} {draw.pick(register.words['trades'])}"


def trader_name(draw: Draw, register: Register, trader: Variables) -> str:
    """Returns the name of a sole trader's firm: mostly the person's, with or without the trade."""
    kind = draw.below(10)
    if kind < 7:
        return str(trader["name"])
    trade = draw.pick(register.words["trades"])
    if kind < 9:
        return f"{trade} v/{trader['name']}"
    return f"{trader['family']} {trade} {trader['given']} {trader['family']}"


#: The share of companies in a building with others, and companies per such building.
SHARED_BUILDINGS = 0.17
TENANTS = 20

_LETTERS = "ABCDEF"
_FLOORS = urn([(None, 60), ("st", 8), ("1", 12), ("2", 8), ("3", 6), ("4", 3), ("5", 1), ("kl", 2)])
_DOORS = urn([(None, 40), ("tv", 20), ("th", 20), ("mf", 8), ("1", 4), ("12", 4), ("0121", 4)])
_FOLDED = str.maketrans({"æ": "ae", "ø": "oe", "å": "aa", "é": "e", "ö": "o", "ü": "u"})
_MAILBOXES = ("post", "info", "kontakt", "mail", "faktura")
#: The first digits of phone numbers.
_FIRSTS = {"phone": "23567", "mobile": "49", "fax": "3567"}


def company_address(register: Register, index: int, draw: Draw) -> Variables | None:
    """Returns the address of the company at a position; a few have none."""
    if draw.happens(register.habits["nowhere"]):
        return None
    if draw.happens(SHARED_BUILDINGS):
        key = draw.below(index // TENANTS + 1)
        address = building(Draw(register.ordinal, Topic.BUILDING, key), register)
    else:
        address = building(draw, register)
    if register.habits["flats"]:
        address = in_flat(draw, address)
        if draw.happens(0.06):
            address["district"] = draw.pick(register.words["families"])
    if draw.happens(register.habits["care_of"]):
        address["co"] = _care_of(register, draw)
    return address


def postal_address(register: Register, draw: Draw) -> Variables | None:
    """Returns a post-office box or a care-of address; most companies have none of their own."""
    if not draw.happens(register.habits["postal"]):
        return None
    if draw.happens(0.6):
        return {**draw.pick(register.places), "box": str(draw.between(1, 3999))}
    return {**building(draw, register), "co": _care_of(register, draw)}


def _care_of(register: Register, draw: Draw) -> str:
    if draw.happens(0.7):
        return str(person(draw, register)["name"])
    return f"{coin(draw)} {draw.pick(register.words['trades'])}"


def building(draw: Draw, register: Register) -> Variables:
    """Returns a street, a house number and a place."""
    return {
        "street": draw.pick(register.words["streets"]),
        **draw.pick(register.places),
        "house": draw.between(1, 20) if draw.happens(0.5) else draw.between(1, 240),
        "letter": draw.pick(_LETTERS) if draw.happens(0.18) else None,
    }


def in_flat(draw: Draw, address: Variables) -> Variables:
    """Returns the address with a floor and a door, if the country's addresses have them."""
    floor = draw.pick(_FLOORS)
    return {**address, "floor": floor, "door": draw.pick(_DOORS) if floor else None}


def abroad(draw: Draw) -> Variables:
    """Returns a town abroad and its lines; sometimes the register has no lines."""
    country, _, city = draw.pick(COINED["foreign_towns"]).partition(" ")
    lines: list[str] = []
    if not draw.happens(0.05):
        lines = [f"{draw.pick(COINED['foreign_streets'])} {draw.between(1, 300)}"]
        if draw.happens(0.2):
            lines.insert(0, f"Unit {draw.between(1, 40)}")
    return {"lines": lines, "city": city, "country": country}


def contacts(draw: Draw, register: Register, name: str) -> Variables:
    """Returns the contact data of a company of this name, each with whether it is secret."""
    habits = register.habits["contacts"]

    def value(contact: str) -> str:
        if contact in _FIRSTS:
            return f"{draw.pick(_FIRSTS[contact])}{draw.below(10_000_000):07d}"
        return (
            f"{draw.pick(_MAILBOXES)}@{_domain(name)}"
            if contact == "email"
            else f"www.{_domain(name)}"
        )

    return {
        contact: {"value": value(contact), "secret": draw.happens(habits["secret"])}
        for contact in ("phone", "mobile", "fax", "email", "website")
        if draw.happens(habits[contact])
    }


def _domain(name: str) -> str:
    """Returns a domain under a reserved top level, after the name."""
    letters = "".join(filter(str.isalnum, name.lower().translate(_FOLDED)[:24]))
    return f"{letters or 'firma'}.example"
