"""CONTRIBUTING.md names files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(
    r"`((?:services|libs)/[\w/-]+\.py)` `([\w.]+)`", (ROOT / "CONTRIBUTING.md").read_text()
)


@pytest.mark.parametrize("path, name", NAMED)
def test_each_stop_of_a_walk_exists(path: str, name: str) -> None:
    scope: ast.AST = ast.parse((ROOT / path).read_text())

    for part in name.split("."):
        scope = next(node for node in ast.walk(scope) if getattr(node, "name", None) == part)


def test_both_walks_have_at_most_ten_stops() -> None:
    stops = re.findall(r"^(\d+)\. `", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)

    assert stops == [*map(str, range(1, 11))] * 2
