"""The only list of registers: commands, load states, cursors and metrics use its names.

Within a register, companies come before the records that belong to them.
"""

from common.contracts.company import Country
from lookup.ingest.digests import Part
from lookup.ingest.register_source import RegisterSource
from lookup.registers.brreg import sources as brreg
from lookup.registers.cvr import sources as cvr
from lookup.registers.peppol import sources as peppol

#: A new register is added here.
REGISTERS: tuple[tuple[RegisterSource, ...], ...] = (
    brreg.SOURCES,
    cvr.SOURCES,
    peppol.SOURCES,
)


def sources() -> dict[str, RegisterSource]:
    """All sources by name."""
    return {source.name: source for register in REGISTERS for source in register}


def companies_of(country: Country) -> RegisterSource:
    """The source of a country's companies."""
    wanted = (country, Part.COMPANY)
    return next(s for s in sources().values() if (s.country, s.part) == wanted)
