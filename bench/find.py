"""Companies by filters, beside PostgreSQL: `python -m bench.find [--companies N]`.

Both answer the same seeded filters, one after the other, with the numbers of a page and the total;
then with the counts of four fields. PostgreSQL has an index for each filter and each order, is
analysed, and is a private cluster on a Unix socket, driven by `psql`, whose clock is read.
"""

# ruff: noqa: S608 (the values in its SQL are its own)

import argparse
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.figures import Figure, at_most, latencies, table, write
from common.contracts.company import Country, Status
from common.contracts.find import Between, Facet, FindPosition, FindRequest, FindSort, Has
from common.domain.known_values import _industries, _municipalities
from lookup.search.find.facts import FIELDS, Facts, Flag, employees_text, name_key
from lookup.search.find.finding import find
from lookup.search.find.segment import Segment
from lookup.search.find.segments import Segments, joined, save

_SEED, _QUERIES, _PEER_QUERIES, _PEER_COUNTS = 20_260_302, 400, 150, 40
#: Companies that are invented; a larger register has each several times.
_DIFFERENT = 300_000
_FORMS = ["ENK", "AS", "NUF", "FLI", "ANS", "DA", "SA", "STI"]
_FORM_WEIGHTS = [50, 33, 4, 6, 2, 2, 2, 1]
_STATUSES = ["active", "ended", "bankrupt", "under_liquidation"]


def companies(count: int) -> Iterator[Facts]:
    """Invented companies; values are as unevenly spread as in a register."""
    random = Random(_SEED)
    words = [
        "".join(random.choices("abdefgiklmnoprstuvø", k=random.randint(3, 10)))
        for _ in range(20_000)
    ]
    industries = sorted(set(_industries("classes")))
    municipalities = sorted(set(_municipalities()[Country.NO].values()))
    for number in range(count):
        name = " ".join(
            words[int(random.paretovariate(0.6)) % 20_000] for _ in range(random.randint(1, 3))
        )
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


def _day(random: Random, first: int, last: int) -> str:
    return f"{random.randint(first, last)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"


def requests(sample: Sequence[Facts]) -> list[FindRequest]:
    """One to four filters with the values of some company, in a random order, as first pages."""
    random = Random(_SEED + 1)
    made = []
    for _ in range(_QUERIES):
        values = dict(zip(FIELDS, random.choice(sample).values, strict=True))
        year = random.randint(1950, 2020)
        kinds = {
            "industries": (values["industry"][: random.choice([2, 3, 6])],),
            "municipalities": (values["municipality"],),
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
        fields = {name: kinds[name] for name in chosen}
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
    """The filters in SQL."""
    parts = ["true"]
    parts += [f"industry like '{each}%'" for each in request.industries]
    parts += [f"municipality = '{each}'" for each in request.municipalities]
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
    return " and ".join(parts)


class PostgreSql:
    """A private cluster; its processes end with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.chmod(0o755)
        [self._bin] = Path("/usr/lib/postgresql").glob("*/bin")
        self._data = folder / "data"
        shutil.chown(folder, "postgres")
        self._run("initdb", "-D", str(self._data), "-E", "UTF8", "--locale=C")
        options = (
            f"-k {folder} -c listen_addresses='' -c shared_buffers=1GB -c work_mem=64MB "
            "-c max_wal_size=8GB -c fsync=off"
        )
        log = str(folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-o", options, "-l", log, "start")

    def _run(self, program: str, *arguments: str) -> None:
        command = ["runuser", "-u", "postgres", "--", str(self._bin / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def sql(self, text: str) -> str:
        """Runs a script; returns what psql prints."""
        script = self._folder / "script.sql"
        script.write_text(text)
        psql = [str(self._bin / "psql"), "-h", str(self._folder), "-d", "postgres", "-qAt"]
        command = ["runuser", "-u", "postgres", "--", *psql, "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [*command, "-f", str(script)], check=True, capture_output=True, text=True, cwd="/"
        )
        return done.stdout

    def load(self, rows: Iterable[str], times: int) -> None:
        """Fills the table, then makes the indexes that the manual suggests for such queries."""
        file = self._folder / "companies.tsv"
        with file.open("w") as out:
            out.writelines(rows)
        file.chmod(0o644)
        singles = ("municipality", "postal_code", "form", "status", "founded", "employees")
        indexes = [f"create index on companies ({each})" for each in (*singles, *_ORDERS.values())]
        indexes.append("create index on companies (industry text_pattern_ops)")
        columns = "name, " + ", ".join(FIELDS) + ", has_phone, has_email, has_website"
        self.sql(
            "create table companies (number int, name text, industry text, municipality text, "
            "city text, postal_code text, form text, status text, employees int, founded date, "
            "ended date, has_phone bool, has_email bool, has_website bool, vat_registered bool);\n"
            f"copy companies from '{file}';\n"
            f"insert into companies select number + time * {_DIFFERENT}, {columns}, "
            f"vat_registered from companies, generate_series(1, {times - 1}) as time;\n"
            "alter table companies add primary key (number);\n"
            + ";\n".join(indexes)
            + ";\nvacuum analyze companies;"
        )

    def size(self) -> float:
        """Megabytes of the table with its indexes."""
        return int(self.sql("select pg_total_relation_size('companies')")) / 1e6

    def timed(self, queries: Sequence[Sequence[str]]) -> tuple[list[float], list[list[str]]]:
        """The milliseconds of each group of queries, and what each group answered."""
        lines = ["\\timing on"]
        for group in queries:
            lines += ["\\echo GROUP", *(f"{query};" for query in group)]
        milliseconds, answers = [], []
        for part in self.sql("\n".join(lines)).split("GROUP\n")[1:]:
            milliseconds.append(
                sum(float(each) for each in re.findall(r"^Time: ([0-9.]+) ms", part, re.M))
            )
            answers.append([line for line in part.splitlines() if not line.startswith("Time:")])
        return milliseconds, answers

    def stop(self) -> None:
        """Ends the cluster."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")


