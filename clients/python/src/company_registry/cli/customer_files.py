"""`customer-files`: the files of customers that the service keeps, and the decisions about them."""

from typing import Annotated

import typer

from company_registry.cli.output import Column
from company_registry.cli.session import App, Session

app = App(help="List and delete the files of customers that the service keeps for you.")

FileId = Annotated[str, typer.Argument(help="Id of the file, cf_…", metavar="FILE")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.add("list")
def list_files(session: Session) -> None:
    """List the files, newest first."""
    with session.client() as client:
        found = client.list_customer_files()
    rows = [
        (each.id, f"{each.rows:,}", f"{each.decisions:,}", each.name, each.expires_at)
        for each in found
    ]
    columns = (Column("Id", whole=True), "Rows", "Decisions", "Name", Column("Deleted", rank=1))
    session.show(found, lambda: session.table(*columns, rows=rows))


@app.add("decisions")
def decisions(session: Session, file: FileId) -> None:
    """Print the decisions about the rows of a file, one JSON document on each line."""
    with session.client() as client:
        after, has_more = 0, True
        while has_more:
            page = client.customer_decisions(file, after=after)
            for each in page.decisions:
                session.print_json(each)
                after = each.number
            has_more = page.has_more


@app.add("delete")
def delete(session: Session, file: FileId, *, yes: Yes = False) -> None:
    """Delete a file with the decisions about its rows."""
    session.confirm(f"Delete {file} with all decisions?", yes=yes)
    with session.client() as client:
        client.delete_customer_file(file)
    session.note("Deleted.")
