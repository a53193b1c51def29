"""The units of a company: its places of business."""

from datetime import date

from register_samples.chance import Draw, Topic
from register_samples.contacts import building, contacts, in_flat
from register_samples.facts import AS_OF, UNREACHABLE, Address, Company, Industry, Unit
from register_samples.registers import Register
from register_samples.showcase import SHOWCASE, exhibit


def units(register: Register, owner: Company) -> tuple[Unit, ...]:
    """The units of a company, retired ones included; the first is its main one."""
    shown = exhibit(register.code, owner.index)
    if shown is not None:
        return shown.units
    count = register.unit_count(owner.index)
    if not count:
        return ()
    draw = Draw(register.ordinal, Topic.UNITS, owner.index)
    first = owner.main_unit(_number(register, owner, 0), _industry(register, owner, draw))
    return first, *(_further_unit(register, owner, draw, place) for place in range(1, count))


def departed(register: Register, owner: Company) -> tuple[Unit, ...]:
    """The units that were the company's and moved to another one; only the showcase has some."""
    shown = (unit for each in SHOWCASE[register.code] for unit in each.units)
    return tuple(unit for unit in shown if unit.moved and unit.moved.origin == owner.number)


def _further_unit(register: Register, owner: Company, draw: Draw, place: int) -> Unit:
    address = _address(register, draw)
    branch = draw.happens(0.4)
    name = f"{owner.name} {address.place.city}" if branch else owner.name
    started = draw.day(owner.founded, owner.ended or AS_OF)
    return Unit(
        number=_number(register, owner, place),
        name=name,
        address=address,
        industry=_industry(register, owner, draw),
        employees=draw.below(owner.employees + 1),
        started=started,
        ended=_end(owner, draw, started),
        contacts=contacts(draw, register, owner.name) if branch else UNREACHABLE,
    )


def _number(register: Register, owner: Company, place: int) -> str:
    return register.unit_number(register.first_unit(owner.index) + place)


def _address(register: Register, draw: Draw) -> Address:
    address = building(draw, register)
    return in_flat(draw, address) if register.flats else address


def _industry(register: Register, owner: Company, draw: Draw) -> Industry:
    return owner.industries[0] if owner.industries else draw.pick(register.industries)


def _end(owner: Company, draw: Draw, started: date) -> date | None:
    if draw.happens(0.2):
        return draw.day(started, owner.ended or AS_OF)
    return owner.ended
