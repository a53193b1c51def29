"""Sample registers as files, named and written like the registers' own."""

import gzip
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Protocol

import orjson

from register_samples import documents
from register_samples.facts import AS_OF, Document
from register_samples.registers import REGISTERS

#: There are no more numbers than these.
MAX_COMPANIES = min(register.capacity for register in REGISTERS.values())

#: Documents that are written together; a matter of speed alone.
_BATCH = 100


def write_registers(
    out: Path, companies: int, seed: int = 1, *, countries: Collection[str] = tuple(REGISTERS)
) -> dict[str, Path]:
    """Write the registers of these countries; returns the file of each source.

    The sources are those that the lookup service imports: `no-enheter`, `no-underenheter`,
    `no-roller`, `dk-virksomhed`, `dk-produktionsenhed`, `peppol`. A file appears under its name
    when it is complete; one of the same name is replaced.

    Args:
        out: The folder, created if missing.
        companies: The companies of each register; the first ten are the showcase.
        seed: Another seed gives other companies under the same numbers.
        countries: `dk`, `no` or both; the business cards are of their companies.

    Raises:
        ValueError: the number of companies is not from 1 to `MAX_COMPANIES`.
    """
    if not 1 <= companies <= MAX_COMPANIES:
        raise ValueError(f"a register has 1 to {MAX_COMPANIES} companies, not {companies}")
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for source, stream in _STREAMS.items():
        country = source[:2]
        if country in countries:
            suffix, write = _FORMATS[country]
            written[source] = _write(out / f"{source}{suffix}", write, stream(companies, seed))
    cards = documents.participants(companies, seed, countries=countries)
    return written | {"peppol": _write(out / "peppol.json", _write_cards, cards)}


_Writer = Callable[[Path, Iterable[Document]], None]


def _write(path: Path, write: _Writer, found: Iterable[Document]) -> Path:
    partial = path.with_suffix(".part")
    write(partial, found)
    return partial.replace(path)


def write_gzipped_array(path: Path, found: Iterable[Document]) -> None:
    """Write a gzipped JSON array, one document a line; equal documents give equal bytes."""
    with path.open("wb") as plain, gzip.GzipFile("", "wb", 1, plain, mtime=0) as file:
        file.write(b"[\n")
        _write_joined(file, found, b",\n")
        file.write(b"\n]\n")


def _write_lines(path: Path, found: Iterable[Document]) -> None:
    """Write JSON lines."""
    with path.open("wb") as file:
        _write_joined(file, found, b"\n")
        file.write(b"\n")


def _write_cards(path: Path, cards: Iterable[Document]) -> None:
    """Write the Peppol Directory's JSON export; its count is filled in at the end."""
    created = f"{AS_OF}T02:00:00.000Z"
    head = orjson.dumps({"version": 2, "creationdt": created, "codeListSupported": "9.2"})
    with path.open("wb") as file:
        file.write(head.removesuffix(b"}") + b',"participantCount":')
        place = file.tell()
        file.write(b" " * 12 + b',"bc":[\n')
        count = _write_joined(file, cards, b",\n")
        file.write(b"\n]}\n")
        file.seek(place)
        file.write(f"{count:12d}".encode())


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


def _write_joined(file: _Sink, found: Iterable[Document], separator: bytes) -> int:
    """Write documents with the separator between them; returns their number."""
    count, parts = 0, map(orjson.dumps, found)
    while batch := list(islice(parts, _BATCH)):
        file.write((separator if count else b"") + separator.join(batch))
        count += len(batch)
    return count


_STREAMS = {
    "no-enheter": documents.companies_no,
    "no-underenheter": documents.units_no,
    "no-roller": documents.roles_no,
    "dk-virksomhed": documents.companies_dk,
    "dk-produktionsenhed": documents.units_dk,
}

#: The suffix and the format of each country's files.
_FORMATS: dict[str, tuple[str, _Writer]] = {
    "no": (".json.gz", write_gzipped_array),
    "dk": (".jsonl", _write_lines),
}
