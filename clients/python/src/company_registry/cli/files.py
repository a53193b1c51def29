"""Values of options that are kept in files."""

import sys
from collections.abc import Sequence
from pathlib import Path

from company_registry.cli.session import Exit, Session

#: Characters of a file: a filter of the service is far smaller.
_MAX_FILE = 1_000_000


def values(session: Session, given: Sequence[str]) -> list[str]:
    """The values, and in place of `@FILE` the lines of the file; `@-` is standard input."""
    found: list[str] = []
    for value in given:
        if value.startswith("@"):
            lines = (line.strip() for line in read_text(session, value[1:]).splitlines())
            found += [line for line in lines if line]
        else:
            found.append(value)
    return found


def read_text(session: Session, name: str) -> str:
    """A small file in UTF-8, or standard input as `-`; ends the command if it cannot be read."""
    try:
        if name == "-":
            name = "standard input"
            text = sys.stdin.read(_MAX_FILE + 1)
        else:
            with Path(name).open(encoding="utf-8-sig") as file:
                text = file.read(_MAX_FILE + 1)
    except OSError as error:
        session.fail(f"{name}: {error.strerror}", Exit.USAGE)
    except UnicodeDecodeError:
        session.fail(f"{name} is not a text in UTF-8", Exit.USAGE)
    if len(text) > _MAX_FILE:
        session.fail(f"{name} is larger than {_MAX_FILE} characters", Exit.USAGE)
    return text
