"""A source: one record type of a register, as importers and feeds use it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.contracts.company import Country
from lookup.ingest.digests import Part
from lookup.ingest.files.csv_records import Dialect
from lookup.ingest.files.raw_records import Raw, RawRecord
from lookup.ingest.records import Record, Rejected
from lookup.ingest.register_settings import RegisterSettings

if TYPE_CHECKING:
    from lookup.ingest.pass_telemetry import PassTelemetry
    from lookup.ingest.passes import Sync
    from lookup.ingest.sync_dependencies import SyncDependencies

#: A function of a module, because it is called in other processes. Raises RecordRejected, naming
#: the invalid field.
Parser = Callable[[Raw], Record]

RawRecords = Iterator[RawRecord | Rejected]


def as_found(found: RawRecords, _file_name: str) -> RawRecords:
    """For files whose records are the register's documents."""
    return found


@dataclass(frozen=True, slots=True)
class RegisterSource:
    """One record type of a register: how its documents are parsed and how it is followed."""

    #: The argument of `import` and `sync`, the load state, the cursor and the metric label.
    name: str
    #: The part of the stored data that its documents contain.
    part: Part
    country: Country | None
    parse: Parser
    #: The key of a document's record, read without parsing the document; None if it cannot be read.
    #: A wrong key finds nothing in the store.
    key: Callable[[Raw], str | None]
    #: The register's package, whose code is part of a document's digest.
    code: Path
    #: Makes one pass over the source.
    follow: Callable[["RegisterSource", "SyncDependencies", "PassTelemetry"], "Sync"]
    #: The format of its tables; None if its files have none.
    dialect: Dialect | None = None
    #: Converts a file's records to documents; receives the name of the file.
    documents: Callable[[RawRecords, str], RawRecords] = as_found
    #: The settings of the register, shared by its sources.
    settings: type[RegisterSettings] = RegisterSettings

    def __str__(self) -> str:
        return self.name
