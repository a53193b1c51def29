"""The registers as streams of raw documents.

Every document is a function of the seed and of the company's position, so that `start` gives the
same documents as a register generated from its beginning.
"""

from collections.abc import Iterator
from itertools import chain

from register_samples.companies import company
from register_samples.denmark.company import company_document
from register_samples.denmark.unit import unit_document
from register_samples.facts import Company, Document
from register_samples.norway.entity import entity
from register_samples.norway.roles import roles
from register_samples.norway.unit import unit
from register_samples.peppol import cards
from register_samples.registers import DENMARK, NORWAY, Register
from register_samples.units import units

REGISTERS = {"dk": DENMARK, "no": NORWAY}


def companies_no(count: int, seed: int, *, start: int = 0) -> Iterator[Document]:
    """Norwegian `enhet` records of the companies at `count` positions from `start`."""
    for each in _companies(NORWAY, seed, start, count):
        yield entity(each)


def units_no(count: int, seed: int, *, start: int = 0) -> Iterator[Document]:
    """Norwegian `underenhet` records of `count` companies; about 0.9 for each."""
    for owner in _companies(NORWAY, seed, start, count):
        for each in units(NORWAY, owner):
            yield unit(each, owner)


def roles_no(count: int, seed: int, *, start: int = 0) -> Iterator[Document]:
    """Norwegian `roller` records of those among `count` companies that have roles."""
    for each in _companies(NORWAY, seed, start, count):
        held = roles(each)
        if held is not None:
            yield held


def companies_dk(count: int, seed: int, *, start: int = 0) -> Iterator[Document]:
    """Danish `{"Vrvirksomhed": ...}` documents of the companies at `count` positions."""
    for each in _companies(DENMARK, seed, start, count):
        yield company_document(each)


def units_dk(count: int, seed: int, *, start: int = 0) -> Iterator[Document]:
    """Danish `{"VrproduktionsEnhed": ...}` documents of `count` companies; about 1.3 for each."""
    for owner in _companies(DENMARK, seed, start, count):
        for each in units(DENMARK, owner):
            yield unit_document(each, owner)


def participants(
    count: int, seed: int, *, start: int = 0, countries: tuple[str, ...] = ("dk", "no")
) -> Iterator[Document]:
    """Peppol business cards of `count` companies of each country, and of some foreign ones."""
    return chain.from_iterable(
        cards(REGISTERS[country], seed, index)
        for country in countries
        for index in range(start, start + count)
    )


def _companies(register: Register, seed: int, start: int, count: int) -> Iterator[Company]:
    return (company(register, seed, index) for index in range(start, start + count))
