"""Company names, composed so that millions of them share words but seldom a whole name.

Every recipe has many more outcomes than it is used for. The names that registers do hold many
times over (a first name and a trade) come from `shared_name` alone, whose outcomes are few.
"""

from collections.abc import Callable

from register_samples.chance import Draw, urn
from register_samples.facts import Form, Naming, Person
from register_samples.lexicon import COINED, Lexicon
from register_samples.people import surname

Recipe = Callable[[Draw, Lexicon], str]


def coin(draw: Draw) -> str:
    """A word that means nothing."""
    return draw.pick(COINED.starts) + draw.pick(COINED.middles) + draw.pick(COINED.ends)


def _coined_trade(draw: Draw, lexicon: Lexicon) -> str:
    return f"{coin(draw)} {draw.pick(lexicon.trades)}"


def _coined_tag(draw: Draw, lexicon: Lexicon) -> str:
    return f"{coin(draw)} {draw.pick(lexicon.tags)}"


def _coined_trade_tag(draw: Draw, lexicon: Lexicon) -> str:
    return f"{coin(draw)} {draw.pick(lexicon.trades)} {draw.pick(lexicon.tags)}"


def _two_families(draw: Draw, lexicon: Lexicon) -> str:
    first, second = surname(draw, lexicon), draw.pick(lexicon.families)
    return f"{first} & {second} {draw.pick(lexicon.trades)}"


def _family_two_trades(draw: Draw, lexicon: Lexicon) -> str:
    first, second = draw.pick(lexicon.trades), draw.pick(lexicon.trades)
    return f"{draw.pick(lexicon.families)} {first} {lexicon.conjunction} {second}"


def _person_trade(draw: Draw, lexicon: Lexicon) -> str:
    return f"{draw.pick(lexicon.given)} {surname(draw, lexicon)} {draw.pick(lexicon.trades)}"


def _initials_holding(draw: Draw, lexicon: Lexicon) -> str:
    letters = "".join(draw.pick(COINED.letters) for _ in range(draw.between(2, 4)))
    return f"{letters} {draw.pick(lexicon.families)} {draw.pick(lexicon.holdings)}"


def _street_property(draw: Draw, lexicon: Lexicon) -> str:
    house = draw.between(1, 240)
    return f"{draw.pick(lexicon.streets)} {house} {draw.pick(lexicon.holdings)}"


def _numbered(draw: Draw, lexicon: Lexicon) -> str:
    return f"{draw.between(1, 999)} {coin(draw)} {draw.pick(lexicon.holdings)}"


def _plain(draw: Draw, lexicon: Lexicon) -> str:
    return f"{coin(draw)}{draw.pick(lexicon.trades).lower()}"


_TRADING = urn(
    {
        _coined_trade: 38,
        _coined_tag: 8,
        _coined_trade_tag: 4,
        _two_families: 9,
        _family_two_trades: 5,
        _person_trade: 6,
        _initials_holding: 12,
        _street_property: 5,
        _numbered: 2,
        _plain: 11,
    }
)


def _association(draw: Draw, lexicon: Lexicon) -> str:
    place, kind = draw.pick(lexicon.families), draw.pick(lexicon.associations)
    return f"{place} {kind} {draw.pick(lexicon.qualifiers)}"


def _dwelling(draw: Draw, lexicon: Lexicon) -> str:
    return f"{draw.pick(lexicon.dwellings)} {draw.pick(lexicon.streets)} {draw.between(1, 240)}"


def _body(draw: Draw, lexicon: Lexicon) -> str:
    return draw.pick(lexicon.bodies).format(draw.pick(lexicon.families))


def _trading(draw: Draw, lexicon: Lexicon) -> str:
    return draw.pick(_TRADING)(draw, lexicon)


_RECIPES: dict[Naming, Recipe] = {
    Naming.TRADING: _trading,
    Naming.PARTNERS: _two_families,
    Naming.ASSOCIATION: _association,
    Naming.PROPERTY: _dwelling,
    Naming.PUBLIC: _body,
    Naming.ESTATE: _trading,
}


def company_name(draw: Draw, lexicon: Lexicon, form: Form) -> str:
    """A name without its legal form; for all but sole traders and companies from abroad."""
    return _RECIPES[form.naming](draw, lexicon)


def foreign_name(draw: Draw, country: str) -> str:
    """A name with a legal form of its country."""
    trade = draw.pick(COINED.foreign_trades)
    return f"{coin(draw)} {trade} {draw.pick(COINED.foreign_suffixes[country])}"


def shared_name(draw: Draw, lexicon: Lexicon) -> str:
    """One of the names that many companies bear: a first name or a surname, and a trade."""
    whose = draw.pick(lexicon.given) if draw.happens(0.5) else draw.pick(lexicon.patronymics)
    return f"{whose} {draw.pick(lexicon.trades)}"


def trader_name(draw: Draw, lexicon: Lexicon, trader: Person) -> str:
    """The name of a sole trader's firm: mostly the person's, with or without the trade."""
    kind = draw.below(10)
    if kind < 7:
        return trader.name
    if kind < 9:
        return f"{draw.pick(lexicon.trades)} v/{trader.name}"
    return f"{trader.family} {draw.pick(lexicon.trades)} {trader.given} {trader.family}"
