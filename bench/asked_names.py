"""Accuracy for names as people type them (`bench.asking`), compared with other searches.

Each row queries a random sample of names in one way. The other searches over the same names are an
exhaustive scan with our score, PostgreSQL's `word_similarity` and rapidfuzz's `WRatio`. For a name
that no company has, the right answer is none. Names are those of `SHARED_DATA`, or invented.

    SHARED_DATA=<folder of real samples> python -m bench.asked_names
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rapidfuzz import fuzz, process

from bench.accuracy import company_named, real_names
from bench.asking import (
    ELSEWHERE,
    FORMER_NAME,
    NONE_CALLED,
    ROWS,
    TRADE_NAME,
    VERBATIM,
    Ask,
    Words,
    town_of,
)
from bench.disturbing import Chance
from bench.search.pg_trgm import PgTrgm, pg_trgm
from bench.search.scan import Scan, line_of
from common.contracts.company import Country
from lookup.search.folding import fold_name
from lookup.search.hits import SearchHit
from lookup.search.index import SearchIndex
from lookup.search.indexed import AddressKind, IndexedAddress, IndexedCompany, NameKind

#: Minimum score of `WRatio` to count as found; without one it answers every query.
_WRATIO_LEAST = 86
#: One of so many names is not loaded, one is another company's trade name, and one its former name.
#: Those not loaded are the last ones; real names are listed with the Danish ones last.
_OF_EACH = 20
_DRAWN_FROM: Final = {
    TRADE_NAME: NameKind.TRADE,
    FORMER_NAME: NameKind.FORMER,
    ELSEWHERE: None,
}


@dataclass(frozen=True, slots=True)
class Row:
    """The number of queries of a row, and how many of them each search answered right."""

    label: str
    questions: int
    ours: int
    scan: int
    word_similarity: int
    wratio: int


class Register:
    """Companies made of names; some names are secondary, some belong to no company."""

    def __init__(self, names: Sequence[str], chance: Chance) -> None:
        others = len(names) // _OF_EACH
        texts = chance.sample(names[:-others], len(names) - others)
        self.words = Words(texts)
        current = texts[2 * others :]
        self.names: Mapping[NameKind | None, Sequence[str]] = {
            None: names[-others:],
            NameKind.TRADE: texts[:others],
            NameKind.FORMER: texts[others : 2 * others],
            NameKind.CURRENT: current,
        }
        second = [
            (text, kind) for kind in (NameKind.TRADE, NameKind.FORMER) for text in self.names[kind]
        ]
        self.companies = [
            self._company(name, n, second[n : n + 1], chance) for n, name in enumerate(current)
        ]
        self.texts = {
            (each.key, text): fold_name(text).words
            for each in self.companies
            for text, _ in each.names
        }

    def _company(
        self, name: str, number: int, second: Sequence[tuple[str, NameKind]], chance: Chance
    ) -> IndexedCompany:
        at = IndexedAddress(AddressKind.BUSINESS, city=town_of(self.words.parts(name)))
        made = company_named(name, number, chance)
        return made._replace(names=(*made.names, *second), addresses=(at,))


class Searches:
    """The four searches, over the same names."""

    def __init__(self, register: Register, index: SearchIndex, postgresql: PgTrgm) -> None:
        self._register = register
        self._current = {each.key: each.names[0][0] for each in register.companies}
        self._all = list(register.texts.values())
        self._keys = frozenset(map(_key, self._all))
        lines = (line_of(each, *name) for each in register.companies for name in each.names)
        self._ours, self._scan = index.search_name, Scan(lines, Country.DK).search_name
        self._postgresql = postgresql

    def row(self, label: str, asked: Sequence[tuple[str, str]]) -> Row:
        """The right answer to a query that is itself a registered name is that name."""
        right = [
            key
            if (key := fold_name(question).key) in self._keys
            else (None if label in NONE_CALLED else fold_name(name).key)
            for name, question in asked
        ]
        counts = [
            sum(one == other for one, other in zip(found, right, strict=True))
            for found in self._answers([question for _, question in asked])
        ]
        return Row(label, len(asked), *counts)

    def _answers(self, questions: Sequence[str]) -> Iterator[list[str | None]]:
        """The names found by ours, the scan, `word_similarity` and `WRatio`, as keys."""
        for search in (self._ours, self._scan):
            yield [self._found(search(question)) for question in questions]
        folded = [fold_name(question).words for question in questions]
        yield list(map(_key, self._postgresql.most_word_similar(folded, self._all)))
        best = partial(process.extractOne, scorer=fuzz.WRatio, score_cutoff=_WRATIO_LEAST)
        found = [best(question, self._all) for question in folded]
        yield [_key(one[0]) if one else None for one in found]

    def _found(self, hit: SearchHit | None) -> str | None:
        if hit is None:
            return None
        return _key(self._register.texts[hit.key, hit.matched_name or self._current[hit.key]])


def _key(words: str | None) -> str | None:
    """A folded name without spaces; the separation of words does not matter."""
    return None if words is None else words.replace(" ", "")


def measure(names: Sequence[str], *, questions: int, seed: int, folder: Path) -> Iterator[Row]:
    chance = Chance(seed)
    register = Register(names, chance)
    index = SearchIndex.open(folder, Country.DK)
    try:
        index.rebuild(register.companies, b"")
        with pg_trgm() as postgresql:
            searches = Searches(register, index, postgresql)
            for label, ask in {**ROWS, **NONE_CALLED}.items():
                yield searches.row(label, list(asked(register, label, ask, questions, chance)))
    finally:
        index.close()


def asked(
    register: Register, label: str, ask: Ask, most: int, chance: Chance
) -> Iterator[tuple[str, str]]:
    """A random sample of names, each with the query derived from it."""
    names = register.names[_DRAWN_FROM.get(label, NameKind.CURRENT)]
    drawn = 0
    for name in chance.sample(names, len(names)):
        parts = register.words.parts(name)
        question = name if label == VERBATIM else parts and ask(parts, register.words, chance)
        if question:
            yield name, question
            drawn += 1
        if drawn == most:
            break


def table(rows: Iterator[Row]) -> str:
    """A Markdown table with a row for each way of writing names."""
    lines = [
        "| asked | questions | ours | exhaustive | word_similarity | WRatio |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        found = (row.ours, row.scan, row.word_similarity, row.wratio)
        shares = (f"{count / max(row.questions, 1):.3f}" for count in found)
        lines.append(f"| {row.label} | {row.questions} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table for the real names."""
    names = real_names(Path(os.environ["SHARED_DATA"]))
    with tempfile.TemporaryDirectory(prefix="bench-asked-names-") as folder:
        print(table(measure(names, questions=150, seed=1, folder=Path(folder))))


if __name__ == "__main__":
    main()
