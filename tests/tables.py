"""Tables of cases as text files.

    # A comment.
    Storgade 5, 5000 Odense C
        100.0  storgade 5 5000 odense c
        0.0    Storgade 6, 5000 Odense C

Lines at the margin are given to the indented ones below them, each of which has a result and, two
spaces or more behind it, a query. A table is compared as a whole with one of the current results.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

Answer = Callable[[Sequence[str], str], str]

_CASE = re.compile(r"    (\S+(?: \S+)*)(  +)(\S.*)")


def check(table: Path, answer: Answer) -> None:
    """Compares each result of a table with the answer to its given lines and its query."""
    text = table.read_text()

    current = answered(text, answer)

    assert current == text


def answered(text: str, answer: Answer) -> str:
    """Returns a table with the current results."""
    lines: list[str] = []
    given: list[str] = []
    is_new = True
    for line in text.splitlines():
        if case := _CASE.fullmatch(line):
            is_new = True
            result, space, query = case.groups()
            width = len(result + space)
            lines.append(f"    {answer(given, query) + '  ':<{width}}{query}")
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            given = [] if is_new else given
            given.append(line)
            is_new = False
    return "\n".join(lines) + "\n"
