"""The index finds the same companies as a scan of every name; a small form of the benchmark."""

from pathlib import Path
from random import Random

from bench.accuracy import GOAL, measure
from bench.disturbing import DISTURBANCES

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


def test_the_index_finds_what_a_scan_of_every_name_finds(tmp_path: Path) -> None:
    names = invented_names(500, Random(7))

    results = list(measure(names, questions=25, seed=7, folder=tmp_path))

    assert [result.disturbance for result in results] == list(DISTURBANCES)
    assert all(result.questions >= 20 for result in results)
    assert all(result.of_the_scan >= GOAL for result in results)
    assert sum(result.same for result in results) >= GOAL * sum(r.questions for r in results)
