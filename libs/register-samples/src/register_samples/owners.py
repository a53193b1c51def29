"""Owners of companies."""

from register_samples.chance import Draw, Topic
from register_samples.companies import corporate
from register_samples.facts import (
    AS_OF,
    Company,
    Corporate,
    Owner,
    Ownership,
    Person,
)
from register_samples.names import person
from register_samples.registers import Register
from register_samples.showcase import exhibit

#: Holdings of the owners of a company, as the floors of the intervals that CVR keeps.
_SPLITS: tuple[tuple[str, ...], ...] = (
    ("1.0",),
    ("1.0",),
    ("1.0",),
    ("0.5", "0.5"),
    ("0.6667", "0.3333"),
    ("0.9", "0.05"),
    ("0.3333", "0.3333", "0.3333"),
    ("0.5", "0.25", "0.25"),
    ("0.5", "0.2", "0.15", "0.1"),
    ("0.25", "0.25", "0.25", "0.25"),
)


def owners(register: Register, company: Company) -> tuple[Owner, ...]:
    """The owners in the register; only the showcase has past ones."""
    shown = exhibit(register.code, company.index)
    if shown is not None:
        return shown.owners
    draw = Draw(register.ordinal, Topic.OWNERS, company.index)
    match register.ownership.get(company.form.short):
        case None:
            return ()
        case Ownership.SOLE:
            trader = company.trader or person(draw, register)
            return (Owner(trader, company.founded),)
        case Ownership.SHAREHOLDERS:
            return _shareholders(register, company, draw)
        case Ownership.GENERAL_PARTNER:
            return (Owner(earlier_company(register, company, draw), company.founded),)
        case Ownership.BODIES:
            return tuple(
                Owner(earlier_company(register, company, draw), company.founded) for _ in range(3)
            )
        case Ownership.PARTNERS | Ownership.CO_OWNERS:
            return tuple(
                Owner(_holder(register, company, draw, firms=0.2), company.founded)
                for _ in range(draw.between(2, 4))
            )


def earlier_company(register: Register, company: Company, draw: Draw) -> Corporate:
    """A company before this one in the register, so that it exists in a register of any size."""
    return corporate(register, draw.below(max(company.index, 1)))


def _shareholders(register: Register, company: Company, draw: Draw) -> tuple[Owner, ...]:
    latest = company.ended or AS_OF
    return tuple(
        Owner(
            _holder(register, company, draw, firms=0.4),
            since=draw.day(company.founded, latest) if draw.happens(0.4) else company.founded,
            share=share,
            votes="0.5" if draw.happens(0.05) else share,
            until=company.ended,
        )
        for share in draw.pick(_SPLITS)
    )


def _holder(
    register: Register, company: Company, draw: Draw, *, firms: float
) -> Person | Corporate:
    if draw.happens(firms):
        return earlier_company(register, company, draw)
    return person(draw, register)
