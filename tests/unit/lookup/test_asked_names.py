"""Names as people type them find their companies; a small form of the benchmark."""

from itertools import product
from pathlib import Path

from bench.asked_names import measure
from bench.asking import NONE_CALLED, ROWS

BEGINNINGS = ("Nord", "Sol", "Fjord", "Måne", "Skov", "Ærø", "Ting", "Vind", "Gran", "Lyng")
ENDINGS = ("bakken", "haugen", "viken", "kilden", "tårnet", "gården")
TRADES = ("Byg og Anlæg", "Transport Holding", "Handel Danmark Invest", "Fiskeri Nordic Group")


def test_what_is_asked_of_a_name_finds_it(tmp_path: Path) -> None:
    places = enumerate(product(BEGINNINGS, ENDINGS))
    names = [f"{one}{two} {TRADES[n % len(TRADES)]} ApS" for n, (one, two) in places]

    found = list(measure(names, questions=20, seed=1, folder=tmp_path))

    assert [row.label for row in found] == [*ROWS, *NONE_CALLED]
    assert all(row.ours == row.scan for row in found)
    assert all(row.ours >= 0.9 * row.questions for row in found)
    assert all(row.ours >= row.wratio for row in found)
    # Few of the names are second ones or not loaded, and none has initials or an acronym.
    assert sum(row.questions >= 15 for row in found) >= len(found) - 5
