"""How documents are put in a file: arrays, lines, Elasticsearch answers and tables.

Each function writes a stream with bounded memory.
"""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

import orjson

from register_samples.facts import Document

#: Documents that are written together; a matter of speed alone.
_BATCH = 100

#: Documents of a page of a scrolled Elasticsearch search.
PAGE = 1000

_INDEX = "cvr-permanent"


def write_gzipped_array(path: Path, documents: Iterable[Document]) -> None:
    """A JSON array, one document a line, gzipped; the same bytes for the same documents."""
    with path.open("wb") as plain, gzip.GzipFile("", "wb", 1, plain, mtime=0) as file:
        file.write(b"[\n")
        _write_joined(file, map(orjson.dumps, documents), b",\n")
        file.write(b"\n]\n")


def write_lines(path: Path, documents: Iterable[Document]) -> None:
    """JSON lines."""
    with path.open("wb") as file:
        _write_joined(file, map(orjson.dumps, documents), b"\n")
        file.write(b"\n")


def write_answer(path: Path, documents: Iterable[Document], total: int) -> None:
    """One Elasticsearch answer that holds them all."""
    head = orjson.dumps(_answer(total) | {"hits": {"total": total, "max_score": 1.0}})
    with path.open("wb") as file:
        # The list of hits is the last field of the last object.
        file.write(head.removesuffix(b"}}") + b',"hits":[\n')
        _write_joined(file, (orjson.dumps(hit(each)) for each in documents), b",\n")
        file.write(b"\n]}}\n")


def write_pages(path: Path, documents: Iterable[Document], total: int) -> None:
    """The pages of a scrolled Elasticsearch search, one answer a line."""
    hits = map(hit, documents)
    with path.open("wb") as file:
        while page := list(islice(hits, PAGE)):
            answer = {"_scroll_id": "c2Nyb2xsLXNhbXBsZQ==", **_answer(total)}
            answer["hits"] = {"total": total, "max_score": 1.0, "hits": page}
            file.write(orjson.dumps(answer) + b"\n")


def write_cards(path: Path, cards: Iterable[Document], created: str) -> None:
    """The Peppol Directory's JSON export; how many cards it holds is filled in at the end."""
    head = orjson.dumps({"version": 2, "creationdt": created, "codeListSupported": "9.2"})
    with path.open("wb") as file:
        file.write(head.removesuffix(b"}") + b',"participantCount":')
        place = file.tell()
        file.write(b" " * 12 + b',"bc":[\n')
        count = _write_joined(file, map(orjson.dumps, cards), b",\n")
        file.write(b"\n]}\n")
        file.seek(place)
        file.write(f"{count:12d}".encode())


def write_table(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]], *, latin: bool = False
) -> None:
    """A CSV file: commas and UTF-8, or semicolons and ISO-8859-1."""
    encoding, delimiter = ("iso-8859-1", ";") if latin else ("utf-8", ",")
    with path.open("w", encoding=encoding, newline="") as file:
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)


def _answer(total: int) -> Document:
    shards = {"total": 6, "successful": 6, "failed": 0}
    return {"took": 1 + total % 50, "timed_out": False, "_shards": shards}


def hit(document: Document) -> Document:
    """A document as an Elasticsearch answer has it."""
    (content,) = document.values()
    return {
        "_index": _INDEX,
        "_type": "_doc",
        "_id": str(content["enhedsNummer"]),
        "_score": 1.0,
        "_source": document,
    }


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


def _write_joined(file: _Sink, parts: Iterator[bytes], separator: bytes) -> int:
    """Write the parts with the separator between them; returns how many there were."""
    count = 0
    while batch := list(islice(parts, _BATCH)):
        file.write((separator if count else b"") + separator.join(batch))
        count += len(batch)
    return count
