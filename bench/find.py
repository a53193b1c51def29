"""Companies by filters, beside PostgreSQL: `python -m bench.find [--companies N]`.

Both answer the same seeded filters, one after the other, with the numbers of a page and the total;
then with the counts of four fields, and with words of a name. PostgreSQL has an index for each
filter and each order, is analysed, and is a private cluster on a Unix socket.
"""

# ruff: noqa: S608 (the values in its SQL are its own)

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.figures import Figure, at_most, latencies, table, write
from bench.find_index import measure_build, measure_http, named_index
from bench.peers.postgresql import PostgreSql, is_installed
from bench.scale import FULL, Scale
from common.contracts.company import Country, Status
from common.contracts.find import Between, Facet, FindPosition, FindRequest, FindSort, Has
from common.domain.known_values import _industries, _municipalities
from lookup.search.find.columns import Segment, Segments, joined, save
from lookup.search.find.pages import FindPage, find
from lookup.search.indexed_company import FIELDS, Facts, Flag, employees_text, name_key

_SEED, _QUERIES, _PEER_QUERIES, _PEER_COUNTS = 20_260_302, 400, 150, 40
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
            municipalities[place].upper(),
            f"{(place * 23 + random.randrange(23)) % 10_000:04d}",
            form,
            status,
            employees_text(int(random.paretovariate(0.8))) if random.random() < 0.3 else "",
            _day(random, 1950, 2025),
            _day(random, 2000, 2025) if status == "ended" else "",
        )
        owner = (
            (800_000_000 + int(random.paretovariate(0.5)) % count,) if random.random() < 0.1 else ()
        )
        yield Facts(
            800_000_000 + number, name_key(f"{name} {form}"), values, random.randrange(64), owner
        )


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
        sort = random.choice([FindSort.NAME, FindSort.FOUNDED, FindSort.EMPLOYEES])
        statuses = (Status.ACTIVE,) if random.random() < 0.8 else ()
        made.append(
            FindRequest.model_validate(
                {"country": Country.NO, "limit": 20, "sort": sort, "statuses": statuses, **fields}
            )
        )
    return made


_FLAGS = {Has.PHONE: Flag.PHONE, Has.EMAIL: Flag.EMAIL, Has.WEBSITE: Flag.WEBSITE}
_ORDERS = {
    FindSort.NAME: "name, number",
    FindSort.FOUNDED: "founded desc nulls last, number",
    FindSort.EMPLOYEES: "employees desc nulls last, number",
}


def where(request: FindRequest) -> str:
    """Returns the filters in SQL."""
    parts = ["true"]
    parts += [f"industry like '{each}%'" for each in request.industries]
    parts += [f"municipality = '{each}'" for each in request.municipalities]
    parts += [f"city = '{each}'" for each in request.cities]
    parts += [
        f"postal_code between '{each.first}' and '{each.last}'" for each in request.postal_codes
    ]
    parts += [f"form = '{each}'" for each in request.forms]
    parts += [f"status = '{each}'" for each in request.statuses]
    if request.min_employees is not None:
        parts.append(f"employees >= {request.min_employees}")
    if request.founded is not None:
        parts.append(f"founded between '{request.founded.first}' and '{request.founded.last}'")
    parts += [f"has_{each}" for each in request.has]
    if request.vat_registered:
        parts.append("vat_registered")
    if request.owned_by is not None:
        parts.append(f"number in (select number from owners where owner = {request.owned_by})")
    if request.words is not None:
        query = f"plainto_tsquery('simple', '{request.words}')"
        parts.append(f"to_tsvector('simple', name) @@ {query}")
    return " and ".join(parts)


def _filled(database: PostgreSql, different: Sequence[Facts], times: int) -> None:
    """Fills the tables, then makes the indexes that the manual suggests for such queries."""
    columns = "name, " + ", ".join(FIELDS) + ", has_phone, has_email, has_website, vat_registered"
    singles = ("municipality", "city", "postal_code", "form", "status", "founded", "employees")
    indexes = [f"create index on companies ({each})" for each in (*singles, *_ORDERS.values())]
    indexes += [
        "create index on companies (industry text_pattern_ops)",
        "create index on companies using gin (to_tsvector('simple', name))",
        "create index on owners (owner)",
    ]
    database.sql(
        "create table companies (number int, name text, industry text, municipality text, "
        "city text, postal_code text, form text, status text, employees int, founded date, "
        "ended date, has_phone bool, has_email bool, has_website bool, vat_registered bool);\n"
        "create table owners (owner int, number int);"
    )
    database.load("companies", map(_row, different))
    owned = (f"{owner}\t{one.number}\n" for one in different for owner in one.owners)
    database.load("owners", owned)
    again = f"generate_series(1, {times - 1}) as time"
    database.sql(
        f"insert into companies select number + time * {len(different)}, {columns} "
        f"from companies, {again};\n"
        f"insert into owners select owner, number + time * {len(different)} from owners, {again};\n"
        "alter table companies add primary key (number);\n"
        + ";\n".join(indexes)
        + ";\nvacuum analyze;"
    )


