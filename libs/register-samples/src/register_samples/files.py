"""The registers as streams of raw documents, and as files named and written like their own."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import orjson

from register_samples.companies import company, units
from register_samples.danish_accounts import Filing, filings
from register_samples.denmark import company_document, unit_document
from register_samples.groups import group_answers
from register_samples.norway import entity, roles, unit
from register_samples.norwegian_accounts import accounts
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


def groups_no(count: int) -> Iterator[Document]:
    """Yields Norwegian `konsernstruktur` answers, one of each group among `count` companies."""
    return group_answers(companies_no(count))


def accounts_no(count: int, *, start: int = 0) -> Iterator[list[Document]]:
    """Yields the answers about the annual accounts of the companies that have some."""
    return filter(None, map(accounts, range(start, start + count)))


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


def filings_dk(count: int, *, start: int = 0) -> Iterator[Filing]:
    """Yields what the companies at `count` positions have filed."""
    return (filing for index in range(start, start + count) for filing in filings(index))


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
    written["no-regnskap"] = out / "no-regnskap.jsonl"
    with written["no-regnskap"].open("wb") as file:
        file.writelines(orjson.dumps(answer) + b"\n" for answer in accounts_no(companies))
    written["dk-regnskab"] = _write_filings(out, filings_dk(companies))
    return written


def _write_filings(out: Path, found: Iterable[Filing]) -> Path:
    """Writes hits as JSON lines, and their documents to the folder `documents`."""
    folder, hits = out / "documents", []
    folder.mkdir(exist_ok=True)
    for filing in found:
        hits.append(filing.hit)
        for path, stored in filing.documents.items():
            (folder / Path(path).name).write_bytes(stored.content)
    with (out / "dk-regnskab.jsonl").open("wb") as file:
        _write_lines(file, hits)
    return out / "dk-regnskab.jsonl"


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
    "no-konsern": (".jsonl", _write_lines, groups_no),
    "dk-virksomhed": (".jsonl", _write_lines, companies_dk),
    "dk-produktionsenhed": (".jsonl", _write_lines, units_dk),
    "peppol": (".json", _write_cards, participants),
}
