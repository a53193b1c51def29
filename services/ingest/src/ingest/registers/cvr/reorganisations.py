"""Mergers and demergers (`fusioner`, `spaltninger`) in which a company took part.

The register gives one number to all parties, and each party's side. A party that was dissolved is
only ingoing (`indgaaende`), one that a demerger created only outgoing (`udgaaende`). A party that
lives on is both: the receiving one of a merger, and the transferring one of a partial demerger.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from common.contracts.company import RestructuringType
from ingest.records.fields import Document, Many, Text, first
from ingest.records.records import Reorganisation
from ingest.registers.cvr.dated_values import AsOf, day_after, fold_word
from ingest.registers.cvr.documents import Name
from ingest.registers.cvr.memberships import Attribute, by_type


class GivenReorganisation(Document):
    """A merger or demerger as the document of a party has it."""

    #: The number that all parties share.
    enheds_nummer_organisation: Text = None
    organisations_navn: Many[Name] = ()
    indgaaende: Many[Attribute] = ()
    udgaaende: Many[Attribute] = ()


class End(NamedTuple):
    """The last day of a company's life, and the register's word for how it ended."""

    day: str | None
    word: str | None

    def is_merger(self, day: str | None, *, is_last: bool) -> bool:
        """Returns True if the company ended by the merger of a day: by the date, or by the word."""
        if self.day is None:
            return False
        if day is not None and day in (self.day, day_after(self.day)):
            return True
        return is_last and "FUSION" in fold_word(self.word or "")


def reorganisations(
    mergers: Sequence[GivenReorganisation],
    demergers: Sequence[GivenReorganisation],
    as_of: AsOf,
    end: End,
) -> tuple[Reorganisation, ...]:
    """Returns the mergers and demergers that have taken place, oldest first."""
    merged = list(_dated(mergers, as_of))
    last = max((day or "" for day, one in merged if not one.udgaaende), default="")
    found = [
        Reorganisation(
            one.enheds_nummer_organisation,
            RestructuringType.MERGER,
            day,
            # A company that still exists continues the others, whatever its side is called.
            went_in=bool(one.indgaaende and not one.udgaaende)
            and end.is_merger(day, is_last=(day or "") == last),
        )
        for day, one in merged
    ] + [
        Reorganisation(
            one.enheds_nummer_organisation,
            RestructuringType.DEMERGER,
            day,
            went_in=bool(one.indgaaende),
        )
        for day, one in _dated(demergers, as_of)
    ]
    return tuple(sorted(found, key=lambda one: one.date or ""))


def _dated(
    given: Sequence[GivenReorganisation], as_of: AsOf
) -> Iterator[tuple[str | None, GivenReorganisation]]:
    for one in given:
        parts = by_type((*one.indgaaende, *one.udgaaende)).get("FUNKTION", ())
        dated = first(parts) or first(one.organisations_navn)
        if dated is not None and as_of.has_begun(dated):
            yield dated.since, one