def _row(one: Facts) -> str:
    values = dict(zip(FIELDS, one.values, strict=True))
    shown = [values[field] or "\\N" for field in FIELDS]
    flags = [str(bool(one.flags & flag)) for flag in (*_FLAGS.values(), Flag.VAT_REGISTERED)]
    return "\t".join([str(one.number), one.name.decode(), *shown, *flags]) + "\n"


def _repeated(segment: Segment, times: int) -> list[Segment]:
    """Returns a segment of companies so many times, each time with other numbers."""
    step = len(segment)
    return [replace(segment, numbers=segment.numbers + time * step) for time in range(times)]


class Timed(NamedTuple):
    """Milliseconds of wall clock and of processor time, and the answers."""

    wall: list[float]
    processor: list[float]
    answers: list[list[str]]


def _timed(answer: Callable[[FindRequest], FindPage], asked: Sequence[FindRequest]) -> Timed:
    timed = Timed([], [], [])
    for request in asked:
        wall, processor = time.perf_counter(), time.thread_time()
        found = answer(request)
        timed.processor.append((time.thread_time() - processor) * 1000)
        timed.wall.append((time.perf_counter() - wall) * 1000)
        timed.answers.append([*(str(one.number) for one in found.positions), str(found.total)])
    return timed


def _latencies(name: str, timed: Timed, *, p50: float | None, p99: float) -> Iterator[Figure]:
    yield from latencies(name, timed.wall, p50=p50, p99=p99)
    yield from latencies(f"{name}, processor time", timed.processor)


def measure(scale: Scale) -> Iterator[Figure]:
    """Yields the figures at each size, those of building an index, and over HTTP."""
    for count in scale.listed:
        with TemporaryDirectory(prefix="bench-find-") as folder:
            path = Path(folder)
            path.chmod(0o755)
            (path / "postgres").mkdir()
            yield from _measured(count, path)
    yield from measure_build(scale)
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
    if is_installed():
        yield from _peer(folder / "postgres", different, times, (asked, pages), (worded, named))


Asked = tuple[Sequence[FindRequest], Timed]


def _peer(
    folder: Path, different: Sequence[Facts], times: int, filtered: Asked, worded: Asked
) -> Iterator[Figure]:
    size = f", {len(different) * times:,} companies"
    database = PostgreSql(folder)
    try:
        _filled(database, different, times)
        yield Figure(
            f"PostgreSQL's tables and indexes{size}", database.size("companies", "owners"), "MB"
        )
        for name, (asked, ours) in (("page and total", filtered), ("words of a name", worded)):
            some = asked[:_PEER_QUERIES]
            database.timed([_page(each) for each in some[:10]])
            milliseconds, answers = database.timed([_page(each) for each in some])
            same = sum(a == b for a, b in zip(ours.answers, answers, strict=False)) / len(some)
            yield Figure(f"{name}, same as PostgreSQL{size}", same, "of 1")
            yield from latencies(f"{name}, PostgreSQL{size}", milliseconds)
        with_counts = [[*_page(each), *_counts(each)] for each in filtered[0][:_PEER_COUNTS]]
        yield from latencies(f"with four counts, PostgreSQL{size}", database.timed(with_counts)[0])
    finally:
        database.stop()


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


def _page(request: FindRequest) -> list[str]:
    fitting = f"from companies where {where(request)}"
    return [
        f"select number {fitting} order by {_ORDERS[request.sort]} limit 20",
        f"select count(*) {fitting}",
    ]


def _counts(request: FindRequest) -> list[str]:
    fitting = f"from companies where {where(request)}"
    return [f"select {field}, count(*) {fitting} group by 1" for field in Facet]


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


def main() -> None:
    """Measures at each size, and writes the section of the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.find")
    parser.add_argument("--companies", type=int, nargs="+", default=FULL.listed)
    figures: list[Figure] = []
    for figure in measure(replace(FULL, listed=tuple(parser.parse_args().companies))):
        figures.append(figure)
        print(table([figure]).rpartition("\n")[2], flush=True)
    write("find companies", figures)


if __name__ == "__main__":
    main()
