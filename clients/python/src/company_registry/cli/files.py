"""Files that commands read: spreadsheets, and values of options."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from company_registry.cli.session import Exit, Session
from company_registry.spreadsheets import Sheet, read_sheet

SheetName = Annotated[
    str | None,
    typer.Option("--sheet", help="Sheet of a workbook; the first visible one unless given."),
]
HeaderRow = Annotated[
    int | None,
    typer.Option(
        "--header-row", min=1, help="Row of the header; that of the known names unless given."
    ),
]

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


def read_file(
    session: Session, file: Path, sheet: str | None = None, header_row: int | None = None
) -> Sheet:
    """Reads a spreadsheet, or standard input as `-`; ends the command if it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        found = read_sheet(data, sheet=sheet, header_row=header_row)
    except FileNotFoundError:
        session.fail(f"{file}: there is no such file", Exit.USAGE)
    except OSError as error:
        session.fail(f"{file}: {error.strerror}", Exit.USAGE)
    except ValueError as error:
        session.fail(f"{file} {error}", Exit.USAGE)
    if found.description:
        session.note(f"Read {file}: {found.description}")
    return found
