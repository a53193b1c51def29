"""The commands, and the options before them."""

from typing import Annotated

import typer
from rich.console import Console

from company_registry.cli import batches, companies, events, webhooks
from company_registry.cli.session import Session

DEFAULT_URL = "http://127.0.0.1:8080"

app = typer.Typer(
    name="company-registry",
    help="Danish and Norwegian companies, and their changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def options(
    context: typer.Context,
    *,
    url: Annotated[
        str,
        typer.Option(envvar=["COMPANY_REGISTRY_URL", "BASE_URL"], help="URL of the service."),
    ] = DEFAULT_URL,
    api_key: Annotated[
        str | None,
        typer.Option(
            envvar=["COMPANY_REGISTRY_API_KEY", "API_KEY"],
            show_envvar=True,
            help="API key; lookups also work without one.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, one document on each line.")
    ] = False,
) -> None:
    """Danish and Norwegian companies, and their changes."""
    context.obj = Session(url, api_key or None, as_json, out=Console(), err=Console(stderr=True))


@app.command("key")
def show_key(context: typer.Context) -> None:
    """Show the API key in use: its owner, scopes and rate."""
    session: Session = context.obj
    with session.client() as client:
        key = client.me()
    rate = key.rate
    rows = [
        ("Owner", key.owner),
        ("Name", key.name),
        ("Scopes", " ".join(key.scopes)),
        ("Rate", f"{rate.count} in {rate.window_seconds} s, {rate.remaining} left"),
        ("Expires", key.expires_at or "never"),
    ]
    session.show(key, lambda: session.table("Field", "Value", rows=rows))


app.command("lookup")(companies.lookup)
app.command("search")(companies.search)
app.command("suggest")(companies.suggest)
app.command("batch")(batches.batch)
app.command("listen")(events.listen)
app.add_typer(events.app, name="events")
app.add_typer(webhooks.app, name="webhooks")
