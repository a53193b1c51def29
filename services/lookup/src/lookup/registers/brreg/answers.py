"""Answers of the Norwegian register about one number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lookup.ingest.ended import Ended
from lookup.ingest.records import CompanyRecord, OwnersRecord, UnitRecord


@dataclass(frozen=True, slots=True)
class Present:
    """The register's current record."""

    record: CompanyRecord | UnitRecord | OwnersRecord


@dataclass(frozen=True, slots=True)
class Gone:
    """Removed for legal reasons; every copy has to be removed too."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The register has no such number."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The answer cannot be read."""

    reason: str


Answer = Present | Ended | Gone | Unknown | Unusable


class Entities(Protocol):
    """Entities, units or roles. Raises RegisterUnavailable and RegisterFault."""

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, Answer]:
        """The register's current answer for each number."""
