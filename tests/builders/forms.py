"""The forms of values that docs/lookups.md lists: one table for people and for tests."""

import re
from pathlib import Path
from typing import Final, NamedTuple

_DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "lookups.md"
_ROW: Final = re.compile(r"\| ([a-zA-Z -]+)(?:, (dk|no))? \| `([^|]+)` \| (`.+`) \|")
_CODE: Final = re.compile("⟨([0-9A-F]+)⟩")
_HEADING: Final = "## How values are read\n"


class Form(NamedTuple):
    """A value as somebody writes it, and as it is read."""

    kind: str
    #: Empty for a value of both countries.
    country: str
    value: str
    written: str


def forms(*kinds: str) -> list[Form]:
    """The forms of these kinds of values."""
    text = _DOCUMENT.read_text().partition(_HEADING)[2].partition("\n## ")[0]
    return [
        Form(kind, country or "dk", value, _CODE.sub(_character, written))
        for kind, country, value, listed in _ROW.findall(text)
        if kind in kinds
        for written in listed.strip("`").split("` · `")
    ]


def _character(code: re.Match[str]) -> str:
    return chr(int(code[1], 16))
