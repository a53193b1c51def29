"""The index finds the names that a scan of every name finds; a small form of the benchmark."""

from itertools import product
from operator import eq
from random import Random

from bench.accuracy import GOAL, INDEX, SCAN, compared
from bench.edits import EDITS

FAMILIES = (
    "Abildgaard", "Bæk", "Damgård", "Elkjær", "Falck", "Grønlund", "Højbjerg", "Iversen",
    "Jespersen", "Kjærulff", "Lindø", "Munksgård", "Nørby", "Østergaard", "Pilegaard", "Ravn",
    "Skovgård", "Thorsø", "Ulriksen", "Vestergaard", "Åkjær", "Ærøe",
)  # fmt: skip
TRADES = (
    "Byg", "Transport", "Ejendomme", "Fiskeri", "Handel", "Rådgivning", "Elektro", "Smedje",
    "Tømrer", "Maler", "Revision", "Køreskole", "Bageri", "Gartneri", "Rengøring",
)  # fmt: skip
FORMS = ("A/S", "ApS", "I/S", "AS", "ENK", "")


def invented_names(count: int, chance: Random) -> list[str]:
    def name() -> str:
        words = [chance.choice(FAMILIES), chance.choice(FAMILIES), chance.choice(TRADES)]
        kept = words[chance.randrange(2) :]
        return " ".join(kept + chance.choices(FORMS))

    return [name() for _ in range(count)]


def test_the_index_finds_what_a_scan_of_every_name_finds() -> None:
    with compared(invented_names(300, Random(7)), Random(7)) as comparison:
        rows = [comparison.row(label, edit, 15) for label, edit in EDITS.items()]

    assert all(len(row.right) >= 12 for row in rows)
    assert all(row.of_the_scan >= GOAL for row in rows)
    queries = sum(len(row.right) for row in rows)
    same = sum(sum(map(eq, row.found[INDEX], row.found[SCAN])) for row in rows)
    assert same >= GOAL * queries


def test_names_as_people_type_them_find_their_companies() -> None:
    beginnings = ("Nord", "Sol", "Fjord", "Måne", "Skov", "Ærø", "Ting", "Vind", "Gran", "Lyng")
    endings = ("bakken", "haugen", "viken", "kilden", "tårnet", "gården")
    trades = ("Byg og Anlæg", "Transport Holding", "Handel Danmark Invest", "Fiskeri Nordic Group")
    places = enumerate(product(beginnings, endings))
    names = [f"{one}{two} {trades[n % len(trades)]} ApS" for n, (one, two) in places]

    with compared(names, Random(1)) as comparison:
        rows = [comparison.row(label, edit, 20) for label, edit in comparison.typed_names.items()]

    assert all(row.correct(INDEX) == row.correct(SCAN) for row in rows)
    assert all(row.correct(INDEX) >= 0.9 * len(row.right) for row in rows)
    # Few of the names are second ones or not loaded, and none has initials or an acronym.
    assert sum(len(row.right) >= 15 for row in rows) >= len(rows) - 5
