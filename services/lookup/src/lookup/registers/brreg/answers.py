"""Answers of the Norwegian register about one number."""

from dataclasses import dataclass

from lookup.changes.ended import Ended
from lookup.records.records import CompanyRecord, OwnersRecord, UnitRecord


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
