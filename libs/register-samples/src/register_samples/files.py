"""The registers as streams of raw documents, and as files named and written like their own."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import orjson

from register_samples.companies import company, units
from register_samples.denmark import company_document, unit_document
from register_samples.norway import entity, roles, unit
from register_samples.peppol import cards
from register_samples.registers import DENMARK, NORWAY, REGISTERS, Document, Register, Variables


def companies_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `enhet` records of the companies at `count` positions from `start`."""
    return map(entity, _companies(NORWAY, count, start))


def units_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `underenhet` records of `count` companies; about 0.9 for each."""
    owners = _companies(NORWAY, count, start)
    return (unit(each, owner) for owner in owners for each in units(NORWAY, owner))


def roles_no(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Norwegian `roller` records of those among `count` companies that have roles."""
    return filter(None, map(roles, _companies(NORWAY, count, start)))


def companies_dk(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Danish `{"Vrvirksomhed": ...}` documents of the companies at `count` positions."""
    return map(company_document, _companies(DENMARK, count, start))


def units_dk(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Danish `{"VrproduktionsEnhed": ...}` documents of `count` companies."""
    owners = _companies(DENMARK, count, start)
    return (unit_document(each, owner) for owner in owners for each in units(DENMARK, owner))


def participants(count: int, *, start: int = 0) -> Iterator[Document]:
    """Yields Peppol business cards of `count` companies of each country."""
    for register in REGISTERS.values():
        for index in range(start, start + count):
            yield from cards(register, index)


def _companies(register: Register, count: int, start: int) -> Iterator[Variables]:
    return (company(register, index) for index in range(start, start + count))


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
    "no-enheter": (".json.gz", write_gzipped_array, companies_no),
    "no-underenheter": (".json.gz", write_gzipped_array, units_no),
    "no-roller": (".json.gz", write_gzipped_array, roles_no),
    "dk-virksomhed": (".jsonl", _write_lines, companies_dk),
    "dk-produktionsenhed": (".jsonl", _write_lines, units_dk),
    "peppol": (".json", _write_cards, participants),
}
