"""Shared by all commands: the service to call, and the output of answers and errors."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from company_registry import errors
from company_registry.client import Client
from company_registry.models import Model


class Country(StrEnum):
    DK = "dk"
    NO = "no"


class Exit(IntEnum):
    """Exit statuses of the command."""

    OK = 0
    #: The service refused or failed the request, or some lookups of a batch failed.
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    #: No key, a bad key, or one without the scope.
    UNAUTHORIZED = 4
    #: No response, a dependency is unavailable, or the rate limit is exceeded: try again later.
    UNAVAILABLE = 5


_STATUS: dict[int, Exit] = {
    400: Exit.USAGE,
    401: Exit.UNAUTHORIZED,
    403: Exit.UNAUTHORIZED,
    404: Exit.NOT_FOUND,
    429: Exit.UNAVAILABLE,
    503: Exit.UNAVAILABLE,
    504: Exit.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True)
class Session:
    """The options before the command."""

    url: str
    api_key: str | None
    as_json: bool
    out: Console
    err: Console

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client of the service; an error ends the command with a message and a status."""
        try:
            with Client(self.url, self.api_key) as client:
                yield client
        except ValueError as error:
            self.fail(str(error), Exit.USAGE)
        except OSError as error:
            if error.filename is None:  # such as a closed pipe
                raise
            self.fail(f"{error.filename}: {error.strerror}", Exit.USAGE)
        except errors.ApiError as error:
            self.fail(_explained(error), _STATUS.get(error.status, Exit.FAILED))
        except errors.NoResponse as error:
            self.fail(str(error), Exit.UNAVAILABLE)
        except errors.CompanyRegistryError as error:
            self.fail(str(error), Exit.FAILED)

    def fail(self, message: str, status: Exit) -> NoReturn:
        """Ends the command; the message goes to standard error."""
        self.err.print(f"[bold red]Error:[/] {escape(message)}", highlight=False)
        raise typer.Exit(status)

    def print_json(self, document: Any) -> None:
        """Prints one JSON document per line, for programs."""
        typer.echo(json.dumps(plain(document), ensure_ascii=False))

    def show(self, document: Any, for_people: Callable[[], None]) -> None:
        """Prints the document for programs, or in the other way for people."""
        if self.as_json:
            self.print_json(document)
        else:
            for_people()

    def note(self, text: str) -> None:
        """A word for people, which programs do not get; `text` is markup."""
        if not self.as_json:
            self.out.print(text, highlight=False)

    def table(self, *columns: str, rows: Iterable[Sequence[object]], title: str = "") -> None:
        """A table; every cell is plain text, never markup."""
        table = Table(*columns, title=escape(title) or None, title_justify="left", box=None)
        table.header_style, table.pad_edge = "bold", False
        for row in rows:
            table.add_row(*(escape(shown(cell)) for cell in row))
        self.out.print(table)


def plain(document: Any) -> Any:
    """Models, and lists of them, as the service sent them."""
    if isinstance(document, Model):
        return document.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(document, list | tuple):
        return [plain(each) for each in document]
    return document


def shown(value: object) -> str:
    """A cell of a table; an unknown value is a dash."""
    return "–" if value is None or value == "" else printable(str(value))


def printable(text: str) -> str:
    """The text without control characters, which would act on the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _explained(error: errors.ApiError) -> str:
    lines = [error.detail or error.code]
    if len(error.errors) > 1:
        lines += [f"  {each.parameter}: {each.message}" for each in error.errors]
    elif error.errors and error.errors[0].parameter not in error.detail:
        lines.append(f"  {error.errors[0].parameter}: {error.errors[0].message}")
    if isinstance(error, errors.Unauthorized):
        lines.append("  give a key with --api-key or API_KEY")
    return "\n".join(map(printable, lines))
