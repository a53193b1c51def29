"""`python -m bench.search.inside`: uses a search index as the lookup service does.

Prints the measurements as one line of JSON. A separate process, so that its memory and processor
time are those of the index alone.
"""

import argparse
import asyncio
import json
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from pymongo import MongoClient

from bench.figures import percentile
from bench.search import address_scan, suggestions
from bench.search.questions import Questions
from bench.search.scan import line_of
from common.contracts.company import Country
from common.mongo import connected, database
from lookup.search.hits import SearchHit
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed import indexed_core
from lookup.search.searcher import followed_indexes

#: Maximum seconds for an index of any size.
_TIMEOUT = 3600
_ROUNDS_TO_WARM_UP = 50


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("ready", "ask", "lists"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mongo-url")
    parser.add_argument("--database")
    parser.add_argument("--questions", type=Path)
    chosen = parser.parse_args()
    match chosen.what:
        case "ready":
            said: Any = asyncio.run(_ready(chosen.mongo_url, chosen.database, chosen.folder))
        case "ask":
            said = _asked(chosen.folder, Questions.read(chosen.questions))
        case _:
            said = {"names": _listed(chosen.mongo_url, chosen.database, chosen.folder)}
    print(json.dumps(said))


async def _ready(url: str, name: str, folder: Path) -> dict[str, float]:
    """The time until the index is ready: built from MongoDB, or opened from the folder."""
    async with connected(url, name="bench", operation_timeout=None) as client:
        began = time.monotonic()
        async with (
            asyncio.timeout(_TIMEOUT),
            followed_indexes(
                database(client, name),
                [Country.NO],
                folder=folder,
                threads=1,
                interval=timedelta(seconds=1),
                random=Random(1),
            ) as indexes,
        ):
            while await indexes.health() is not None:  # noqa: ASYNC110 (there is no event to wait for)
                await asyncio.sleep(0.01)
            seconds = time.monotonic() - began
    spent = resource.getrusage(resource.RUSAGE_SELF)
    # Usage of children counts only those that have ended, as the builders have by now.
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "processor_seconds": sum(r.ru_utime + r.ru_stime for r in (spent, children)),
    }


def _listed(url: str, name: str, folder: Path) -> int:
    """Writes all names and addresses to files for the scans; returns the number of names."""
    count = 0
    client: MongoClient[dict[str, Any]] = MongoClient(url)
    with (
        client,
        (folder / "names").open("w") as names,
        (folder / "addresses").open("w") as addresses,
    ):
        for document in client[name]["companies"].find({"core": {"$ne": None}}, {"core": 1}):
            company = indexed_core(document["core"])
            names.writelines(line_of(company, text, kind) for text, kind in company.names)
            count += len(company.names)
            addresses.writelines(
                address_scan.line_of(company, address) for address in company.addresses
            )
    return count


def _asked(folder: Path, questions: Questions) -> dict[str, Any]:
    """The times and answers of each kind of query, and the memory after all of them."""
    before = _memory()
    index = SearchIndex.open(folder, Country.NO)
    found: dict[str, Any] = {}
    for kind, terms in questions.kinds().items():
        search = index.search_name if kind.startswith("names") else index.search_address
        for term in terms[:_ROUNDS_TO_WARM_UP]:
            search(term)
        found[kind] = _timed(search, terms)
    found["suggestions"] = suggestions.timed(index, questions.names)
    found["memory"] = {kind: value - before[kind] for kind, value in _memory().items()}
    found["companies"] = index.size.companies
    index.close()
    return found


def _timed(search: Callable[[str], SearchHit | None], terms: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of each search, and its answers."""
    elapsed, spent, answers = [], [], []
    for term in terms:
        began, used = time.perf_counter(), time.thread_time()
        hit = search(term)
        spent.append((time.thread_time() - used) * 1000)
        elapsed.append((time.perf_counter() - began) * 1000)
        answers.append(None if hit is None else [hit.key, hit.score])
    return {
        "elapsed": {"median": statistics.median(elapsed), "p99": percentile(elapsed, 0.99)},
        "processor": {"median": statistics.median(spent), "p99": percentile(spent, 0.99)},
        "answers": answers,
    }


def _memory() -> dict[str, float]:
    """Megabytes: private memory, and mapped files, whose pages the system can reclaim."""
    kinds = {"RssAnon": "own", "RssFile": "files"}
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {kind: int(fields[name].split()[0]) / 1024 for name, kind in kinds.items()}


if __name__ == "__main__":
    main()
