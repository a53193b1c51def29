"""Companies by filters: their part of an index, and the whole path over HTTP."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import quote

import orjson

from bench.figures import Figure, at_most
from bench.processes import Used
from bench.scale import Scale
from bench.setup import loaded_system, sample_companies
from common.contracts.company import CompanyKey, Country, Status
from ingest.registers.brreg.entities import company_record
from lookup.search.find.columns import Segment, joined, save
from lookup.search.index.documents import Batch, StoredParts, stored_batch, written
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed_company import FIELDS, Facts, IndexedCompany, NameType, facts_of
from register_store.ranking import Rank

T = TypeVar("T")

#: Companies that the builder takes at once, as the follower does.
_BATCH = 2_000
_STATUS = FIELDS.index("status")


def named_index(folder: Path, different: Sequence[Facts], times: int) -> SearchIndex:
    """Returns an index of the companies by name, each so many times under other numbers."""
    folder.mkdir()
    index = SearchIndex.open(folder, Country.NO)
    step = len(different)

    def batches() -> Iterator[Batch]:
        for again in range(times):
            for some in _batched(different):
                facts = [one._replace(number=one.number + again * step) for one in some]
                documents = [each for one in facts for each in written(_named(one), Country.NO)]
                yield Batch(documents, Segment.of(facts))

    index.rebuild_from(batches(), b"")
    return index


def _named(facts: Facts) -> IndexedCompany:
    rank = Rank(Status(facts.values[_STATUS]), 0, None, facts.number)
    name = (facts.name.decode(), NameType.CURRENT)
    return IndexedCompany(CompanyKey(Country.NO, str(facts.number)), (name,), (), rank, facts)


def measure_build(scale: Scale) -> Iterator[Figure]:
    """Yields the processor time of an index, and the share of it that the columns take."""
    documents = sample_companies(scale.companies * 10, scale.built)
    records = (company_record(each, date(2026, 11, 2)) for each in documents)
    stored = [StoredParts(record.core, b"null") for record in records]
    size = f", {len(stored):,} companies"
    with TemporaryDirectory(prefix="bench-find-") as folder:
        started = time.process_time()
        with closing(SearchIndex.open(Path(folder), Country.NO)) as index:
            index.rebuild_from((stored_batch(some, Country.NO) for some in _batched(stored)), b"")
        whole = time.process_time() - started
        sizes = {
            kind: sum(path.stat().st_size for path in paths if path.is_file())
            for kind, paths in (
                ("columns", list(Path(folder).rglob("find/*"))),
                ("all", list(Path(folder).rglob("*"))),
            )
        }
    companies = [orjson.loads(each.core) for each in stored]
    with TemporaryDirectory(prefix="bench-find-") as folder:
        started = time.process_time()
        batches = [Segment.of([facts_of(one) for one in some]) for some in _batched(companies)]
        save(Path(folder) / "find", joined(batches))
        columns = time.process_time() - started
    rest = sizes["all"] - sizes["columns"]
    yield Figure(f"index built, processor time{size}", whole, "s")
    yield Figure(f"of it for the columns{size}", columns, "s")
    over = whole / (whole - columns)
    yield Figure(f"time to build over that without columns{size}", over, "×")
    yield at_most(f"size over that without columns{size}", sizes["all"] / rest, "×", 4 / 3)


def _batched(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


def measure_http(scale: Scale) -> Iterator[Figure]:
    """Yields the latency of lists through all processes, over one and many connections."""
    size = f", {scale.companies:,} companies"
    with loaded_system(scale.companies) as loaded:
        paths = [f"/api/companies?{each}" for each in _queries(scale)]
        pids = {name: each.process.pid for name, each in loaded.system.services.items()}
        for connections in (1, 32):
            used = Used(pids)
            loads = [
                loaded.load(paths, connections=connections, seconds=scale.load_seconds)
                for _ in range(scale.rounds)
            ]
            answered = sum(each.rate for each in loads) * scale.load_seconds
            name = f"over HTTP, {connections} connections{size}"
            yield Figure(f"{name}, pages", median(each.rate for each in loads), "/s")
            yield Figure(f"{name}, p50", median(each.p50_ms for each in loads), "ms")
            yield Figure(f"{name}, p99", median(each.p99_ms for each in loads), "ms")
            yield Figure(f"{name}, errors", sum(each.errors for each in loads), "")
            cost = sum(used.seconds().values()) / answered * 1000
            yield Figure(f"{name}, processor time of a page", cost, "ms")


def _queries(scale: Scale) -> Iterator[str]:
    """Returns filters with the values of some company of the register, twenty on a page."""
    for each in sample_companies(scale.companies, scale.queries):
        place = each.get("forretningsadresse") or {}
        code = (each.get("naeringskode1") or {}).get("kode", "62")
        yield f"country=no&industry={code[:2]}"
        yield f"country=no&form={each['organisasjonsform']['kode']}&sort=-employees"
        if "kommune" in place:
            yield f"country=no&municipality={quote(place['kommune'])}&sort=-founded"
