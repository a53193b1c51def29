"""The facts of the company at a position."""

from datetime import date, timedelta
from typing import NamedTuple

from register_samples.chance import Draw, Topic, urn
from register_samples.contacts import abroad, building, contacts, in_flat, post_box
from register_samples.facts import (
    AS_OF,
    Abroad,
    Address,
    Company,
    Corporate,
    Form,
    FormerName,
    Industry,
    Naming,
    Person,
    Standing,
    State,
)
from register_samples.names import (
    coin,
    company_name,
    foreign_name,
    person,
    shared_name,
    trader_name,
)
from register_samples.registers import Register
from register_samples.showcase import exhibit

#: The share of companies whose name comes from the shared ones, and companies per such name.
#: Names by chance alike and shared names borne once only nearly cancel out: 7 % share theirs.
SHARED_NAMES = 0.067
BEARERS = 40

#: The share of companies in a building with others, and companies per such building.
SHARED_BUILDINGS = 0.17
TENANTS = 20

_STAFF = urn({0: 42, 1: 14, 2: 8, 3: 6, 4: 4, 7: 9, 15: 8, 35: 5, 70: 2, 150: 1, 600: 1})
_PERSONAL = (Naming.SOLE_TRADER, Naming.PARTNERS, Naming.ASSOCIATION)


class Identity(NamedTuple):
    """Name and legal form of a company, drawn before all other facts."""

    name: str
    form: Form
    trader: Person | None = None
    home: Abroad | None = None


class Life(NamedTuple):
    founded: date
    registered: date
    state: State

    @property
    def latest(self) -> date:
        """The last day of which the register has data."""
        return self.state.since if self.state.standing is Standing.ENDED else AS_OF


def corporate(register: Register, index: int) -> Corporate:
    """The company at a position as others refer to it."""
    shown = exhibit(register.code, index)
    if shown is not None:
        return shown.company.corporate
    who = _identity(register, index, _draw(register, index))
    return Corporate(register.company_number(index), who.name, who.form)


def company(register: Register, index: int) -> Company:
    """The company at a position, counted from 0; a function of its arguments alone."""
    shown = exhibit(register.code, index)
    if shown is not None:
        return shown.company
    draw = _draw(register, index)
    who = _identity(register, index, draw)
    life = _life(register, draw, who.form)
    address = who.home or _address(register, index, draw)
    return Company(
        index=index,
        number=register.company_number(index),
        name=who.name,
        form=who.form,
        founded=life.founded,
        registered=life.registered,
        state=life.state,
        address=address,
        industries=_industries(register, draw),
        employees=_employees(draw, who.form),
        trader=who.trader,
        former_names=_former_names(register, draw, who.form, life),
        trade_names=_trade_names(register, draw),
        postal=_postal(register, draw),
        contacts=contacts(draw, register, who.name),
        capital=_capital(register, draw, who.form),
        purpose=_purpose(register, draw, who.form),
        protected=draw.happens(0.45),
    )


def _draw(register: Register, index: int) -> Draw:
    return Draw(register.ordinal, Topic.COMPANY, index)


def _identity(register: Register, index: int, draw: Draw) -> Identity:
    if draw.happens(SHARED_NAMES):
        # The names grow in number with the register, so that their share stays the same.
        key = draw.below(index // BEARERS + 1)
        shared = Draw(register.ordinal, Topic.SHARED_NAME, key)
        form = shared.pick(register.shared_forms)
        name = shared_name(shared, register)
        trader = person(draw, register) if form.naming is Naming.SOLE_TRADER else None
        return Identity(_spelt(register, shared, name, form), form, trader)
    form, trader, home = draw.pick(register.forms), None, None
    if form.naming is Naming.SOLE_TRADER:
        trader = person(draw, register)
        name = trader_name(draw, register, trader)
    elif form.naming is Naming.FOREIGN:
        home = abroad(draw)
        name = foreign_name(draw, home.country)
    else:
        name = company_name(draw, register, form)
    return Identity(_spelt(register, draw, name, form), form, trader, home)


def _spelt(register: Register, draw: Draw, name: str, form: Form) -> str:
    spelt = name.upper() if draw.happens(register.upper_case) else name
    return f"{spelt} {form.suffix}" if form.suffix else spelt


def _life(register: Register, draw: Draw, form: Form) -> Life:
    """Founding, registration and state; young companies are many, old ones few."""
    founded = AS_OF - timedelta(days=draw.below(150) ** 2 + draw.below(120))
    registered = min(founded + timedelta(days=draw.below(60)), AS_OF)
    standing, text = draw.pick(register.states)
    if standing is Standing.ACTIVE:
        since = founded
    elif standing is Standing.ENDED:
        since = draw.day(founded, AS_OF)
    else:
        since = draw.day(max(founded, AS_OF - timedelta(days=700)), AS_OF)
    if form.naming in _PERSONAL and standing in (Standing.ACTIVE, Standing.ENDED):
        text = None
    return Life(founded, max(registered, register.opened), State(standing, text, since))


def _address(register: Register, index: int, draw: Draw) -> Address | None:
    if draw.happens(register.nowhere):
        return None
    if draw.happens(SHARED_BUILDINGS):
        key = draw.below(index // TENANTS + 1)
        address = building(Draw(register.ordinal, Topic.BUILDING, key), register)
    else:
        address = building(draw, register)
    if register.flats:
        address = in_flat(draw, address)
        if draw.happens(0.06):
            address = address._replace(district=draw.pick(register.families))
    if draw.happens(register.care_of):
        address = address._replace(co=_care_of(register, draw))
    return address


def _care_of(register: Register, draw: Draw) -> str:
    if draw.happens(0.7):
        return person(draw, register).name
    return f"{coin(draw)} {draw.pick(register.trades)}"


def _postal(register: Register, draw: Draw) -> Address | None:
    if not draw.happens(register.postal):
        return None
    if draw.happens(0.6):
        return post_box(draw, register)
    return building(draw, register)._replace(co=_care_of(register, draw))


def _industries(register: Register, draw: Draw) -> tuple[Industry, ...]:
    """The main industry and up to two more; now and then none is known."""
    kind = draw.below(100)
    count = 0 if kind < 4 else 3 if kind == 4 else 2 if kind < 12 else 1
    return tuple(draw.pick(register.industries) for _ in range(count))


def _employees(draw: Draw, form: Form) -> int:
    if form.naming is Naming.SOLE_TRADER and draw.happens(0.85):
        return 0
    base = draw.pick(_STAFF)
    return base if base < 5 else base - 2 + draw.below(base)


def _former_names(register: Register, draw: Draw, form: Form, life: Life) -> tuple[FormerName, ...]:
    if form.naming is not Naming.TRADING or not draw.happens(0.12):
        return ()
    name = _spelt(register, draw, company_name(draw, register, form), form)
    until = draw.day(life.founded, life.latest - timedelta(days=1))
    return (FormerName(name, life.founded, until),)


def _trade_names(register: Register, draw: Draw) -> tuple[str, ...]:
    if not draw.happens(0.06):
        return ()
    return (f"{coin(draw)} {draw.pick(register.tags)}",)


def _capital(register: Register, draw: Draw, form: Form) -> int | None:
    usual = register.capitals.get(form.short)
    return draw.pick(usual) if usual else None


def _purpose(register: Register, draw: Draw, form: Form) -> str | None:
    if form.naming is not Naming.TRADING or not draw.happens(0.6):
        return None
    return draw.pick(register.purposes)
