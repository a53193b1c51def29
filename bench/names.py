"""Search by name and address inside the lookup process: latency, memory and build time."""

import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.accuracy import one_typo, two_typos
from bench.figures import Figure, at_most, percentile
from common.contracts.company import Company, Country
from lookup.adapters.index import SearchIndex
from lookup.adapters.registers.reading import parse
from lookup.domain.indexed import IndexedCompany, indexed_core
from lookup.domain.matching import Hit
from lookup.domain.records import CompanyRecord, Kind
from register_samples import companies_no

SEED = 1


@dataclass
class Drawn:
    """Names and addresses to ask for, a random few of those that go by (reservoir sampling)."""

    wanted: int
    chance: random.Random
    seen: int = 0
    companies: list[Company] = field(default_factory=list)

    def note(self, company: Company) -> None:
        self.seen += 1
        if len(self.companies) < self.wanted:
            self.companies.append(company)
        elif (place := self.chance.randrange(self.seen)) < self.wanted:
            self.companies[place] = company


def measure(count: int, *, questions: int) -> list[Figure]:
    """Builds an index of `count` companies and asks it disturbed names, and addresses."""
    chance = random.Random(SEED)
    drawn = Drawn(questions, chance)
    size = f"{count:,} names"
    with tempfile.TemporaryDirectory(prefix="bench-index-") as folder:
        before = _resident()
        index = SearchIndex.open(Path(folder), Country.NO)
        started = time.monotonic()
        index.rebuild(_companies(count, drawn), b"bench")
        built = time.monotonic() - started
        names = [company.name for company in drawn.companies]
        addresses = [c.address.text for c in drawn.companies if c.address is not None]
        one = _timed(index.search_name, [one_typo(name, chance) or name for name in names])
        two = _timed(index.search_name, [two_typos(name, chance) or name for name in names])
        places = _timed(index.search_address, addresses)
        memory = _resident() - before
        index.close()
        started = time.monotonic()
        reopened = SearchIndex.open(Path(folder), Country.NO)
        reopened.search_name(names[0])
        opened = time.monotonic() - started
        reopened.close()
    return [
        at_most(f"name search, one typo, {size}, median", statistics.median(one), "ms", 3),
        at_most(f"name search, one typo, {size}, p99", percentile(one, 0.99), "ms", 25),
        at_most(f"name search, two typos, {size}, median", statistics.median(two), "ms", 10),
        at_most(f"name search, two typos, {size}, p99", percentile(two, 0.99), "ms", 50),
        at_most(f"address search, {size}, median", statistics.median(places), "ms", 3),
        at_most(f"address search, {size}, p99", percentile(places, 0.99), "ms", 25),
        at_most(f"index memory, {size}", memory, "MB", 600),
        Figure(f"index built, companies made and read included, {size}", built, "s"),
        at_most(f"index ready from its saved copy, {size}", opened, "s", 15),
    ]


def _companies(count: int, drawn: Drawn) -> Iterator[IndexedCompany]:
    """The sample register of Norway as the importer reads it."""
    for document in companies_no(count, SEED):
        record = parse(Kind.NO_ENTITIES, document)
        if isinstance(record, CompanyRecord):
            drawn.note(record.company)
            yield indexed_core(record.core)


def _timed(search: Callable[[str], Hit | None], terms: Sequence[str]) -> list[float]:
    """Milliseconds of each search."""
    taken = []
    for term in terms:
        started = time.perf_counter()
        search(term)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def _resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
