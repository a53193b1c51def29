"""The commands."""

from typing import Annotated

import typer

from company_registry.cli import (
    accounts,
    agents,
    batches,
    companies,
    customer_files,
    events,
    finding,
    keys,
    login,
    matching,
    watchlists,
    webhooks,
)
from company_registry.cli.session import App, Session, print_version


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
app.add("export")(finding.export)
app.add("mirror")(finding.mirror)
app.add("suggest")(companies.suggest)
app.add("units")(companies.units)
app.add("einvoicing")(companies.einvoicing)
app.add("owners")(companies.owners)
app.add("roles")(companies.roles)
app.add("history")(companies.history)
app.add("group")(companies.group)
app.add("registers")(companies.registers)
app.add("accounts")(accounts.accounts)
app.add("batch")(batches.batch)
app.add("match")(matching.match)
app.add("listen")(events.listen)
app.add("mcp")(agents.mcp)
app.add("login")(login.login)
app.add("logout")(login.logout)
app.add("key")(login.show_key)
app.add_typer(events.app, name="events")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(watchlists.app, name="watchlists")
app.add_typer(keys.app, name="keys")
app.add_typer(customer_files.app, name="customer-files")
