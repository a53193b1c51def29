"""The index finds the same companies as a scan of every name; a small form of the benchmark."""

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
    names = invented_names(500, Random(7))

    with compared(names, Random(7)) as comparison:
        rows = [comparison.row(label, edit, 25) for label, edit in EDITS.items()]

    assert all(len(row.right) >= 20 for row in rows)
    assert all(row.of_the_scan >= GOAL for row in rows)
    queries = sum(len(row.right) for row in rows)
    same = sum(sum(map(eq, row.found[INDEX], row.found[SCAN])) for row in rows)
    assert same >= GOAL * queries
