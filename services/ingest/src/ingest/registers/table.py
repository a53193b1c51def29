"""The only list of registers: commands, load states, cursors and metrics use its names."""

from dataclasses import dataclass

from common.contracts.company import Country
from ingest.following.dependencies import Follow, SyncDependencies
from ingest.following.passes import Passes
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg import sync as brreg
from ingest.registers.cvr import sync as cvr
from ingest.registers.peppol import sync as peppol
from ingest.settings import RegisterSettings


@dataclass(frozen=True, slots=True)
class Register:
    """A register, and how its sources are followed."""

    #: Companies come before the records that belong to them.
    sources: tuple[RegisterSource, ...]
    #: Returns the pass over a source.
    follow: Follow
    settings: type[RegisterSettings] = RegisterSettings


#: A new register is added here.
REGISTERS: tuple[Register, ...] = (
    Register(brreg.SOURCES, brreg.follow, brreg.BrregSettings),
    Register(cvr.SOURCES, cvr.follow, cvr.CvrSettings),
    Register(peppol.SOURCES, peppol.follow, peppol.PeppolSettings),
)


def sources() -> dict[str, RegisterSource]:
    """Returns all sources by name."""
    return {source.name: source for register in REGISTERS for source in register.sources}


def companies_of(country: Country) -> RegisterSource:
    """Returns the source of a country's companies."""
    wanted = (country, Part.COMPANY)
    return next(s for s in sources().values() if (s.country, s.part) == wanted)


def passes(dependencies: SyncDependencies, source: RegisterSource) -> Passes:
    """Returns the passes over a source, as its register is followed."""
    register = next(register for register in REGISTERS if source in register.sources)
    return dependencies.passes(source, register.follow)
