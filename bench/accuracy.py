"""Accuracy of name search: queries made of names, and how often each search finds the right name.

The queries are misspelled names (`bench.edits`) and names as people type them
(`bench.typed_names`). The searches are the index, and an exhaustive scan of the same names with the
same score. Where no company has the name, the right result is none. Names are those of the folder
SHARED_DATA, or else invented.
"""

import csv
import gzip
import json
import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.edits import EDITS, ONE_EDIT, Edit
from bench.figures import Figure, at_least
from bench.scale import SEED, Scale
from bench.scan import Scan
from bench.search import search_name
from bench.typed_names import (
    FORMER_NAME,
    OTHER_REGISTER,
    TRADE_NAME,
    UNREGISTERED,
    Words,
    town_of,
    typed_names,
)
from common.contracts.company import CompanyKey, Country, Status
from lookup.search.folding import fold_name
from lookup.search.index import SearchIndex
from lookup.search.index.documents import batch_of
from lookup.search.indexed_company import (
    AddressType,
    IndexedAddress,
    IndexedCompany,
    NameType,
    SearchHit,
    facts_of,
)
from register_samples import companies_no
from register_store.documents import Rank

#: Minimum of the index's right results as a share of the scan's, for misspelled and typed names.
GOAL, _TYPED_GOAL = 0.98, 0.99
#: Minimum of right results: with one edit anywhere in the name, and of names that no company has.
_RIGHT = {ONE_EDIT: 0.97, OTHER_REGISTER: 0.95}
#: Queries of these rows, as a multiple of the others: a goal needs more than a comparison.
_MORE_QUERIES = 10
#: One of so many names is not loaded, one is another company's trade name, and one its former name.
#: The companies that are not loaded come last; real names are listed with the Danish ones last.
_SECONDARY = 20

INDEX, SCAN = "index", "scan"
#: Finds a name, folded and without spaces: the separation of words does not matter.
Search = Callable[[str], str | None]


def measure(scale: Scale) -> Iterator[Figure]:
    names = _names(scale.names)
    with compared(names, Random(SEED)) as comparison:
        for manner, edits, goal in (
            ("misspelled", EDITS, GOAL),
            ("typed", comparison.typed_names, _TYPED_GOAL),
        ):
            for label, edit in edits.items():
                count = scale.row_queries * (_MORE_QUERIES if label in _RIGHT else 1)
                row = comparison.row(label, edit, count)
                name = f"{manner} name found, {label}, {len(names):,} names"
                found = row.correct(INDEX) / max(len(row.right), 1)
                yield at_least(name, found, "", _RIGHT.get(label))
                yield at_least(f"{name}, share of the scan's", row.of_the_scan, "", goal)


def _names(count: int) -> list[str]:
    """Returns the Norwegian and Danish names of the shared samples, or so many invented ones."""
    shared = os.environ.get("SHARED_DATA")
    if not shared:
        return [document["navn"] for document in companies_no(count)]
    with gzip.open(Path(shared, "no-enheter.json.gz")) as file:
        names = [entity["navn"] for entity in json.load(file)]
    with Path(shared, "dk-company-names.csv").open(newline="") as file:
        return names + [row["name"] for row in csv.DictReader(file)]


class Register:
    """Companies made of names; some names are secondary, some belong to no company."""

    def __init__(self, names: Sequence[str], random: Random) -> None:
        others = len(names) // _SECONDARY
        texts = random.sample(names[:-others], len(names) - others)
        self.words = Words(texts)
        current = texts[2 * others :]
        self.names: Mapping[NameType | None, Sequence[str]] = {
            None: names[-others:],
            NameType.TRADE: texts[:others],
            NameType.FORMER: texts[others : 2 * others],
            NameType.CURRENT: current,
        }
        kinds = (NameType.TRADE, NameType.FORMER)
        second = [(text, kind) for kind in kinds for text in self.names[kind]]
        self.companies = [
            self._company(name, n, second[n : n + 1], random) for n, name in enumerate(current)
        ]

    def _company(
        self, name: str, number: int, second: Sequence[tuple[str, NameType]], random: Random
    ) -> IndexedCompany:
        """Returns a company with a random rank, so that the tie-break is measured, too."""
        city = town_of(self.words.parts(name))
        return IndexedCompany(
            key=CompanyKey(Country.DK, f"{10_000_000 + number}"),
            names=((name, NameType.CURRENT), *second),
            addresses=(IndexedAddress(AddressType.BUSINESS, city=city),),
            rank=Rank(
                status=random.choice([Status.ACTIVE, Status.ACTIVE, Status.ENDED]),
                employees=random.choice([0, 0, 1, 5, 20]),
                founded=date(1950, 1, 1) + timedelta(days=random.randrange(25_000)),
                number=10_000_000 + number,
            ),
            facts=facts_of({"vat": f"{10_000_000 + number}", "name": name, "status": "active"}),
        )


