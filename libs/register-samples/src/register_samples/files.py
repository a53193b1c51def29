"""Sample registers as files, named and written like the registers' own."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import orjson

from register_samples import documents
from register_samples.templates import Document


def write_registers(out: Path, companies: int) -> dict[str, Path]:
    """Writes every register with so many companies; returns the file of each source.

    The sources are those that the lookup service imports, companies before their other records.
    """
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for source, (suffix, write, stream) in _FILES.items():
        written[source] = out / f"{source}{suffix}"
        with written[source].open("wb") as file:
            write(file, stream(companies))
    return written


def write_gzipped_array(file: IO[bytes], found: Iterable[Document]) -> None:
    """Writes a gzipped JSON array, one document a line; equal documents give equal bytes."""
    with gzip.GzipFile("", "wb", 1, file, mtime=0) as packed:
        packed.writelines(_joined(b"[\n", found, b",\n", b"\n]\n"))


def _write_lines(file: IO[bytes], found: Iterable[Document]) -> None:
    """Writes JSON lines."""
    file.writelines(_joined(b"", found, b"\n", b"\n"))


def _write_cards(file: IO[bytes], cards: Iterable[Document]) -> None:
    """Writes the Peppol Directory's JSON export."""
    file.writelines(_joined(b'{"version":2,"bc":[\n', cards, b",\n", b"\n]}\n"))


def _joined(
    start: bytes, found: Iterable[Document], separator: bytes, end: bytes
) -> Iterator[bytes]:
    yield start
    for number, document in enumerate(found):
        yield (separator if number else b"") + orjson.dumps(document)
    yield end


_Writer = Callable[[IO[bytes], Iterable[Document]], None]
_Stream = Callable[[int], Iterator[Document]]

#: The suffix, the format and the documents of each source.
_FILES: dict[str, tuple[str, _Writer, _Stream]] = {
    "no-enheter": (".json.gz", write_gzipped_array, documents.companies_no),
    "no-underenheter": (".json.gz", write_gzipped_array, documents.units_no),
    "no-roller": (".json.gz", write_gzipped_array, documents.roles_no),
    "dk-virksomhed": (".jsonl", _write_lines, documents.companies_dk),
    "dk-produktionsenhed": (".jsonl", _write_lines, documents.units_dk),
    "peppol": (".json", _write_cards, documents.participants),
}