def _row(one: Facts) -> str:
    values = dict(zip(FIELDS, one.values, strict=True))
    shown = [values[field] or "\\N" for field in FIELDS]
    flags = [str(bool(one.flags & flag)) for flag in (*_FLAGS.values(), Flag.VAT_REGISTERED)]
    return "\t".join([str(one.number), one.name.decode(), *shown, *flags]) + "\n"


def _repeated(segment: Segment, times: int) -> list[Segment]:
    """A segment of companies so many times, each time with other numbers."""
    step = len(segment)
    return [replace(segment, numbers=segment.numbers + time * step) for time in range(times)]


class Timed(NamedTuple):
    """Milliseconds of wall clock and of processor time, and the answers."""

    wall: list[float]
    processor: list[float]
    answers: list[list[str]]


def _timed(segments: Segments, asked: Sequence[FindRequest]) -> Timed:
    timed = Timed([], [], [])
    for request in asked:
        wall, processor = time.perf_counter(), time.thread_time()
        found = find(segments, request)
        timed.processor.append((time.thread_time() - processor) * 1000)
        timed.wall.append((time.perf_counter() - wall) * 1000)
        timed.answers.append([*(str(one.number) for one in found.positions), str(found.total)])
    return timed


def _latencies(name: str, timed: Timed, *, p50: float | None, p99: float) -> Iterator[Figure]:
    yield from latencies(name, timed.wall, p50=p50, p99=p99)
    yield from latencies(f"{name}, processor time", timed.processor)


def measure(count: int, folder: Path) -> Iterator[Figure]:
    """The figures at one size: many companies are those of a smaller register several times."""
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
    _timed(segments, asked[:50])
    pages = _timed(segments, asked)
    yield from _latencies(f"page and total{size}", pages, p50=10, p99=60)
    later = _timed(segments, _later(segments, asked))
    yield from _latencies(f"page from the middle on{size}", later, p50=10, p99=60)
    counts = _timed(segments, counted)
    yield from _latencies(f"with four counts{size}", counts, p50=None, p99=150)

    database = PostgreSql(folder / "postgres")
    try:
        database.load(map(_row, different), times)
        yield Figure(f"PostgreSQL's table and indexes{size}", database.size(), "MB")
        some = asked[:_PEER_QUERIES]
        database.timed([_page(each) for each in some[:10]])
        milliseconds, answers = database.timed([_page(each) for each in some])
        same = sum(a == b for a, b in zip(pages.answers, answers, strict=False)) / len(some)
        yield Figure(f"same pages and totals as PostgreSQL{size}", same, "of 1")
        yield from latencies(f"page and total, PostgreSQL{size}", milliseconds)
        with_counts = [[*_page(each), *_counts(each)] for each in some[:_PEER_COUNTS]]
        yield from latencies(f"with four counts, PostgreSQL{size}", database.timed(with_counts)[0])
    finally:
        database.stop()


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
    """The same lists, each from a place in the middle of its order on."""
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
    parser.add_argument("--companies", type=int, nargs="+", default=[300_000, 3_000_000])
    figures: list[Figure] = []
    for count in parser.parse_args().companies:
        with TemporaryDirectory(prefix="bench-find-") as folder:
            path = Path(folder)
            path.chmod(0o755)
            (path / "postgres").mkdir()
            for figure in measure(count, path):
                figures.append(figure)
                print(table([figure]).rpartition("\n")[2], flush=True)
        load = Figure("processes that wanted to run, 15 minutes", os.getloadavg()[2], "")
        write("find companies", [*figures, load])


if __name__ == "__main__":
    main()
