"""One record type of a register, as everything that loads or follows registers is given it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.contracts.company import Country
from lookup.ingest.digests import Part
from lookup.ingest.files.csv_records import Dialect
from lookup.ingest.files.raw_records import Raw, RawRecord
from lookup.ingest.records import Record, Rejected
from lookup.settings import SyncSettings

if TYPE_CHECKING:
    from lookup.ingest.pass_telemetry import PassTelemetry
    from lookup.ingest.passes import Sync
    from lookup.ingest.sync_dependencies import SyncDependencies

#: A function of a module, since it is called in other processes. Raises RecordRejected, naming the
#: field at fault.
Parser = Callable[[Raw], Record]

RawRecords = Iterator[RawRecord | Rejected]


def as_found(found: RawRecords, _file_name: str) -> RawRecords:
    """For files whose records are the register's documents."""
    return found


def nothing(_settings: SyncSettings) -> None:
    """For a register that everybody may read."""


@dataclass(frozen=True, slots=True)
class RegisterSource:
    """One record type of a register: how its documents are parsed and how it is followed."""

    #: The argument of `import` and `sync`, the load state, the cursor and the metric label.
    name: str
    #: The part of what is stored that its documents tell; of one country, or of all (None).
    part: Part
    country: Country | None
    parse: Parser
    #: The key that a document's record will be stored under, at a glance; None where it cannot be
    #: told. A wrong guess finds nothing there.
    key: Callable[[Raw], str | None]
    #: The register's package. A document's digest covers its code.
    code: Path
    #: Makes one pass over the source.
    follow: Callable[["RegisterSource", "SyncDependencies", "PassTelemetry"], "Sync"]
    #: The tables among its files; None where it has none.
    dialect: Dialect | None = None
    #: Makes documents of a file's records; is given the name of the file.
    documents: Callable[[RawRecords, str], RawRecords] = as_found
    #: Tells what the settings lack to follow the register; None if nothing.
    missing: Callable[[SyncSettings], str | None] = nothing
    #: Logs what is unwise in the settings.
    warn: Callable[[SyncSettings], None] = nothing

    def __str__(self) -> str:
        return self.name
