"""The figures of search: at each size an index is built from MongoDB, queried and reopened.

At the largest size also: how often the index returns the result of an exhaustive scan, PostgreSQL's
pg_trgm and a plain rapidfuzz scan over the same names, and the effect of searches on lookups.
"""

import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench import imports
from bench.disturbing import Chance
from bench.figures import Figure, at_least, at_most
from bench.plots import write_curves
from bench.search import beside, stored, suggestions
from bench.search.address_scan import AddressScan
from bench.search.pg_trgm import pg_trgm
from bench.search.questions import SEED, drawn
from bench.search.scan import scanning
from local_stack.system import System
from lookup.search.hits import SearchHit
from register_samples import companies_no

#: Timeout in seconds of building the largest index.
_TIMEOUT = 3600
#: Goals for 3 million companies, held at every size: seconds to build and to open, and megabytes.
_BUILT, _OPENED, _MEMORY = 90, 15, 700
#: A larger register is written to MongoDB without an import.
_IMPORTED_AT_MOST = 300_000
_MEMORY_KINDS = {"own": "own", "files": "mapped files"}
_FASTER = 20


@dataclass(frozen=True, slots=True)
class Size:
    #: Companies, smallest first.
    registers: tuple[int, ...]
    #: Queries of each kind, at each size.
    questions: int
    #: Queries of each kind that are compared with the scan and the peers, at the largest size.
    compared: int
    #: Duration of the stream of searches during lookups by number.
    seconds: int


