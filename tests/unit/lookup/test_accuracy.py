"""The index finds what a scan of every name finds; a small form of `make bench`'s measurement."""

import ast
from pathlib import Path
from random import Random

import bench.peers
from bench.accuracy import GOAL, measure
from bench.disturbing import DISTURBANCES
from lookup.domain import matching
from lookup.domain.indexed import NameKind

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


def test_the_bound_of_the_exhaustive_scan_is_made_of_the_scores_own_weights() -> None:
    # It runs where numpy is, which is not here.
    program = Path(bench.peers.__path__[0]) / "exhaustive_scan.py"
    given = {
        assignment.targets[0].id: ast.literal_eval(assignment.value)
        for assignment in ast.parse(program.read_text()).body
        if isinstance(assignment, ast.Assign) and isinstance(assignment.targets[0], ast.Name)
    }

    assert given["KIND_WEIGHTS"] == tuple(matching.KIND_WEIGHT[kind] for kind in NameKind)
    assert given["MISSING"] == (matching._MISSING_FLOOR, matching._MISSING_SHARE)
    assert given["EXTRA"] == (matching._EXTRA_FLOOR, matching._EXTRA_SHARE)
