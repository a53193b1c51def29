"""The registers as streams of raw documents.

Every document is a function of its company's position, so that `start` gives the same documents as
a register generated from its beginning.
"""

from collections.abc import Iterator

from register_samples.companies import company, units
from register_samples.denmark import company_document, unit_document
from register_samples.norway import entity, roles, unit
from register_samples.peppol import cards
from register_samples.registers import DENMARK, NORWAY, REGISTERS, Register
from register_samples.templates import Document, Variables


def companies_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `enhet` records of the companies at `count` positions from `start`."""
    return map(entity, _companies(NORWAY, count, start))


def units_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `underenhet` records of `count` companies; about 0.9 for each."""
    owners = _companies(NORWAY, count, start)
    return (unit(each, owner) for owner in owners for each in units(NORWAY, owner))


def roles_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `roller` records of those among `count` companies that have roles."""
    return filter(None, map(roles, _companies(NORWAY, count, start)))


def companies_dk(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Danish `{"Vrvirksomhed": ...}` documents of the companies at `count` positions."""
    return map(company_document, _companies(DENMARK, count, start))


def units_dk(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Danish `{"VrproduktionsEnhed": ...}` documents of `count` companies."""
    owners = _companies(DENMARK, count, start)
    return (unit_document(each, owner) for owner in owners for each in units(DENMARK, owner))


def participants(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Peppol business cards of `count` companies of each country."""
    for register in REGISTERS.values():
        for index in range(start, start + count):
            yield from cards(register, index)


def _companies(register: Register, count: int, start: int) -> Iterator[Variables]:
    return (company(register, index) for index in range(start, start + count))
