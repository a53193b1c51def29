"""Searches by name and address: latency, growth, exactness, and their effect on other lookups.

At each size an index is built from MongoDB, opened again from its saved copy, and queried. At the
largest size its results are also compared with an exhaustive scan's.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from urllib.parse import quote

from pymongo import MongoClient

from bench.edits import Edit, one_typo, two_typos
from bench.figures import Figure, at_least, at_most, in_turns, latencies
from bench.processes import processor_seconds, resident_megabytes
from bench.scale import SEED, Scale
from bench.scan import Scan
from bench.setup import (
    Beside,
    LoadedSystem,
    empty_system,
    entities_file,
    import_entities,
    number_paths,
    sample_companies,
)
from common.contracts.company import Country
from local_stack.system import System
from lookup.search.index import SearchIndex
from lookup.search.index.addresses import search_addresses
from lookup.search.index.names import search_names
from lookup.search.indexed_company import IndexedCompany, SearchHit, indexed_core
from register_store.documents import COMPANIES

#: Seconds to build the largest index.
_TIMEOUT = 3600
_WARM_UP = 50
#: The default limit of the API.
_SUGGESTIONS = 10


def _suggest(index: SearchIndex, text: str) -> None:
    index.suggest(text, _SUGGESTIONS)


def _unchanged(text: str, _: Random) -> str:
    return text


def _first_words(count: int) -> Edit:
    """Returns the first words of a name that has more."""

    def edit(name: str, _: Random) -> str | None:
        words = name.split()
        return " ".join(words[:count]) if len(words) > count else None

    return edit


def _in_street(edit: Edit) -> Edit:
    """Returns the address with an edit before the first digit: a number is never misspelt."""

    def edited(line: str, random: Random) -> str:
        end = next((place for place, letter in enumerate(line) if letter.isdigit()), len(line))
        street = line[:end].rstrip()
        if len(street) < 2:
            return line
        return f"{edit(street, random)}{line[len(street) :]}"

    return edited


def _prefix(name: str, random: Random) -> str:
    return name[: random.randint(2, max(len(name), 2))]


def _prefix_typo(name: str, random: Random) -> str:
    return one_typo(_prefix(name, random), random)


@dataclass(frozen=True, slots=True)
class QueryType:
    label: str
    search: Callable[[SearchIndex, str], SearchHit | None]
    edit: Edit
    #: Maximum milliseconds.
    p50: float
    p99: float
    #: Minimum share of results equal to the scan's.
    exact: float | None = None


def search_name(index: SearchIndex, name: str) -> SearchHit | None:
    """Returns the company with the best matching name, if any is accepted."""
    hits = search_names(index.view(), name, 1)
    return next((hit for hit in hits if not hit.is_other), None)


def _search_address(index: SearchIndex, address: str) -> SearchHit | None:
    return next(iter(search_addresses(index.view(), address, 1)), None)


_NAME, _ADDRESS = search_name, _search_address
_ONE_TYPO = "search by name, one typo"
_QUERY_TYPES = (
    QueryType("search by name as it is", _NAME, _unchanged, 3, 25),
    QueryType(_ONE_TYPO, _NAME, one_typo, 3, 25, exact=0.99),
    QueryType("search by name, two typos", _NAME, two_typos, 10, 50, exact=0.97),
    QueryType("search by name, its first word", _NAME, _first_words(1), 3, 25),
    QueryType("search by name, its first two words", _NAME, _first_words(2), 3, 25),
    QueryType("search by address as it is", _ADDRESS, _unchanged, 3, 25),
    QueryType("search by address, one typo", _ADDRESS, _in_street(one_typo), 3, 25),
    QueryType("search by address, two typos", _ADDRESS, _in_street(two_typos), 10, 50),
    # Users notice a delay of more than 100 ms.
    QueryType("suggestions for a prefix of a name", _suggest, _prefix, 10, 100),
    QueryType("suggestions for a prefix of a name, one typo", _suggest, _prefix_typo, 10, 100),
)

#: By label of the query type.
Queries = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one type of query, and milliseconds of each."""

    hits: Sequence[SearchHit | None]
    elapsed: Sequence[float]
    processor: Sequence[float]


def measure(scale: Scale) -> Iterator[Figure]:
    for companies in scale.registers:
        size = f"{companies:,} companies"
        with empty_system() as system:
            import_entities(system, entities_file(system, companies))
            yield from _indexed(system, size)
            queries = _queries(companies, scale.queries)
            results, memory = _in_new_process(Path(system.folder, "index"), queries)
            yield from _memory(memory, size)
            for each in _QUERY_TYPES:
                name, found = f"{each.label}, {size}", results[each.label]
                yield from latencies(name, found.elapsed, p50=each.p50, p99=each.p99)
                yield from latencies(f"{name}, processor time", found.processor)
            if companies == scale.registers[-1]:
                yield from _exactness(system, queries, results, scale.scanned_queries)
                loaded = LoadedSystem(system, system.issue_key("bench"), number_paths(companies))
                yield from _interference(loaded, queries[_ONE_TYPO], scale)


