"""Sources of documents, and the digests that recognise unchanged ones."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Final

from common.contracts.company import Country
from ingest.records.fields import each_once
from ingest.records.files import (
    OnBytes,
    RawRecord,
    decode,
    encode,
    raw_records,
)
from ingest.records.ledger import Ledger
from ingest.records.records import (
    CompanyRecord,
    FileBroken,
    GroupRecord,
    OwnersRecord,
    Parser,
    ParticipantRecord,
    Raw,
    RawDocument,
    Record,
    RecordRejected,
    Rejected,
    Stored,
    UnitRecord,
    with_upcoming,
)
from ingest.records.tables import Dialect

#: Collisions are negligible: 128 bits.
_BYTES: Final = 16
_RELEASE: Final = version("ingest")


class Part(StrEnum):
    """A part of the stored data; each part has its own digest."""

    COMPANY = "company"
    #: A company's owners, if they come in documents of their own.
    OWNERS = "owners"
    UNIT = "unit"
    PARTICIPANT = "participant"
    #: Annual accounts, which no document of the others contains.
    ACCOUNTS = "accounts"
    #: A group of companies, with the owners in it.
    GROUP = "group"


def digest_of(text: bytes, *, release: str = _RELEASE) -> bytes:
    """Returns a hash that differs for other documents and for other releases of this package."""
    return hashlib.sha256(release.encode() + b"\n" + text).digest()[:_BYTES]


RawRecords = Iterator[RawRecord | Rejected]

#: Of a batch of a file every so many documents are compared with the ledger, which would take a
#: fifth of the time of parsing all; what is in a hundred documents of a register is in one of them.
_COMPARED: Final = 16
#: All documents of a batch of fewer are compared.
_FEW: Final = 200


@dataclass(frozen=True, slots=True)
class RegisterSource:
    """One record type of a register, and how its documents are read."""

    #: The argument of `import` and `sync`, the load state, the cursor and the metric label.
    name: str
    #: The part of the stored data that its documents contain.
    part: Part
    country: Country | None
    parse: Parser
    #: The key of a document's record, read without parsing the document; None if it cannot be read.
    #: A wrong key finds nothing in the store.
    key: Callable[[Raw], str | None]
    #: The format of its tables; None if its files have none.
    dialect: Dialect | None = None
    #: The name of a record's element in its XML files; None if it has none.
    element: str | None = None
    #: The treatment of each part of its documents; None without a ledger. It has tables, which
    #: have no hash.
    ledger: Ledger | None = field(default=None, hash=False)
    #: Converts a file's records to documents, unless they are; receives the name of the file.
    documents: Callable[[RawRecords, str], RawRecords] = lambda found, _file_name: found

    def __str__(self) -> str:
        return self.name


#: MongoDB refuses a document over 16 MB, and with it the whole batch that contains it. An event may
#: have a company's record, and the values of before and after a change of all of it.
MAX_STORED: Final = 2 << 20
#: Bytes that an item of a list takes in the database besides its text.
_ITEM_SIZE: Final = 20


def parse(parser: Parser, raw: Raw, today: date, ledger: Ledger | None = None) -> Record:
    """Returns the record of one document, with those of the days on which it will read differently.

    A path that is not in the ledger is among its odd values. Raises RecordRejected, naming the
    invalid field.
    """
    record = parser(raw, today)
    if ledger is not None and isinstance(record, Stored) and (found := ledger.unknown(raw)):
        record = replace(record, odd=each_once([*record.odd, *found]))
    if isinstance(record, Stored) and stored_size(record) > MAX_STORED:
        raise RecordRejected(f"more than {MAX_STORED:,} bytes to store")
    if isinstance(record, CompanyRecord):
        return with_upcoming(record, parser, raw)
    if isinstance(record, UnitRecord):
        return with_upcoming(record, parser, raw)
    return record


def stored_size(record: Stored) -> int:
    """Returns about how many bytes a record takes in the database, all of its parts included."""
    texts: list[bytes | str | None] = []
    items: list[str] = []
    match record:
        case CompanyRecord():
            texts = [record.core, record.owner_list, record.role_list, record.rank, record.past]
            items = [*record.phones, *record.units]
        case OwnersRecord():
            texts = [record.owner_list, record.role_list]
        case UnitRecord():
            texts, items = [record.core], [*record.phones]
        case ParticipantRecord():
            texts = [record.core]
        case GroupRecord():
            texts, items = [*record.links.values()], [*record.members]
    return sum(map(len, filter(None, texts))) + sum(len(item) + _ITEM_SIZE for item in items)


def documents(
    path: Path, source: RegisterSource, *, on_bytes: OnBytes = lambda _count: None
) -> Iterator[RawDocument | Rejected]:
    """Yields every document of a file in order; a broken one as `Rejected`.

    The file may be of any size, plain or gzip: JSON in any wrapping that registers use, or CSV if
    the register offers it. `on_bytes` receives the number of compressed bytes read since its last
    call. Raises FileBroken, after the intact part, for a truncated or corrupt file.
    """
    found = raw_records(path, source.dialect, on_bytes, element=source.element)
    for one in source.documents(found, path.name):
        if isinstance(one, Rejected):
            yield one
            continue
        text = encode(one.raw) if one.text is None else one.text
        digest = digest_of(text)
        key = source.key(one.raw)
        yield RawDocument(one.number, one.place, text, key, digest, one.is_repaired)


def understood(
    parser: Parser, document: RawDocument, today: date, ledger: Ledger | None = None
) -> Record | Rejected:
    """Returns the record of a document, or the reason why it cannot be used."""
    raw = decode(document.text)
    try:
        record = parse(parser, raw if isinstance(raw, dict) else {}, today, ledger)
    except RecordRejected as refusal:
        return Rejected(document.number, document.place, str(refusal))
    if isinstance(record, Stored):
        # It was made here; a copy by `replace` would take a twentieth of the time of parsing.
        object.__setattr__(record, "digest", document.digest)
    return record


def all_understood(
    parser: Parser,
    documents: Sequence[RawDocument],
    today: date,
    ledger: Ledger | None = None,
) -> Sequence[Record | Rejected]:
    """Returns the results of many documents; runs in worker processes, which import little."""
    step = 1 if len(documents) < _FEW else _COMPARED
    return [
        understood(parser, document, today, None if place % step else ledger)
        for place, document in enumerate(documents)
    ]


def read(path: Path, source: RegisterSource, today: date) -> Iterator[Record | Rejected]:
    """Yields the record of every document of a file; see `documents`."""
    for one in documents(path, source):
        yield (
            one
            if isinstance(one, Rejected)
            else understood(source.parse, one, today, source.ledger)
        )


def likely_source(
    path: Path, sources: Iterable[RegisterSource], today: date
) -> RegisterSource | None:
    """Returns the source whose record a file begins with."""
    for source in sources:
        with suppress(FileBroken):
            if not isinstance(next(read(path, source, today), None), Rejected | None):
                return source
    return None
