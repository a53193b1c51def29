"""Names of persons and of companies.

Company names are composed so that millions of them share words but seldom a whole name: every
recipe has many more outcomes than it is used for. Names that registers have many times over (a
first name and a trade) come from `shared_name` alone, whose outcomes are few.
"""

from collections.abc import Callable
from datetime import date

from register_samples.chance import Draw, urn
from register_samples.registers import COINED, FOREIGN_SUFFIXES, LETTERS, Register
from register_samples.templates import Variables

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
