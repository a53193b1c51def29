"""Reading a register's file or document as records, for importers and feeds."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, assert_never

from lookup.ingest.digests import digest_of
from lookup.ingest.files.json_text import decode, encode
from lookup.ingest.files.raw_records import Raw, RawRecord, raw_records
from lookup.ingest.files.streams import OnBytes, ignore_progress
from lookup.ingest.records import (
    CompanyRecord,
    FileBroken,
    OutOfScope,
    OwnersRecord,
    ParticipantRecord,
    RawDocument,
    Record,
    RecordRejected,
    RegisteredInError,
    Rejected,
    UnitRecord,
)
from lookup.ingest.register_source import Parser, RegisterSource

#: MongoDB refuses a document over 16 MB, and with it the whole batch that contains it.
MAX_STORED: Final = 2 << 20


def parse(parser: Parser, raw: Raw) -> Record:
    """The record of one document; raises RecordRejected, naming the invalid field."""
    record = parser(raw)
    if _size(record) > MAX_STORED:
        raise RecordRejected(f"more than {MAX_STORED:,} bytes to store")
    return record


def _size(record: Record) -> int:
    match record:
        case CompanyRecord():
            return len(record.core) + len(record.owner_list or b"")
        case OwnersRecord():
            return len(record.owner_list)
        case UnitRecord() | ParticipantRecord():
            return len(record.core)
        case OutOfScope() | RegisteredInError():
            return 0
        case _:
            assert_never(record)


def documents(
    path: Path, source: RegisterSource, *, on_bytes: OnBytes = ignore_progress
) -> Iterator[RawDocument | Rejected]:
    """Yields every document of a file in order; a broken one as `Rejected`.

    The file may be of any size, plain or gzip: JSON in any wrapping that registers use, or CSV if
    the register offers it. `on_bytes` receives the number of compressed bytes read since its last
    call. Raises FileBroken, after the intact part, for a truncated or corrupt file.
    """
    for one in source.documents(raw_records(path, source.dialect, on_bytes), path.name):
        yield one if isinstance(one, Rejected) else _unread(source, one)


def _unread(source: RegisterSource, one: RawRecord) -> RawDocument:
    text = encode(one.raw) if one.text is None else one.text
    digest = digest_of(text, source.code)
    return RawDocument(one.number, one.place, text, source.key(one.raw), digest)


def understood(parser: Parser, document: RawDocument) -> Record | Rejected:
    """The record of a document, or the reason why it cannot be used."""
    raw = decode(document.text)
    try:
        record = parse(parser, raw if isinstance(raw, dict) else {})
    except RecordRejected as refusal:
        return Rejected(document.number, document.place, str(refusal))
    match record:
        case CompanyRecord() | OwnersRecord() | UnitRecord() | ParticipantRecord():
            return replace(record, digest=document.digest)
        case OutOfScope() | RegisteredInError():
            return record
        case _:
            assert_never(record)


def all_understood(parser: Parser, documents: Sequence[RawDocument]) -> Sequence[Record | Rejected]:
    """Runs in worker processes, which import no more than this module and the parser need."""
    return [understood(parser, document) for document in documents]


def read(path: Path, source: RegisterSource) -> Iterator[Record | Rejected]:
    """Yields the record of every document of a file; see `documents`."""
    for one in documents(path, source):
        yield one if isinstance(one, Rejected) else understood(source.parse, one)


def likely_source(path: Path, sources: Iterable[RegisterSource]) -> RegisterSource | None:
    """The source whose record a file begins with."""
    for source in sources:
        with suppress(FileBroken):
            if not isinstance(next(read(path, source), None), Rejected | None):
                return source
    return None
