"""The only list of registers: commands, load states, cursors and metrics use its names."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common.contracts.company import Country
from ingest.following.dependencies import Follow, SyncDependencies
from ingest.following.passes import Passes
from ingest.loading.accounts import ReadAccounts
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg import accounts_sync as brreg_accounts
from ingest.registers.brreg import group_sync as brreg_groups
from ingest.registers.brreg import sync as brreg
from ingest.registers.cvr import accounts_sync as cvr_accounts
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
    #: Returns the reader of files of annual accounts, with the folder of their documents.
    accounts_of: Callable[[Path | None], ReadAccounts] | None = None


#: A new register is added here.
REGISTERS: tuple[Register, ...] = (
    Register(brreg.SOURCES, brreg.follow, brreg.BrregSettings),
    # Apart from the others, which do not wait for its pace.
    Register(brreg_groups.SOURCES, brreg_groups.follow, brreg_groups.GroupSettings),
    Register(
        brreg_accounts.SOURCES,
        brreg_accounts.follow,
        brreg_accounts.BrregAccountsSettings,
        brreg_accounts.from_files,
    ),
    Register(cvr.SOURCES, cvr.follow, cvr.CvrSettings),
    Register(
        cvr_accounts.SOURCES,
        cvr_accounts.follow,
        cvr_accounts.FilingsSettings,
        cvr_accounts.from_folder,
    ),
    Register(peppol.SOURCES, peppol.follow, peppol.PeppolSettings),
)


def sources() -> dict[str, RegisterSource]:
    """Returns all sources by name."""
    return {source.name: source for register in REGISTERS for source in register.sources}


def companies_of(country: Country) -> RegisterSource:
    """Returns the source of a country's companies."""
    wanted = (country, Part.COMPANY)
    return next(s for s in sources().values() if (s.country, s.part) == wanted)


def accounts_reader(source: RegisterSource, documents: Path | None) -> ReadAccounts | None:
    """Returns the reader of a source's files; None if it has no annual accounts.

    Raises ValueError if the folder of documents is missing, or is not one of this source.
    """
    register = next(register for register in REGISTERS if source in register.sources)
    if register.accounts_of is not None:
        return register.accounts_of(documents)
    if documents is not None:
        raise ValueError(f"--documents: {source} has none")
    return None


def passes(dependencies: SyncDependencies, source: RegisterSource) -> Passes:
    """Returns the passes over a source, as its register is followed."""
    register = next(register for register in REGISTERS if source in register.sources)
    return dependencies.passes(source, register.follow)
