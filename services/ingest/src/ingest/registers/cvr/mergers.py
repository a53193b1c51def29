"""Mergers (`fusioner`) and demergers (`spaltninger`) of a Danish company.

A document has only its own part in them: it goes in (`indgaaende`), or comes out of it
(`udgaaende`). The other companies have the same organisation in their documents, and are not named.
"""

from collections.abc import Sequence

from common.contracts.company import Restructuring, RestructuringType
from ingest.records.fields import Document, Many, first
from ingest.registers.cvr.documents import Name
from ingest.registers.cvr.owners import Attribute, values_of
from ingest.registers.cvr.periods import AsOf


class Reorganisation(Document):
    """A merger or demerger in which a company took part."""

    organisations_navn: Many[Name] = ()
    indgaaende: Many[Attribute] = ()
    udgaaende: Many[Attribute] = ()


def restructurings(
    type_: RestructuringType, given: Sequence[Reorganisation], as_of: AsOf, *, ended: bool
) -> tuple[tuple[Restructuring, ...], tuple[Restructuring, ...]]:
    """Returns those into which the company went, and those out of which it came, oldest first.

    A company that still exists after a merger continues the others, whatever its part is called.
    """
    into: list[Restructuring] = []
    out_of: list[Restructuring] = []
    for one in given:
        parts = values_of((*one.indgaaende, *one.udgaaende), "FUNKTION")
        dated = first(parts) or first(one.organisations_navn)
        if dated is None or not as_of.has_begun(dated):
            continue
        went_in = bool(one.indgaaende and not one.udgaaende)
        gone = went_in and (ended or type_ is RestructuringType.DEMERGER)
        (into if gone else out_of).append(Restructuring(type=type_, date=dated.since))
    return _by_date(into), _by_date(out_of)


def _by_date(found: Sequence[Restructuring]) -> tuple[Restructuring, ...]:
    return tuple(sorted(found, key=lambda one: one.date or ""))