@dataclass(frozen=True, slots=True)
class Row:
    """Queries of one type: the right result of each, and the results of each search."""

    right: Sequence[str | None]
    found: Mapping[str, Sequence[str | None]]

    def correct(self, search: str) -> int:
        """Returns the number of right results."""
        return sum(map(operator.eq, self.right, self.found[search]))

    @property
    def of_the_scan(self) -> float:
        """The right results of the index, as a share of the scan's."""
        return self.correct(INDEX) / self.correct(SCAN) if self.correct(SCAN) else 1.0


class Comparison:
    """The searches over the names of a register."""

    def __init__(self, register: Register, index: SearchIndex, random: Random) -> None:
        self._register = register
        self._random = random
        self._current = {each.key: each.names[0][0] for each in register.companies}
        self._keys = frozenset(_key(text) for each in register.companies for text, _ in each.names)
        scan = Scan(register.companies, Country.DK)
        self._searches: dict[str, Search] = {
            INDEX: lambda query: self._name(search_name(index, query)),
            SCAN: lambda query: self._name(scan.search_name(query)),
        }

    @property
    def typed_names(self) -> Mapping[str, Edit]:
        return typed_names(self._register.words)

    def row(self, label: str, edit: Edit, count: int) -> Row:
        """Returns the results of queries made of a random sample of names."""
        queries = list(islice(self._queries(label, edit), count))
        found = {
            search: [find(query) for query, _ in queries] for search, find in self._searches.items()
        }
        return Row([right for _, right in queries], found)

    def _queries(self, label: str, edit: Edit) -> Iterator[tuple[str, str | None]]:
        """Yields queries, each with its right result."""
        sources = {TRADE_NAME: NameType.TRADE, FORMER_NAME: NameType.FORMER, OTHER_REGISTER: None}
        names = self._register.names[sources.get(label, NameType.CURRENT)]
        for name in self._random.sample(names, len(names)):
            query = edit(name, self._random)
            if query and fold_name(query).words:
                yield query, self._right(query, None if label in UNREGISTERED else name)

    def _right(self, query: str, name: str | None) -> str | None:
        """Returns the right result of a query: itself if it is a registered name.

        Another number or single letter makes another company.
        """
        key = _key(query)
        if key in self._keys:
            return key
        return None if name is None or _has_other_figures(query, name) else _key(name)

    def _name(self, hit: SearchHit | None) -> str | None:
        return None if hit is None else _key(hit.matched_name or self._current[hit.key])


def _has_other_figures(query: str, name: str) -> bool:
    """Returns True if a name lacks a number of the query, or has as many other single letters."""
    (numbers, letters), (own_numbers, own_letters) = map(_figures, (query, name))
    return bool(numbers - own_numbers) or (
        letters.total() == own_letters.total() and letters != own_letters
    )


def _figures(text: str) -> tuple[Counter[str], Counter[str]]:
    """Returns the numbers and the single letters of a text."""
    runs = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    letters = (run for run in runs if len(run) == 1 and run.isalpha())
    return Counter(filter(str.isdigit, runs)), Counter(letters)


def _key(name: str) -> str:
    """Returns the folded name without spaces."""
    return fold_name(name).words.replace(" ", "")


@contextmanager
def compared(names: Sequence[str], random: Random) -> Iterator[Comparison]:
    """An index and the other searches over these names."""
    register = Register(names, random)
    with (
        TemporaryDirectory(prefix="bench-accuracy-") as folder,
        closing(SearchIndex.open(Path(folder), Country.DK)) as index,
    ):
        index.rebuild([batch_of(register.companies, Country.DK)], b"")
        yield Comparison(register, index, random)
