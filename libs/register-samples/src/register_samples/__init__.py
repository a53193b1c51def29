"""Registers of invented companies, in the formats of the real ones (see README.md)."""

from register_samples.files import (
    companies_dk,
    companies_no,
    participants,
    roles_no,
    units_dk,
    units_no,
    write_registers,
)
from register_samples.norway import as_of_2022, write_table
from register_samples.showcase import SHOWCASE

__all__ = [
    "SHOWCASE",
    "as_of_2022",
    "companies_dk",
    "companies_no",
    "participants",
    "roles_no",
    "units_dk",
    "units_no",
    "write_registers",
    "write_table",
]
