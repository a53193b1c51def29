"""Names of persons and of companies.

Company names are composed so that millions of them share words but seldom a whole name: every
recipe has many more outcomes than it is used for. The names that registers do hold many times
over (a first name and a trade) come from `shared_name` alone, whose outcomes are few.
"""

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from register_samples.chance import Draw, urn
from register_samples.facts import Form, Naming, Person
from register_samples.registers import COINED, Register

_OLDEST = date(1938, 1, 1)
_YOUNGEST = date(2006, 12, 31)


def person(draw: Draw, register: Register) -> Person:
    """A person whose middle name is a second given name or a second surname."""
    given, family = draw.pick(register.given), _surname(draw, register)
    kind = draw.below(10)
    if kind < 1:
        middle = None
    elif kind < 7:
        middle = draw.pick(register.given)
    else:
        middle = draw.pick(register.families)
    return Person(given, middle, family, draw.day(_OLDEST, _YOUNGEST))


def _surname(draw: Draw, register: Register) -> str:
    return draw.pick(register.patronymics if draw.happens(0.2) else register.families)


def coin(draw: Draw) -> str:
    """A word that means nothing."""
    return draw.pick(COINED.starts) + draw.pick(COINED.middles) + draw.pick(COINED.ends)


def _initials(draw: Draw, _register: Register) -> str:
    return "".join(draw.pick(COINED.letters) for _ in range(draw.between(2, 4)))


def _body(draw: Draw, register: Register) -> str:
    return draw.pick(register.bodies).format(draw.pick(register.families))


#: The parts of a name that a recipe can draw.
_PARTS: dict[str, Callable[[Draw, Register], str]] = {
    "coined": lambda draw, _: coin(draw),
    "trade": lambda draw, register: draw.pick(register.trades),
    "ending": lambda draw, register: draw.pick(register.trades).lower(),
    "tag": lambda draw, register: draw.pick(register.tags),
    "given": lambda draw, register: draw.pick(register.given),
    "family": lambda draw, register: draw.pick(register.families),
    "surname": _surname,
    "initials": _initials,
    "holding": lambda draw, register: draw.pick(register.holdings),
    "street": lambda draw, register: draw.pick(register.streets),
    "house": lambda draw, _: str(draw.between(1, 240)),
    "number": lambda draw, _: str(draw.between(1, 999)),
    "association": lambda draw, register: draw.pick(register.associations),
    "qualifier": lambda draw, register: draw.pick(register.qualifiers),
    "dwelling": lambda draw, register: draw.pick(register.dwellings),
    "body": _body,
}


class _Recipe(NamedTuple):
    """The parts of a name in the order in which they are drawn, and how they are put together."""

    parts: str
    pattern: str

    def name(self, draw: Draw, register: Register) -> str:
        drawn = [_PARTS[part](draw, register) for part in self.parts.split()]
        return self.pattern.format(*drawn, conjunction=register.conjunction)


_TRADING = urn(
    {
        _Recipe("coined trade", "{} {}"): 38,
        _Recipe("coined tag", "{} {}"): 8,
        _Recipe("coined trade tag", "{} {} {}"): 4,
        _Recipe("surname family trade", "{} & {} {}"): 9,
        _Recipe("trade trade family", "{2} {0} {conjunction} {1}"): 5,
        _Recipe("given surname trade", "{} {} {}"): 6,
        _Recipe("initials family holding", "{} {} {}"): 12,
        _Recipe("house street holding", "{1} {0} {2}"): 5,
        _Recipe("number coined holding", "{} {} {}"): 2,
        _Recipe("coined ending", "{}{}"): 11,
    }
)
_OTHERS = {
    Naming.PARTNERS: _Recipe("surname family trade", "{} & {} {}"),
    Naming.ASSOCIATION: _Recipe("family association qualifier", "{} {} {}"),
    Naming.PROPERTY: _Recipe("dwelling street house", "{} {} {}"),
    Naming.PUBLIC: _Recipe("body", "{}"),
}


def company_name(draw: Draw, register: Register, form: Form) -> str:
    """A name without its legal form; for all but sole traders and companies from abroad."""
    recipe = _OTHERS.get(form.naming) or draw.pick(_TRADING)
    return recipe.name(draw, register)


def foreign_name(draw: Draw, country: str) -> str:
    """A name with a legal form of its country."""
    trade = draw.pick(COINED.foreign_trades)
    return f"{coin(draw)} {trade} {draw.pick(COINED.foreign_suffixes[country])}"


def shared_name(draw: Draw, register: Register) -> str:
    """One of the names that many companies bear: a first name or a surname, and a trade."""
    whose = draw.pick(register.given if draw.happens(0.5) else register.patronymics)
    return f"{whose} {draw.pick(register.trades)}"


def trader_name(draw: Draw, register: Register, trader: Person) -> str:
    """The name of a sole trader's firm: mostly the person's, with or without the trade."""
    kind = draw.below(10)
    if kind < 7:
        return trader.name
    if kind < 9:
        return f"{draw.pick(register.trades)} v/{trader.name}"
    return f"{trader.family} {draw.pick(register.trades)} {trader.given} {trader.family}"
