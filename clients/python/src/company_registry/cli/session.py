"""Common to all commands: options, a service with its key, and the output of errors."""

import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, NoReturn, ParamSpec

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.markup import escape

from company_registry import errors
from company_registry.cli.output import Column, Row, as_json, print_rows, printable
from company_registry.client import Client
from company_registry.spreadsheets import country_of

DEFAULT_URL: Final = "http://127.0.0.1:8080"
DEFAULT_PROFILE: Final = "default"

#: The first one that is set counts.
URL_VARIABLES: Final = ("COMPANY_REGISTRY_URL", "BASE_URL")
KEY_VARIABLES: Final = ("COMPANY_REGISTRY_API_KEY", "API_KEY")
PROFILE_VARIABLE: Final = "COMPANY_REGISTRY_PROFILE"


class Profile(BaseModel):
    """A service and the API key that is used there."""

    model_config = ConfigDict(frozen=True)

    url: str
    key: str = Field(repr=False)


class _File(BaseModel):
    profiles: dict[str, Profile] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profiles:
    """The file of all profiles, which only its owner can read."""

    path: Path

    def load(self) -> dict[str, Profile]:
        """Profiles by name. Raises ValueError for a file that is not one of profiles."""
        try:
            return _File.model_validate_json(self.path.read_bytes()).profiles
        except FileNotFoundError:
            return {}
        except ValidationError:
            raise ValueError(f"{self.path} cannot be read: delete it, and log in again") from None

    def save(self, profiles: Mapping[str, Profile]) -> None:
        """Replaces the file as a whole; it has mode 600 from its first byte."""
        document = {"profiles": {name: each.model_dump() for name, each in profiles.items()}}
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, written = tempfile.mkstemp(dir=folder)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(descriptor)
            Path(written).replace(self.path)
        except BaseException:
            with suppress(OSError):
                Path(written).unlink()
            raise


@dataclass(frozen=True, slots=True)
class Options:
    """The options of every command that were given; None is not given."""

    url: str | None = None
    key: str | None = None
    profile: str | None = None
    as_json: bool = False

    def over(self, earlier: "Options") -> "Options":
        """These, and where they are not given the earlier ones."""
        return Options(
            self.url if self.url is not None else earlier.url,
            self.key if self.key is not None else earlier.key,
            self.profile if self.profile is not None else earlier.profile,
            self.as_json or earlier.as_json,
        )


@dataclass(frozen=True, slots=True)
class Service:
    """The service to call, and the key to call it with."""

    url: str
    key: str | None
    #: The profile that the key is of.
    profile: str | None = None


def service_of(
    options: Options, environment: Mapping[str, str], profiles: Mapping[str, Profile]
) -> Service:
    """Chooses by options, then environment, then profile; `--profile` is an option.

    The key of a profile is sent to the profile's own URL, and to no other.
    Raises ValueError for a profile that does not exist.
    """
    name = options.profile or environment.get(PROFILE_VARIABLE)
    if name and name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise ValueError(
            f"there is no profile {name} (known: {known}); the command login makes one"
        )
    stored = profiles.get(name or DEFAULT_PROFILE)
    if options.profile:
        environment = {}
    url = options.url or first(environment, URL_VARIABLES) or (stored and stored.url) or DEFAULT_URL
    url = url.rstrip("/")
    key = first(environment, KEY_VARIABLES) if options.key is None else options.key
    if key is None and stored is not None and stored.url == url:
        return Service(url, stored.key, name or DEFAULT_PROFILE)
    return Service(url, key or None)


def first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The value of the first variable that is set and not empty."""
    return next((value for name in names if (value := environment.get(name))), None)


class Country(StrEnum):
    """A country whose register can be searched."""

    DK = "dk"
    NO = "no"


#: The registers' own names.
_REGISTERS: Final = {"cvr": Country.DK, "brreg": Country.NO}


def _country(text: str) -> Country:
    found = country_of(text) or _REGISTERS.get(text.strip().casefold())
    if found is None:
        raise typer.BadParameter(f"“{printable(text)}” is neither dk (Danmark) nor no (Norge).")
    return Country(found)


#: How an argument or an option reads a country: by its code, or a name in any of the languages.
READ_COUNTRY: Final[Mapping[str, Any]] = {
    "parser": _country,
    "autocompletion": lambda: list(Country),
    "metavar": "COUNTRY",
}


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
    502: Exit.UNAVAILABLE,
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
    found = _STATUS.get(error.status, Exit.FAILED)
    # Without a code it is the page of a proxy, which knows nothing of companies.
    return Exit.FAILED if found is Exit.NOT_FOUND and not error.code else found


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


P = ParamSpec("P")
Command = Callable[Concatenate[Session, P], None]

#: The formats of times; one without an offset is local.
TIMES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

_PANEL: Final = "Options of every command"


def _names_of_profiles(incomplete: str) -> list[str]:
    with suppress(ValueError, OSError):  # which the command reports
        return [name for name in Session(Options()).profiles.load() if name.startswith(incomplete)]
    return []


def _options(
    *,
    service_url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="URL of the service; else COMPANY_REGISTRY_URL, BASE_URL or the profile's.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    service_key: Annotated[
        str | None,
        typer.Option(
            "--key",
            "--api-key",
            help="API key; else COMPANY_REGISTRY_API_KEY, API_KEY or the profile's.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Profile that login stored; else COMPANY_REGISTRY_PROFILE or “default”.",
            rich_help_panel=_PANEL,
            autocompletion=_names_of_profiles,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON, one document on each line.", rich_help_panel=_PANEL
        ),
    ] = False,
) -> Options:
    return Options(service_url, service_key, profile, as_json)


_SHARED: Final = inspect.signature(_options, eval_str=True).parameters


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        shared = _options(**{name: given.pop(name) for name in _SHARED})
        context.obj = shared.over(context.obj or Options())
        command(Session(context.obj), **given)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [*list(own.parameters.values())[1:], *_SHARED.values()]
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = own.replace(parameters=[context, *named])  # type: ignore[attr-defined]
    return run


class App(typer.Typer):
    """Commands that take a Session, and the shared options before and after their names."""

    def __init__(
        self, *, callback: Callable[..., None] = lambda _session: None, **more: Any
    ) -> None:
        super().__init__(
            no_args_is_help=True,
            pretty_exceptions_enable=False,
            rich_markup_mode="rich",
            callback=_with_options(callback),
            **more,
        )

    def add(self, name: str, *, hidden: bool = False) -> Callable[[Command[P]], Command[P]]:
        """Adds a command, a function whose first parameter is the session."""

        def added(command: Command[P]) -> Command[P]:
            self.command(name, hidden=hidden)(_with_options(command))
            return command

        return added


def print_version(asked: bool) -> None:  # noqa: FBT001 (Typer passes the value so)
    """Prints the package's version and ends the command, if the option is given."""
    if asked:
        typer.echo(f"company-registry {version('company-registry')}")
        raise typer.Exit
