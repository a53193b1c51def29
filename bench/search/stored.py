"""Writes a large register to MongoDB directly; an import takes twice as long."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from pymongo import MongoClient

from bench.search.questions import SEED
from lookup.ingest.planning.states import CompanyState
from lookup.ingest.records import CompanyRecord
from lookup.ingest.stored_documents import company_document
from lookup.registers.brreg.entities import company_record
from lookup.store.documents import COMPANIES, Document
from register_samples import companies_no

_PROCESSES = 2
#: Companies per task of a process, and per write.
_CHUNK, _BATCH = 50_000, 5_000
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def store(url: str, database: str, count: int) -> None:
    """Write the first `count` Norwegian companies of the sample register to an empty database."""
    with ProcessPoolExecutor(_PROCESSES) as pool:
        write = partial(_write, url, database, count)
        for _ in pool.map(write, range(0, count, _CHUNK)):
            pass


def _write(url: str, database: str, count: int, start: int) -> None:
    client: MongoClient[dict[str, Any]] = MongoClient(url)
    with client:
        documents = _documents(start, min(_CHUNK, count - start))
        while batch := list(islice(documents, _BATCH)):
            client[database][COMPANIES].insert_many(batch, ordered=False)


def _documents(start: int, count: int) -> Iterator[Document]:
    for entity in companies_no(count, SEED, start=start):
        record = company_record(entity)
        if isinstance(record, CompanyRecord):
            state = CompanyState(1, record.core, phones=record.phones, version=record.version)
            stored = company_document(state, country="no", rank=record.rank, updated_at=_AT)
            yield {"_id": record.key, **stored}