def _indexed(system: System, size: str) -> Iterator[Figure]:
    """Yields the seconds from the start of a lookup service until it is ready."""
    for label, goal in (("built from MongoDB", 90), ("opened from its saved copy", 15)):
        started = time.monotonic()
        service = system.start("lookup")
        service.process.wait_until(service.is_ready, seconds=_TIMEOUT)
        yield at_most(f"index {label}, {size}", time.monotonic() - started, "s", goal)
        processor_time = processor_seconds(service.process.pid)
        yield Figure(f"index {label}, {size}, processor time", processor_time, "s")
        service.process.stop()


def _memory(megabytes: Mapping[str, float], size: str) -> Iterator[Figure]:
    """Yields the memory, whose goals for 3 million companies hold at every size."""
    name = f"index memory, {size}"
    yield at_most(f"{name}, searches included", sum(megabytes.values()), "MB", 700)
    for label, value in megabytes.items():
        yield Figure(f"{name}, {label}", value, "MB")


def _queries(companies: int, count: int) -> Queries:
    """Returns queries made of random companies of the register."""
    documents = list(sample_companies(companies, count))
    names = [document["navn"] for document in documents]
    addresses = [line for document in documents if (line := _address(document))]
    random = Random(SEED)
    queries = {}
    for each in _QUERY_TYPES:
        texts = addresses if each.search is _ADDRESS else names
        edited = (each.edit(text, random) for text in texts)
        queries[each.label] = [query for query in edited if query]
    return queries


def _address(document: Mapping[str, Any]) -> str | None:
    """Returns the business address on one line, if it has a street."""
    place = document.get("forretningsadresse") or {}
    street = ", ".join(place.get("adresse") or [])
    town = " ".join(part for part in (place.get("postnummer"), place.get("poststed")) if part)
    return f"{street}, {town}" if street and town else None


def _in_new_process(
    folder: Path, queries: Queries
) -> tuple[Mapping[str, Results], Mapping[str, float]]:
    """Runs the queries in a process that has the memory and processor time of the index alone."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run_queries, folder, queries).result()


def _run_queries(
    folder: Path, queries: Queries
) -> tuple[Mapping[str, Results], Mapping[str, float]]:
    """Returns the results of each query type, and the growth of this process in megabytes."""
    before = resident_megabytes()
    with closing(SearchIndex.open(folder, Country.NO)) as index:
        results = {each.label: _timed(index, each, queries[each.label]) for each in _QUERY_TYPES}
        after = resident_megabytes()
    return results, {label: after[label] - before[label] for label in after}


def _timed(index: SearchIndex, query_type: QueryType, queries: Sequence[str]) -> Results:
    """Returns the results and times of the queries, one after the other."""
    for query in queries[:_WARM_UP]:
        query_type.search(index, query)
    hits, elapsed, processor = [], [], []
    for query in queries:
        started, used = time.perf_counter(), time.thread_time()
        hits.append(query_type.search(index, query))
        processor.append((time.thread_time() - used) * 1000)
        elapsed.append((time.perf_counter() - started) * 1000)
    return Results(hits, elapsed, processor)


def _exactness(
    system: System, queries: Queries, results: Mapping[str, Results], count: int
) -> Iterator[Figure]:
    """Yields how often index and scan agree on the company and its score, or find none."""
    with (
        MongoClient[dict[str, Any]](system.mongo_url) as client,
        closing(SearchIndex.open(Path(system.folder, "index"), Country.NO)) as index,
    ):
        # The index counts documents, of which some have an address and no name: in a small
        # register that moves a score by 0.1.
        scan = Scan(_stored_companies(client), Country.NO, weigh=index.view().weigh)
        for each in _QUERY_TYPES:
            if each.exact is not None:
                pairs = zip(queries[each.label][:count], results[each.label].hits, strict=False)
                same = [scan.search_name(query) == _alone(hit) for query, hit in pairs]
                name = f"{each.label}, result of the exhaustive scan, {scan.names:,} names"
                yield at_least(name, sum(same) / len(same), "", each.exact)


def _alone(hit: SearchHit | None) -> SearchHit | None:
    """Returns a result without the number of others, which the scan does not count."""
    return hit and hit._replace(others=0)


def _stored_companies(client: MongoClient[dict[str, Any]]) -> Iterator[IndexedCompany]:
    for document in client["register"][COMPANIES].find({"core": {"$ne": None}}, {"core": 1}):
        yield indexed_core(document["core"])


def _interference(loaded: LoadedSystem, names: Sequence[str], scale: Scale) -> Iterator[Figure]:
    """Yields the latency of lookups over one connection, alone and during searches by name."""
    for module in ("lookup", "gateway"):
        loaded.system.start(module).wait_until_ready()
    searches = Beside([f"/api/name?country=no&q={quote(name)}" for name in names], loaded.key)
    loads = in_turns(
        scale.rounds,
        {
            beside: partial(loaded.load, connections=1, seconds=scale.load_seconds, beside=beside)
            for beside in (None, searches)
        },
    )
    alone, during = ([one.p99_ms for one in loads[beside]] for beside in (None, searches))
    name = "lookups by number during name searches, p99"
    yield Figure("lookups by number alone, p99", median(alone), "ms")
    yield Figure("name searches meanwhile", median(each.rate for each in searches.loads), "/s")
    yield Figure(name, median(during), "ms")
    yield at_most(f"{name} over alone", median(during) / median(alone), "×", 3)
