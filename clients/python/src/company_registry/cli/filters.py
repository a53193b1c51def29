"""The filter of a webhook, from options and from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import ValidationError

from company_registry.cli.files import read_text, values
from company_registry.cli.session import Country, Exit, Session
from company_registry.webhook_models import WebhookFilter

Countries = Annotated[
    list[Country], typer.Option("--country", help="Only this register; repeatable.")
]
Companies = Annotated[
    list[str],
    typer.Option(
        "--company", help="Only this company, dk:12345674, or those in @FILE; repeatable."
    ),
]
Forms = Annotated[
    list[str],
    typer.Option("--form", help="Only this legal form by its code, 80 or AS; repeatable."),
]
Industries = Annotated[
    list[str],
    typer.Option("--industry", help="Only industry codes that begin so, 62; repeatable."),
]
Municipalities = Annotated[
    list[str],
    typer.Option("--municipality", help="Only this municipality, name or code; repeatable."),
]
Fields = Annotated[
    list[str],
    typer.Option("--field", help="Only changes of this field, name or address; repeatable."),
]
Watchlists = Annotated[
    list[str],
    typer.Option(
        "--watchlist",
        help="Only companies of this list, wl_…, or those of --company; repeatable.",
    ),
]
FilterFile = Annotated[
    Path | None,
    typer.Option(
        "--filter",
        help='JSON of a filter, {"countries": ["dk"]}; - is standard input. Other options of a '
        "filter replace its members.",
    ),
]

_MEMBERS: Final = ", ".join(WebhookFilter.model_fields)


def filter_of(session: Session, file: Path | None, **given: Sequence[str]) -> WebhookFilter | None:
    """The filter of the file and the options, with the members that either has; else None."""
    members = {name: tuple(values(session, listed)) for name, listed in given.items() if listed}
    if file is None:
        return WebhookFilter(**members) if members else None
    try:
        stored = WebhookFilter.model_validate_json(read_text(session, str(file)))
    except ValidationError:
        session.fail(f"{file} is not the JSON of a filter, lists of {_MEMBERS}", Exit.USAGE)
    if stored.model_extra:
        unknown = ", ".join(stored.model_extra)
        session.fail(f"{file}: a filter has no {unknown}; it has {_MEMBERS}", Exit.USAGE)
    return stored.model_copy(update=members)