FULL = Size((30_000, 300_000, 3_000_000), 2_000, 300, 8)
QUICK = Size((1_000, 3_000), 60, 20, 1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The goals of one kind of query; times in milliseconds."""

    label: str
    median: float
    p99: float
    #: Minimum share of results equal to the scan's.
    same: float = 0.99


_KINDS = {
    "names": Bounds("name as it is", 3, 25),
    "names_one_typo": Bounds("name, one typo", 3, 25),
    "names_two_typos": Bounds("name, two typos", 10, 50, 0.97),
    "names_first_word": Bounds("name, its first word", 3, 25),
    "names_first_two_words": Bounds("name, its first two words", 3, 25),
    "addresses": Bounds("address as it is", 3, 25),
    "addresses_one_typo": Bounds("address, one typo", 3, 25),
    "addresses_two_typos": Bounds("address, two typos", 10, 50, 0.97),
}


def measure(
    size: Size, system_of: Callable[[], Any], key_of: Callable[[System], str]
) -> list[Figure]:
    """`system_of` returns a context manager of an empty system, `key_of` an API key of it."""
    figures: list[Figure] = []
    growth: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    imported: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for count in size.registers:
        with system_of() as system:
            register = _Register(system, count, size.questions)
            loaded = register.loaded()
            for figure in loaded[:2]:  # empty for a register that was not imported
                imported[figure.name.partition(",")[0]].append((count, figure.value))
            figures += loaded + register.indexed()
            answers, asked = register.asked()
            figures += asked
            for label, median in register.medians.items():
                growth[label].append((count, median))
            if count == size.registers[-1]:
                figures += _compared(register, answers, size.compared)
                figures += beside.measure(
                    system,
                    key_of(system),
                    register.index,
                    beside.Paths.of(register.numbers, register.questions.names_one_typo),
                    seconds=size.seconds,
                )
    if size is FULL:
        write_curves("search", "A search, median", "companies", "ms", growth)
        write_curves("imports", "An import", "companies", "entities/s", imported)
    return figures


class _Register:
    """A register of invented companies, its index and its queries."""

    def __init__(self, system: System, count: int, questions: int) -> None:
        self._system = system
        self._count = count
        self.size = f"{count:,} companies"
        self._file = system.folder / "enheter.json"
        self.index = system.folder / "index"
        self.index.mkdir()
        self.numbers: list[str] = []
        #: Median in milliseconds by kind of query; set by `asked()`.
        self.medians: dict[str, float] = {}
        self._is_imported = count <= _IMPORTED_AT_MOST
        asked = (
            self._written(max(count // 2_000, 1)) if self._is_imported else self._some(questions)
        )
        self.questions = drawn(asked, questions)
        self._asked = system.folder / "questions.json"
        self.questions.write(self._asked)

    def _written(self, step: int) -> Iterator[Mapping[str, Any]]:
        """Writes the companies to a file and yields them."""
        with self._file.open("wb") as file:
            for n, document in enumerate(companies_no(self._count, SEED)):
                file.write((b"," if n else b"[") + orjson.dumps(document))
                if n % step == step // 2:
                    self.numbers.append(document["organisasjonsnummer"])
                yield document
            file.write(b"]")

    def _some(self, count: int) -> Iterator[Mapping[str, Any]]:
        for start in Chance(SEED).sample(range(self._count), count):
            [document] = companies_no(1, SEED, start=start)
            self.numbers.append(document["organisasjonsnummer"])
            yield document

    def loaded(self) -> list[Figure]:
        if not self._is_imported:
            database = self._system.full_environment()["REGISTER_DB"]
            stored.store(self._system.mongo_url, database, self._count)
            return []
        return imports.grown(self._system, self._file, entities=self._count)

    def indexed(self) -> list[Figure]:
        built, opened = self._inside("ready"), self._inside("ready")
        return [
            at_most(f"index built from MongoDB, {self.size}", built["seconds"], "s", _BUILT),
            Figure(
                f"index built from MongoDB, {self.size}, processor time",
                built["processor_seconds"],
                "s",
            ),
            at_most(
                f"index ready from its saved copy, {self.size}", opened["seconds"], "s", _OPENED
            ),
        ]

    def asked(self) -> tuple[Mapping[str, Sequence[Any]], list[Figure]]:
        """The answers to each kind of query, and their times."""
        said = self._inside("ask", "--questions", str(self._asked))
        figures = [
            at_most(
                f"index memory, {self.size}, searches included",
                sum(said["memory"].values()),
                "MB",
                _MEMORY,
            ),
            *(
                Figure(f"index memory, {self.size}, {_MEMORY_KINDS[kind]}", megabytes, "MB")
                for kind, megabytes in said["memory"].items()
            ),
        ]
        for kind, bounds in _KINDS.items():
            figures += _times(f"{bounds.label}, {self.size}", said[kind], bounds)
            self.medians[bounds.label] = said[kind]["elapsed"]["median"]
        figures += suggestions.figures(said["suggestions"], self.size)
        return {kind: said[kind]["answers"] for kind in _KINDS}, figures

    def listed(self) -> tuple[Path, Path]:
        """Files with all names and with all addresses."""
        self._inside("lists", folder=self._system.folder)
        return self._system.folder / "names", self._system.folder / "addresses"

    def _inside(self, what: str, *arguments: str, folder: Path | None = None) -> Any:
        environment = self._system.full_environment()
        source = ("--mongo-url", self._system.mongo_url, "--database", environment["REGISTER_DB"])
        done = subprocess.run(
            [
                *(sys.executable, "-m", "bench.search.inside", what, str(folder or self.index)),
                *source,
                *arguments,
            ],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_TIMEOUT,
            check=True,
        )
        return json.loads(done.stdout.splitlines()[-1])


def _times(label: str, said: Mapping[str, Any], bounds: Bounds) -> Iterator[Figure]:
    elapsed, processor = said["elapsed"], said["processor"]
    yield at_most(f"search by {label}, median", elapsed["median"], "ms", bounds.median)
    yield at_most(f"search by {label}, p99", elapsed["p99"], "ms", bounds.p99)
    yield Figure(f"search by {label}, median of processor time", processor["median"], "ms")
    yield Figure(f"search by {label}, p99 of processor time", processor["p99"], "ms")


def _compared(
    register: _Register, answers: Mapping[str, Sequence[Any]], count: int
) -> Iterator[Figure]:
    """The index compared with exhaustive scans and pg_trgm over the same names."""
    names, addresses = register.listed()
    yield from _addresses_compared(register, answers, addresses, max(count // 3, 10))
    one_typo = register.questions.names_one_typo[:count]
    with scanning(names) as scan:
        size = f"{scan.names:,} names"
        for kind in ("names_one_typo", "names_two_typos"):
            share = _same(scan.search_name, register.questions.kinds()[kind][:count], answers[kind])
            yield _as_the_scan(kind, size, share)
        plain = statistics.median(scan.plain(name) for name in one_typo[: max(count // 5, 5)])
        size = f"{size}, one typo, median"
    with pg_trgm() as postgresql:
        postgresql.load(names)
        trigrams = statistics.median(postgresql.milliseconds(one_typo))
    ours = register.medians[_KINDS["names_one_typo"].label]
    yield Figure(f"exhaustive rapidfuzz scan, {size}", plain, "ms")
    yield Figure(f"PostgreSQL pg_trgm, {size}", trigrams, "ms")
    yield Figure("name search over the exhaustive rapidfuzz scan, median", plain / ours, "×")
    yield at_least("name search over PostgreSQL pg_trgm, median", trigrams / ours, "×", _FASTER)


def _addresses_compared(
    register: _Register, answers: Mapping[str, Sequence[Any]], path: Path, count: int
) -> Iterator[Figure]:
    scan = AddressScan(path)
    size = f"{scan.addresses:,} addresses"
    for kind in ("addresses_one_typo", "addresses_two_typos"):
        asked = register.questions.kinds()[kind][:count]
        share = _same(scan.search_address, asked, answers[kind])
        yield _as_the_scan(kind, size, share)


def _as_the_scan(kind: str, size: str, share: float) -> Figure:
    bounds = _KINDS[kind]
    label = f"top answer as the exhaustive scan's, {bounds.label}, {size}"
    return at_least(label, share, "", bounds.same)


#: The best answer to a question.
Best = Callable[[str], SearchHit | None]


def _same(best: Best, asked: Sequence[str], answers: Sequence[Any]) -> float:
    """The share of answers equal to the scan's: the same company and score, or none."""
    same = 0
    for question, answer in zip(asked, answers, strict=False):
        hit = best(question)
        same += answer == (None if hit is None else [hit.key, hit.score])
    return same / len(asked)
