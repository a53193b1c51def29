"""Annual accounts of invented companies."""

from typing import Any

from common.contracts.accounts import (
    AccountsFigures,
    AccountsPeriod,
    AccountsScope,
    AccountsSource,
    AnnualAccounts,
)


def accounts_of(
    year: int = 2025,
    source: str = "1",
    *,
    scope: str = "company",
    **fields: Any,
) -> AnnualAccounts:
    """Accounts of a calendar year; a figure is given by its name."""
    names = AccountsFigures.model_fields.keys() & fields.keys()
    figures = AccountsFigures(**{name: fields.pop(name) for name in names})
    return AnnualAccounts(
        **{
            "period": AccountsPeriod(start=f"{year}-01-01", end=f"{year}-12-31"),
            "scope": AccountsScope(scope),
            "currency": "NOK",
            "figures": figures,
            "source": AccountsSource(id=source, **fields.pop("documents", {})),
            **fields,
        }
    )
