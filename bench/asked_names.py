"""Names as people ask for them: what of a name is asked, and who finds its company.

Each row disturbs names drawn by chance; ours is beside rapidfuzz's `WRatio` over the same names,
and beside an exhaustive scan with our own score. Names are those of `SHARED_DATA`, or invented.

    SHARED_DATA=<folder of real samples> python -m bench.asked_names
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rapidfuzz import fuzz, process

from bench.accuracy import company_named, real_names
from bench.disturbing import Chance, one_typo
from bench.search.scan import Scan, line_of
from common.contracts.company import CompanyKey, Country
from lookup.search.folding import FORM_WORDS, fold_name
from lookup.search.index import SearchIndex

_COUNTRY: Final = "Danmark"
_FEWEST_LETTERS, _LONG_WORD = 5, 7
#: What `WRatio` must give to count as found; at its default it answers every question.
_WRATIO_LEAST = 86


@dataclass(frozen=True, slots=True)
class Row:
    """How many of a row's questions each of the searches answered with the name that was asked."""

    label: str
    questions: int
    ours: int
    scan: int
    wratio: int


class Words:
    """The words of names, and how many names have each."""

    def __init__(self, names: Sequence[str]) -> None:
        self._counts = Counter(word for name in names for word in set(fold_name(name).tokens))

    def parts(self, name: str) -> list[str]:
        """The words as written, without legal forms."""
        forms = (part for part in name.split() if part.lower().strip(",./") not in FORM_WORDS)
        return [part for part in forms if any(map(str.isalnum, part))]

    def is_rare(self, word: str) -> bool:
        return self._counts[fold_name(word).tokens[0]] == 1


#: Makes of a name's parts what is asked; None where the name does not lend itself to it.
Ask = Callable[[list[str], Words, Chance], str | None]


def _rare_first(parts: list[str], words: Words, _: Chance) -> str | None:
    first = parts[0] if len(parts) > 1 else ""
    return first if len(first) >= _FEWEST_LETTERS and words.is_rare(first) else None


def _rare_first_typo(parts: list[str], words: Words, chance: Chance) -> str | None:
    first = _rare_first(parts, words, chance)
    return one_typo(first, chance) if first and len(first) >= _LONG_WORD else None


def _first_two(parts: list[str], words: Words, _: Chance) -> str | None:
    rare = len(parts) > 3 and any(words.is_rare(part) for part in parts[:2])
    return " ".join(parts[:2]) if rare else None


def _with_country(parts: list[str], _: Words, __: Chance) -> str | None:
    return " ".join([*parts, _COUNTRY])


def _without_form_typo(parts: list[str], _: Words, chance: Chance) -> str | None:
    own = " ".join(parts)
    return one_typo(own, chance) if len(own) > _LONG_WORD else None


def _joined(parts: list[str], _: Words, __: Chance) -> str | None:
    return "".join(parts[:2]) + " " + " ".join(parts[2:]) if len(parts) > 2 else None


ROWS: Final[Mapping[str, Ask]] = {
    "as it is, without its form": lambda parts, _, __: " ".join(parts),
    "rare first word": _rare_first,
    "rare first word, one typo": _rare_first_typo,
    "first two words of four or more": _first_two,
    "with the country's name": _with_country,
    "without legal form, one typo": _without_form_typo,
    "first two words together": _joined,
}


def measure(names: Sequence[str], *, questions: int, seed: int, folder: Path) -> Iterator[Row]:
    chance, words = Chance(seed), Words(names)
    companies = [company_named(name, number, chance) for number, name in enumerate(names)]
    index = SearchIndex.open(folder, Country.DK)
    scan = Scan((line_of(each, *each.names[0]) for each in companies), Country.DK)
    try:
        index.rebuild(companies, b"")
        bearers = {company.key: fold_name(company.names[0][0]).words for company in companies}
        for label, ask in ROWS.items():
            asked = list(_asked(names, words, ask, questions, chance))
            yield _row(label, asked, index, scan, bearers)
    finally:
        index.close()


def _asked(
    names: Sequence[str], words: Words, ask: Ask, most: int, chance: Chance
) -> Iterator[tuple[str, str]]:
    drawn = 0
    for name in chance.sample(names, len(names)):
        parts = words.parts(name)
        if parts and (question := ask(parts, words, chance)):
            yield name, question
            drawn += 1
        if drawn == most:
            break


def _row(
    label: str,
    asked: Sequence[tuple[str, str]],
    index: SearchIndex,
    scan: Scan,
    names: Mapping[CompanyKey, str],
) -> Row:
    ours = by_scan = by_wratio = 0
    all_names = list(names.values())
    for name, question in asked:
        right = fold_name(name).words
        hit, reference = index.search_name(question), scan.search_name(question)
        ours += hit is not None and names[hit.key] == right
        by_scan += reference is not None and names[reference.key] == right
        best = process.extractOne(
            fold_name(question).words, all_names, scorer=fuzz.WRatio, score_cutoff=_WRATIO_LEAST
        )
        by_wratio += best is not None and best[0] == right
    return Row(label, len(asked), ours, by_scan, by_wratio)


def table(rows: Iterator[Row]) -> str:
    """A Markdown table, a row a way to ask."""
    lines = ["| asked | questions | ours | exhaustive | WRatio |", "|---|---|---|---|---|"]
    for row in rows:
        shares = (
            f"{found / max(row.questions, 1):.3f}" for found in (row.ours, row.scan, row.wratio)
        )
        lines.append(f"| {row.label} | {row.questions} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table for the real names."""
    names = real_names(Path(os.environ["SHARED_DATA"]))
    with tempfile.TemporaryDirectory(prefix="bench-asked-names-") as folder:
        print(table(measure(names, questions=150, seed=1, folder=Path(folder))))


if __name__ == "__main__":
    main()
