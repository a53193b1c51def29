"""Accuracy of the index for misspelt names, compared with an exhaustive scan.

The scan compares a query with every name, with the same folding, score and tie-break, so it is the
upper bound for an index. A run samples names, changes each in every way, and queries both.

    SHARED_DATA=<folder of real samples> python -m bench.accuracy
"""

import csv
import gzip
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from bench.disturbing import DISTURBANCES, Chance, Disturbance
from bench.search.scan import Scan, line_of
from common.contracts.company import CompanyKey, Country, Status
from lookup.search.folding import fold_name
from lookup.search.index import SearchIndex
from lookup.search.indexed import IndexedCompany, NameKind
from lookup.store.ranking import Rank

#: Minimum of `Accuracy.of_the_scan`.
GOAL = 0.98


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The queries of one kind, and the correct results of each search."""

    disturbance: str
    questions: int
    #: Results with the name of which the query was made.
    found: int
    found_by_scan: int
    #: Queries for which index and scan returned the same, or both none.
    same: int

    @property
    def of_the_scan(self) -> float:
        """The correct results of the index, as a share of the scan's."""
        return self.found / self.found_by_scan if self.found_by_scan else 1.0


def measure(names: Sequence[str], *, questions: int, seed: int, folder: Path) -> Iterator[Accuracy]:
    """Queries index and scan for a sample of `questions` names, changed in each way."""
    chance = Chance(seed)
    companies = [company_named(name, number, chance) for number, name in enumerate(names)]
    index, scan = SearchIndex.open(folder, Country.DK), _scan_of(companies)
    try:
        index.rebuild(companies, b"")
        bearer = {company.key: fold_name(company.names[0][0]).key for company in companies}
        for label, disturb in DISTURBANCES.items():
            asked = list(_questions(names, disturb, questions, chance))
            yield _accuracy(label, asked, index, scan, bearer)
    finally:
        index.close()


def _scan_of(companies: Iterable[IndexedCompany]) -> Scan:
    lines = (line_of(one, text, kind) for one in companies for text, kind in one.names)
    return Scan(lines, Country.DK)


def company_named(name: str, number: int, chance: Chance) -> IndexedCompany:
    """An invented company; it ranks by chance, so that the tie-break is measured too."""
    return IndexedCompany(
        key=CompanyKey(Country.DK, f"{10_000_000 + number}"),
        names=((name, NameKind.CURRENT),),
        addresses=(),
        rank=Rank(
            status=chance.choice([Status.ACTIVE, Status.ACTIVE, Status.ENDED]),
            employees=chance.choice([0, 0, 1, 5, 20]),
            founded=date(1950, 1, 1) + timedelta(days=chance.randrange(25_000)),
            number=10_000_000 + number,
        ),
    )


def _questions(
    names: Sequence[str], disturb: Disturbance, most: int, chance: Chance
) -> Iterator[tuple[str, str]]:
    """A random sample of names, each with the query made of it."""
    drawn = 0
    for name in chance.sample(names, len(names)):
        question = disturb(name, chance)
        if question and fold_name(question).words:
            yield name, question
            drawn += 1
        if drawn == most:
            break


def _accuracy(
    label: str,
    asked: Sequence[tuple[str, str]],
    index: SearchIndex,
    scan: Scan,
    bearers: Mapping[CompanyKey, str],
) -> Accuracy:
    found = found_by_scan = same = 0
    for name, question in asked:
        hit, reference = index.search_name(question), scan.search_name(question)
        right = fold_name(name).key
        found += hit is not None and bearers[hit.key] == right
        found_by_scan += reference is not None and bearers[reference.key] == right
        same += hit == reference
    return Accuracy(label, len(asked), found=found, found_by_scan=found_by_scan, same=same)


def table(results: Iterable[Accuracy]) -> str:
    """A Markdown table with a row for each disturbance."""
    rows = [
        "| disturbed by | questions | found | by the scan | of the scan's | same answer |",
        "|---|---|---|---|---|---|",
    ]
    for one in results:
        shares = (one.found / one.questions, one.found_by_scan / one.questions, one.of_the_scan)
        found, by_scan, of_scan = (f"{share:.3f}" for share in shares)
        same = f"{one.same / one.questions:.3f}"
        rows.append(
            f"| {one.disturbance} | {one.questions} | {found} | {by_scan} | {of_scan} | {same} |"
        )
    return "\n".join(rows)


def real_names(shared: Path) -> list[str]:
    """The Norwegian and Danish names of the shared samples."""
    with gzip.open(shared / "no-enheter.json.gz") as file:
        names = [entity["navn"] for entity in json.load(file)]
    with (shared / "dk-company-names.csv").open(newline="") as file:
        return names + [row["name"] for row in csv.DictReader(file)]


def main() -> None:
    """Print the table for the real names."""
    names = real_names(Path(os.environ["SHARED_DATA"]))
    with tempfile.TemporaryDirectory(prefix="bench-accuracy-") as folder:
        print(table(measure(names, questions=400, seed=1, folder=Path(folder))))


if __name__ == "__main__":
    main()
