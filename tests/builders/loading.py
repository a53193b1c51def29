"""Records loaded into a database as if a file contained them."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import Any

import orjson

from common.contracts.company import CompanyKey
from common.mongo import Database, Reads
from ingest.loading.load import LoadFile, ReadDocuments, Tally
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.ledger import Ledger
from ingest.records.records import Parser, RawDocument, Record, RegisteredInError, Rejected, Stored
from ingest.records.source import RegisterSource
from ingest.registers.cvr.sync import DK_COMPANIES
from register_store.documents import OUTBOX
from register_store.reads import StoredRegister
from tests.builders.companies import MONDAY

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def a_document(record: Stored | RegisteredInError, digest: bytes | None = None) -> RawDocument:
    """A document with this content and digest, if one is given."""
    if not isinstance(record, RegisteredInError):
        record = replace(record, digest=digest)
    text = pickle.dumps(record)
    return RawDocument(1, "byte 0", text, record.key, digest)


@dataclass
class Loader:
    database: Database
    stores: Stores = field(init=False)
    #: Documents that were parsed.
    parsed: int = 0
    refused: list[Rejected] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores.of(self.database, lambda: NOON)

    @property
    def load_file(self) -> LoadFile:
        read = ReadDocuments(self.stores.parts, self._read)
        return LoadFile(
            self.stores, read, FileOrigin.IMPORTED, self.refused.append, self.stale.append
        )

    async def load(
        self,
        *given: Stored | RegisteredInError | RawDocument,
        kind: RegisterSource = DK_COMPANIES,
        force: bool = False,
    ) -> Tally:
        documents = (one if isinstance(one, RawDocument) else a_document(one) for one in given)
        return await self.load_file(kind, documents, file_version=MONDAY, force=force)

    @property
    def register(self) -> StoredRegister:
        return StoredRegister(Reads(self.database))

    async def count(self, *given: Stored | RawDocument, verdict: str, **options: Any) -> int:
        """How many of these have this verdict when they are loaded."""
        return (await self.load(*given, **options)).of_file()[verdict]

    async def remove(self, company: str = "dk:12345674", *, publish_events: bool = False) -> bool:
        """By order of the register; returns whether it was stored."""
        key = CompanyKey.parse(company)
        return await self.stores.writer.remove(key, at=NOON, publish_events=publish_events)

    async def revision(self, company: str = "dk:12345674") -> int | None:
        key = CompanyKey.parse(company)
        found = (await self.stores.writer.known(companies=[key])).companies.get(key)
        return None if found is None else found.revision

    async def is_loaded(self, kind: RegisterSource = DK_COMPANIES) -> bool:
        return await self.stores.states.is_loaded(kind.name)

    async def events(self) -> list[dict[str, Any]]:
        """The events in the outbox, by type and revision."""
        found = await self.database[OUTBOX].find().to_list(None)
        bodies = (orjson.loads(event["body"]) for event in found)
        return sorted(bodies, key=itemgetter("type", "revision"))

    async def _read(
        self, _: Parser, documents: Sequence[RawDocument], _today: date, _ledger: Ledger | None
    ) -> Sequence[Record | Rejected]:
        self.parsed += len(documents)
        return [pickle.loads(document.text) for document in documents]  # noqa: S301 (our own)
