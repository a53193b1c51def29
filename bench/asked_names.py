"""Names as people ask for them: what of a name is asked, and who finds its company.

Each row disturbs names drawn by chance; ours is beside rapidfuzz's `WRatio` over the same names,
beside PostgreSQL's `word_similarity`, and beside an exhaustive scan with our own score. Of what no
company is called, the right answer is none. Names are those of `SHARED_DATA`, or invented.

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
from bench.search.pg_trgm import PgTrgm, pg_trgm
from bench.search.scan import Scan, line_of
from common.contracts.company import CompanyKey, Country
from lookup.search.folding import FORM_WORDS, fold_name
from lookup.search.index import SearchIndex
from lookup.search.indexed import AddressKind, IndexedAddress
from lookup.search.synonyms import GENERIC

_COUNTRY: Final = "Danmark"
_TOWNS: Final = ("Aalborg", "Esbjerg", "Kolding", "Odense", "Randers", "Vejle", "Viborg")
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
    word_similarity: int
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


def _with_town(parts: list[str], _: Words, __: Chance) -> str | None:
    return " ".join([*parts, _town_of(parts)])


def _town_of(parts: Sequence[str]) -> str:
    """The town of the company with this name; the samples name none for Danish companies."""
    return _TOWNS[sum(map(len, parts)) % len(_TOWNS)]


def _verbatim(parts: list[str], _: Words, __: Chance) -> str | None:
    return " ".join(parts)


def _initials(parts: list[str], _: Words, __: Chance) -> str | None:
    together = parts[0].replace(".", "")
    are_initials = together.isalpha() and together.isupper() and len(together) in (2, 3)
    return " ".join([*together, *parts[1:]]) if len(parts) > 1 and are_initials else None


def _shuffled(parts: list[str], _: Words, chance: Chance) -> str | None:
    letters = "".join(parts)
    pieces = [letters[place : place + 3] for place in range(0, len(letters), 3)]
    return "".join(chance.sample(pieces, len(pieces))) if len(pieces) > 3 else None


def _generic(_: list[str], __: Words, chance: Chance) -> str | None:
    return chance.choice(sorted(GENERIC))


ROWS: Final[Mapping[str, Ask]] = {
    "verbatim": _verbatim,
    "as it is, without its form": lambda parts, _, __: " ".join(parts),
    "rare first word": _rare_first,
    "rare first word, one typo": _rare_first_typo,
    "first two words of four or more": _first_two,
    "with the country's name": _with_country,
    "without legal form, one typo": _without_form_typo,
    "with the town": _with_town,
    "first two words together": _joined,
    "initials apart": _initials,
}
#: What no company is called.
NONE_CALLED: Final[Mapping[str, Ask]] = {
    "shuffled syllables": _shuffled,
    "one generic word": _generic,
}


def measure(names: Sequence[str], *, questions: int, seed: int, folder: Path) -> Iterator[Row]:
    chance, words = Chance(seed), Words(names)
    companies = [
        company_named(name, number, chance)._replace(addresses=(_at(words.parts(name)),))
        for number, name in enumerate(names)
    ]
    index = SearchIndex.open(folder, Country.DK)
    scan = Scan((line_of(each, *each.names[0]) for each in companies), Country.DK)
    try:
        index.rebuild(companies, b"")
        bearers = {company.key: fold_name(company.names[0][0]).words for company in companies}
        with pg_trgm() as postgresql:
            for label, ask in {**ROWS, **NONE_CALLED}.items():
                asked = list(_asked(names, words, ask, questions, chance))
                found = _answers([question for _, question in asked], bearers, index, scan)
                found.append(_word_similar(postgresql, [text for _, text in asked], bearers))
                yield _row(label, asked, found)
    finally:
        index.close()


def _at(parts: Sequence[str]) -> IndexedAddress:
    return IndexedAddress(AddressKind.BUSINESS, city=_town_of(parts))


def _asked(
    names: Sequence[str], words: Words, ask: Ask, most: int, chance: Chance
) -> Iterator[tuple[str, str]]:
    drawn = 0
    for name in chance.sample(names, len(names)):
        parts = words.parts(name)
        question = name if ask is _verbatim else parts and ask(parts, words, chance)
        if question:
            yield name, question
            drawn += 1
        if drawn == most:
            break


def _answers(
    questions: Sequence[str], names: Mapping[CompanyKey, str], index: SearchIndex, scan: Scan
) -> list[list[str | None]]:
    """The names that the index, the scan and `WRatio` answer with."""
    searches = (index.search_name, scan.search_name)
    hits = [[search(question) for question in questions] for search in searches]
    ours = [[names[hit.key] if hit else None for hit in each] for each in hits]
    all_names = list(names.values())
    best = [
        process.extractOne(
            fold_name(question).words, all_names, scorer=fuzz.WRatio, score_cutoff=_WRATIO_LEAST
        )
        for question in questions
    ]
    return [*ours, [one[0] if one else None for one in best]]


def _word_similar(
    postgresql: PgTrgm, questions: Sequence[str], names: Mapping[CompanyKey, str]
) -> list[str | None]:
    folded = [fold_name(question).words for question in questions]
    return postgresql.most_word_similar(folded, list(names.values()))


def _row(
    label: str, asked: Sequence[tuple[str, str]], found: Sequence[Sequence[str | None]]
) -> Row:
    right = [None if label in NONE_CALLED else fold_name(name).words for name, _ in asked]
    ours, scan, wratio, similar = (
        sum(one == other for one, other in zip(answers, right, strict=True)) for answers in found
    )
    return Row(label, len(asked), ours, scan, similar, wratio)


def table(rows: Iterator[Row]) -> str:
    """A Markdown table, a row a way to ask."""
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
