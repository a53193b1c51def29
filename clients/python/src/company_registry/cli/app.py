"""The commands."""

from typing import Annotated

import typer

from company_registry.cli import (
    batches,
    companies,
    copying,
    deliveries,
    events,
    finding,
    listen,
    login,
    matching,
    watchlists,
    webhooks,
)
from company_registry.cli.options import App, print_version
from company_registry.cli.session import Session


def root(
    _session: Session,
    *,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="The version.")
    ] = False,
) -> None:
    """Danish and Norwegian companies, and their changes."""


app = App(
    name="company-registry",
    callback=root,
)

app.add("lookup")(companies.lookup)
app.add("search")(companies.search)
app.add("find")(finding.find)
app.add("codes")(finding.codes)
app.add("export")(copying.export)
app.add("mirror")(copying.mirror)
app.add("suggest")(companies.suggest)
app.add("units")(companies.units)
app.add("einvoicing")(companies.einvoicing)
app.add("owners")(companies.owners)
app.add("roles")(companies.roles)
app.add("batch")(batches.batch)
app.add("match")(matching.match)
app.add("listen")(listen.listen)
app.add("login")(login.login)
app.add("logout")(login.logout)
app.add("key")(login.show_key)
deliveries.add_to(webhooks.app)
app.add_typer(events.app, name="events")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(watchlists.app, name="watchlists")
