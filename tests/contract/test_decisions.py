"""The index of the decision records is complete."""

import re

from tests.contract.manifests.reading import ROOT

FOLDER = ROOT / "docs" / "adr"


def test_the_index_lists_every_decision_under_its_title() -> None:
    index = re.findall(r"^- \[(\d{4})\]\((.+)\) (.+)$", (FOLDER / "README.md").read_text(), re.M)

    decisions = [
        (file.name[:4], file.name, file.read_text().partition("\n")[0].partition(": ")[2])
        for file in sorted(FOLDER.glob("[0-9]*.md"))
    ]
    assert index == decisions
