"""Names as people type them find their companies; a small form of the benchmark."""

from itertools import product
from random import Random

from bench.accuracy import INDEX, SCAN, compared

BEGINNINGS = ("Nord", "Sol", "Fjord", "Måne", "Skov", "Ærø", "Ting", "Vind", "Gran", "Lyng")
ENDINGS = ("bakken", "haugen", "viken", "kilden", "tårnet", "gården")
TRADES = ("Byg og Anlæg", "Transport Holding", "Handel Danmark Invest", "Fiskeri Nordic Group")


def test_names_as_people_type_them_find_their_companies() -> None:
    places = enumerate(product(BEGINNINGS, ENDINGS))
    names = [f"{one}{two} {TRADES[n % len(TRADES)]} ApS" for n, (one, two) in places]

    with compared(names, Random(1)) as comparison:
        rows = [comparison.row(label, edit, 20) for label, edit in comparison.typed_names.items()]

    assert all(row.correct(INDEX) == row.correct(SCAN) for row in rows)
    assert all(row.correct(INDEX) >= 0.9 * len(row.right) for row in rows)
    # Few of the names are second ones or not loaded, and none has initials or an acronym.
    assert sum(len(row.right) >= 15 for row in rows) >= len(rows) - 5
