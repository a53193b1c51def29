"""Companies by filters: pages, and the whole path over HTTP.

Seeded filters are answered one after the other, with the numbers of a page and the total; then with
the counts of four fields, and with words of a name.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from bench.figures import Figure, at_most, latencies
from bench.processes import Used
from bench.scale import Scale
from bench.setup import loaded_system, sample_companies
from common.contracts.company import CompanyKey, Country, Status
from common.contracts.find import Between, Facet, FindPosition, FindRequest, FindSort, Has
from common.domain.known_values import _industries, _municipalities
from lookup.search.find.columns import Segment, Segments, joined, save
from lookup.search.find.pages import FindPage, find
from lookup.search.index.documents import Batch, written
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed_company import (
    FIELDS,
    Facts,
    IndexedCompany,
    NameType,
    employees_text,
    name_key,
)
from register_store.documents import Rank

_SEED, _QUERIES = 20_260_302, 400
#: The least common words of a name, which all are as common as one another.
_WORDS = 20_000
#: Companies that are invented; a larger register has each several times.
_DIFFERENT = 300_000
_FORMS = ["ENK", "AS", "NUF", "FLI", "ANS", "DA", "SA", "STI"]
_FORM_WEIGHTS = [50, 33, 4, 6, 2, 2, 2, 1]
_STATUSES = ["active", "ended", "bankrupt", "under_liquidation"]


def companies(count: int) -> Iterator[Facts]:
    """Returns invented companies, with values as unevenly spread as in a register."""
    random = Random(_SEED)
    words = [
        "".join(random.choices("abdefgiklmnoprstuvø", k=random.randint(3, 10)))
        for _ in range(_WORDS)
    ]
    industries = sorted(set(_industries("classes")))
    municipalities = sorted(set(_municipalities()[Country.NO].values()))
    for number in range(count):
        name = " ".join(words[_common(random)] for _ in range(random.randint(1, 3)))
        place = int(random.paretovariate(0.7)) % len(municipalities)
        form = random.choices(_FORMS, _FORM_WEIGHTS)[0]
        status = random.choices(_STATUSES, [80, 17, 2, 1])[0]
        values = (
            industries[int(random.paretovariate(0.5)) % len(industries)] + "0",
            municipalities[place].upper(),
            f"{place:04d}",
            municipalities[place].upper(),
            f"{(place * 23 + random.randrange(23)) % 10_000:04d}",
            form,
            status,
            employees_text(int(random.paretovariate(0.8))) if random.random() < 0.3 else "",
            _day(random, 1950, 2025),
            _day(random, 2000, 2025) if status == "ended" else "",
            str(random.randint(2019, 2025)),
            _day(random, 2021, 2027),
        )
        owned_by = 800_000_000 + int(random.paretovariate(0.5)) % count
        owners = (owned_by,) if random.random() < 0.1 else ()
        flags, key = random.randrange(64), name_key(f"{name} {form}")
        yield Facts(800_000_000 + number, key, values, flags, owners)


def _common(random: Random) -> int:
    """Returns the place of a word: the first is in one name of fifteen, as `holding` in Denmark."""
    return int(random.paretovariate(0.05) % _WORDS)


def _day(random: Random, first: int, last: int) -> str:
    return f"{random.randint(first, last)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"


def requests(sample: Sequence[Facts]) -> list[FindRequest]:
    """Yields first pages with one to four filters of some company, in a random order."""
    random = Random(_SEED + 1)
    owners = [owner for one in sample for owner in one.owners]
    made = []
    for _ in range(_QUERIES):
        values = dict(zip(FIELDS, random.choice(sample).values, strict=True))
        year = random.randint(1950, 2020)
        kinds = {
            "industries": (values["industry"][: random.choice([2, 3, 6])],),
            "municipalities": (values["municipality"],),
            "cities": (values["city"],),
            "owned_by": f"{random.choice(owners):09d}",
            "postal_codes": (
                Between(
                    first=values["postal_code"][:2] + "00", last=values["postal_code"][:2] + "99"
                ),
            ),
            "forms": (values["form"],),
            "min_employees": random.choice([1, 5, 20, 100]),
            "founded": Between(
                first=f"{year}-01-01", last=f"{year + random.choice([1, 5, 30])}-12-31"
            ),
            "has": (random.choice([Has.PHONE, Has.EMAIL, Has.WEBSITE]),),
            "vat_registered": True,
        }
        chosen = random.sample(sorted(kinds), random.randint(1, 4))
        fields: dict[str, object] = {name: kinds[name] for name in chosen}
        sort = random.choice(
            [FindSort.NAME, FindSort.FOUNDED_DESCENDING, FindSort.EMPLOYEES_DESCENDING]
        )
        statuses = (Status.ACTIVE,) if random.random() < 0.8 else ()
        made.append(
            FindRequest.model_validate(
                {"country": Country.NO, "limit": 20, "sort": sort, "statuses": statuses, **fields}
            )
        )
    return made


def _repeated(segment: Segment, times: int) -> list[Segment]:
    """Returns a segment of companies so many times, each time with other numbers."""
    step = len(segment)
    return [replace(segment, numbers=segment.numbers + time * step) for time in range(times)]


class Timed(NamedTuple):
    """Milliseconds of wall clock and of processor time."""

    wall: list[float]
    processor: list[float]


def _timed(answer: Callable[[FindRequest], FindPage], asked: Sequence[FindRequest]) -> Timed:
    timed = Timed([], [])
    for request in asked:
        wall, processor = time.perf_counter(), time.thread_time()
        answer(request)
        timed.processor.append((time.thread_time() - processor) * 1000)
        timed.wall.append((time.perf_counter() - wall) * 1000)
    return timed


def _latencies(name: str, timed: Timed, *, p50: float | None, p99: float) -> Iterator[Figure]:
    yield from latencies(name, timed.wall, p50=p50, p99=p99)
    yield from latencies(f"{name}, processor time", timed.processor)


def measure(scale: Scale) -> Iterator[Figure]:
    """Yields the figures at each size, and over HTTP."""
    for count in scale.listed:
        with TemporaryDirectory(prefix="bench-find-") as folder:
            path = Path(folder)
            yield from _measured(count, path)
    yield from measure_http(scale)
    yield Figure("processes that wanted to run, 15 minutes", os.getloadavg()[2], "")


def _measured(count: int, folder: Path) -> Iterator[Figure]:
    """Yields the figures at one size; large registers have companies several times."""
    size = f", {count:,} companies"
    different = list(companies(min(count, _DIFFERENT)))
    times = count // len(different)
    whole = Segment.of(different)
    started = time.process_time()
    segments = save(folder / "find", joined(_repeated(whole, times)))
    yield Figure(f"columns merged, processor time{size}", time.process_time() - started, "s")
    stored = sum(path.stat().st_size for path in (folder / "find").iterdir())
    # A third of the index of names and addresses as it was before: 543 MB for 3 million.
    yield at_most(f"columns{size}", stored / 1e6, "MB", 543 / 3 * count / 3_000_000)

    asked = requests(different)
    counted = [each.model_copy(update={"facets": tuple(Facet)}) for each in asked]
    answer = partial(find, segments)
    _timed(answer, asked[:50])
    pages = _timed(answer, asked)
    yield from _latencies(f"page and total{size}", pages, p50=10, p99=60)
    later = _timed(answer, _later(segments, asked))
    yield from _latencies(f"page from the middle on{size}", later, p50=10, p99=60)
    counts = _timed(answer, counted)
    yield from _latencies(f"with four counts{size}", counts, p50=None, p99=150)

    worded = with_words(different)
    with closing(named_index(folder / "index", different, times)) as index:
        _timed(index.find, worded[:50])
        named = _timed(index.find, worded)
    yield from _latencies(f"words of a name{size}", named, p50=10, p99=60)


def with_words(sample: Sequence[Facts]) -> list[FindRequest]:
    """Yields one or two words of some company's name, alone or with a status or a form."""
    random = Random(_SEED + 2)
    made = []
    for _ in range(_QUERIES):
        company = random.choice(sample)
        values = dict(zip(FIELDS, company.values, strict=True))
        *words, _form = company.name.decode().split()
        chosen = random.sample(words, min(len(words), random.randint(1, 2)))
        others: list[dict[str, object]] = [
            {},
            {"statuses": (Status.ACTIVE,)},
            {"forms": (values["form"],)},
        ]
        fields = random.choice(others)
        made.append(
            FindRequest.model_validate(
                {"country": Country.NO, "limit": 20, "words": " ".join(chosen), **fields}
            )
        )
    return made


def _later(segments: Segments, asked: Sequence[FindRequest]) -> list[FindRequest]:
    """Returns the same lists, each from a place in the middle of its order on."""
    segment = segments.parts[0].segment
    later = []
    for request in asked:
        row = int(segment.orders[request.sort][len(segment) // 2])
        key = segment.key(request.sort, row)
        text = key.decode() if isinstance(key, bytes) else key
        number = int(segment.numbers[row])
        position = FindPosition(key=text, country=Country.NO, number=number)
        later.append(request.model_copy(update={"after": position}))
    return later


# --- An index of names, and HTTP

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

    index.rebuild(batches(), b"")
    return index


def _named(facts: Facts) -> IndexedCompany:
    rank = Rank(Status(facts.values[_STATUS]), 0, None, facts.number)
    name = (facts.name.decode(), NameType.CURRENT)
    return IndexedCompany(CompanyKey(Country.NO, str(facts.number)), (name,), (), rank, facts)


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
