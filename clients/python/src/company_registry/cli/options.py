"""The options that every command has, before or after its name."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any, Concatenate, Final, ParamSpec

import typer

from company_registry.cli.profiles import Options
from company_registry.cli.session import Session

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
    """The command as Typer calls it: with the shared options in place of its session."""
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
