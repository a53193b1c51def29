"""Shared by all commands: the service to call, and the output of answers and errors."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from company_registry import errors
from company_registry.cli.output import Column, Row, as_json, print_rows, printable
from company_registry.cli.profiles import Options, Profiles, Service, service_of
from company_registry.client import Client


class Country(StrEnum):
    """A country whose register can be searched."""

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

#: The command that does the same as a request that an answer's detail names.
_COMMAND_OF = {"GET /api/suggest": "the command suggest --all"}

#: Seconds for each wait of a request: a person looks on.
_TIMEOUT = 15.0


def _profiles() -> Profiles:
    return Profiles(Path(typer.get_app_dir("company-registry")) / "profiles.json")


@dataclass(frozen=True, slots=True)
class Session:
    """The options that every command has."""

    options: Options
    # `:key:` in a name is no emoji.
    out: Console = field(default_factory=lambda: Console(emoji=False))
    err: Console = field(default_factory=lambda: Console(stderr=True, emoji=False))
    profiles: Profiles = field(default_factory=_profiles)

    @property
    def as_json(self) -> bool:
        """True if the output is JSON."""
        return self.options.as_json

    def service(self) -> Service:
        """The service to call. Raises ValueError for a profile that cannot be used."""
        return service_of(self.options, os.environ, self.profiles.load())

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client of the service; an error ends the command with a message and a status."""
        with self.failing():
            service = self.service()
            with Client(service.url, service.key, timeout=_TIMEOUT) as client:
                yield client

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Ends the command with a message and a status where an error is raised."""
        try:
            yield
        except ValueError as error:
            self.fail(str(error), Exit.USAGE)
        except OSError as error:
            if error.filename is None:  # such as a closed pipe
                raise
            self.fail(f"{error.filename}: {error.strerror}", Exit.USAGE)
        except errors.ApiError as error:
            self.fail(_explained(error), _exit_of(error))
        except errors.NoResponse as error:
            self.fail(str(error), Exit.UNAVAILABLE)
        except errors.CompanyRegistryError as error:
            self.fail(str(error), Exit.FAILED)

    def fail(self, message: str, status: Exit) -> NoReturn:
        """Ends the command; the message goes to standard error."""
        text = "\n".join(map(printable, message.split("\n")))
        self.err.print(f"[bold red]Error:[/] {escape(text)}", highlight=False, soft_wrap=True)
        raise typer.Exit(status)

    def print_json(self, document: Any) -> None:
        """Prints one JSON document per line, for programs."""
        typer.echo(as_json(document))

    def show(self, document: Any, for_people: Callable[[], None]) -> None:
        """Prints the document for programs, or in the other way for people."""
        if self.as_json:
            self.print_json(document)
        else:
            for_people()

    def note(self, text: str) -> None:
        """A notice for people, on standard error."""
        self.err.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def table(self, *columns: str | Column, rows: Iterable[Row], title: str = "") -> None:
        """Prints rows; every cell is plain text, never markup."""
        named = [Column(each) if isinstance(each, str) else each for each in columns]
        print_rows(self.out, named, rows, title)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks before what cannot be undone; without a terminal only `--yes` goes on."""
        if yes:
            return
        if not self.err.is_terminal or not typer.get_text_stream("stdin").isatty():
            self.fail("give --yes: there is no terminal to ask at", Exit.USAGE)
        typer.confirm(question, abort=True, err=True)


def _exit_of(error: errors.ApiError) -> Exit:
    if isinstance(error, errors.CompanyRemoved):
        return Exit.NOT_FOUND
    return _STATUS.get(error.status, Exit.FAILED)


def _explained(error: errors.ApiError) -> str:
    detail = error.detail or error.code
    for request, command in _COMMAND_OF.items():
        detail = detail.replace(request, command)
    lines = [detail]
    if len(error.errors) > 1:
        lines += [f"  {each.parameter}: {each.message}" for each in error.errors]
    elif error.errors and error.errors[0].parameter not in error.detail:
        lines.append(f"  {error.errors[0].parameter}: {error.errors[0].message}")
    if isinstance(error, errors.Unauthorized):
        lines.append("  give a key with --key or API_KEY, or store one with the command login")
    return "\n".join(map(printable, lines))
