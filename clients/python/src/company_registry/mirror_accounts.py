"""The annual accounts of the companies of a mirror: a row for each period and scope."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from company_registry.models import AccountsFigures, Country

#: Numbers of a figure's column can be compared and added.
_FIGURES: Final = "".join(
    f"    {name} NUMERIC GENERATED ALWAYS AS (json_extract(body, '$.figures.{name}')),\n"
    for name in AccountsFigures.model_fields
)
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS accounts (
    country TEXT NOT NULL,
    vat TEXT NOT NULL,
    period_end TEXT NOT NULL,
    scope TEXT NOT NULL,
    body TEXT NOT NULL,
    period_start TEXT GENERATED ALWAYS AS (json_extract(body, '$.period.start')),
    currency TEXT GENERATED ALWAYS AS (json_extract(body, '$.currency')),
    basis TEXT GENERATED ALWAYS AS (json_extract(body, '$.basis')),
{_FIGURES}    PRIMARY KEY (country, vat, period_end, scope)
);
"""
_DELETE_UNMIRRORED: Final = """
DELETE FROM accounts WHERE country = ?1
AND vat NOT IN (SELECT vat FROM companies WHERE country = ?1)
"""


class MirrorAccounts:
    """The accounts in a mirror's file; its methods belong to the transactions of the mirror."""

    def __init__(self, database: sqlite3.Connection, country: Country) -> None:
        """Creates the table unless it exists."""
        self._database = database
        self._country = country
        database.executescript(_SCHEMA)

    def replace(self, accounts: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Stores all accounts that companies have, by their numbers, in place of those stored."""
        self._database.executemany(
            "DELETE FROM accounts WHERE country = ? AND vat = ?",
            [(self._country, vat) for vat in accounts],
        )
        self._database.executemany(
            "INSERT OR REPLACE INTO accounts (country, vat, period_end, scope, body)"
            " VALUES (?, ?, ?, ?, ?)",
            [
                (self._country, vat, one["period"]["end"], one["scope"], text_of(one))
                for vat, of_company in accounts.items()
                for one in of_company
            ],
        )

    def delete_unmirrored(self) -> None:
        """Deletes the accounts of companies that the mirror does not have any more."""
        self._database.execute(_DELETE_UNMIRRORED, (self._country,))

    def bodies(self) -> Iterable[tuple[str, str]]:
        """Returns the number of the company and the body of each, in one order."""
        return self._database.execute(
            "SELECT vat, body FROM accounts WHERE country = ? ORDER BY vat, period_end, scope",
            (self._country,),
        )


def text_of(document: dict[str, Any]) -> str:
    """Returns JSON that is equal for equal documents."""
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
