"""Registers of invented companies, in the formats of the real ones (see README.md)."""

from register_samples.documents import (
    companies_dk,
    companies_no,
    participants,
    roles_no,
    units_dk,
    units_no,
)
from register_samples.files import write_registers
from register_samples.showcase import SHOWCASE

__all__ = [
    "SHOWCASE",
    "companies_dk",
    "companies_no",
    "participants",
    "roles_no",
    "units_dk",
    "units_no",
    "write_registers",
]
