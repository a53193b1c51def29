"""The tool for the annual accounts of a company."""

from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from company_registry.change_words import accounts_remarks
from company_registry.mcp.answers import (
    MAX_TEXT,
    NOTICE,
    READ_ONLY,
    Answer,
    AnyCountry,
    CompanyId,
    clean,
    identity,
    result,
)
from company_registry.mcp.api import Api, Call, parsed
from company_registry.models import AccountsFigures, AnnualAccounts

#: Figures of the default detail; `figures="all"` has the others.
_FIGURES: Final = (
    *("revenue", "gross_profit", "operating_profit", "profit"),
    *("assets", "equity", "liabilities", "employees"),
)
#: Accounts of a year: of the company, of its group, and of an unknown one of these.
_OF_A_YEAR: Final = 3


class Accounts(Answer):
    """The accounts of one period, of the company or of its group."""

    start: str
    end: str
    scope: str = Field(
        description="company alone, group, or unknown if the document does not say which"
    )
    currency: str | None = None
    figures: dict[str, str] = Field(
        description="In whole units of the currency, as filed. One that is absent was not told, "
        "which is not zero: never compute it from others."
    )
    remarks: tuple[str, ...] | None = Field(
        None, description="What the auditor remarked; tell these first."
    )
    notes: tuple[str, ...] | None = Field(
        None, description="correction, comparative (told in the year after), or doubts of figures."
    )
    published: str | None = None
    pdf: str | None = None


class CompanyAccounts(Answer):
    """The last annual accounts of a company, the newest first."""

    id: str
    state: str = Field(
        description="ok; none: the register has none; unavailable: it gives none of this kind of "
        "company; unknown: not read yet, which says nothing of the company"
    )
    accounts: tuple[Accounts, ...]


def add_accounts_tools(server: MCPServer, api: Api) -> None:
    """Adds the tool to a server."""

    @server.tool(
        title="Annual accounts of a company",
        annotations=READ_ONLY,
        description="Reads the key figures of the last annual accounts of one company, of itself "
        "and of its group apart: revenue, profit, assets, equity, and what the auditor remarked. "
        "Most small Danish companies do not tell their revenue. In Norway revenue has other "
        f"operating income. search_companies finds companies by these figures. {NOTICE}",
    )
    async def company_accounts(
        call: Call,
        company: CompanyId,
        country: AnyCountry = None,
        years: Annotated[int, Field(ge=1, le=10, description="The last ones.")] = 3,
        figures: Annotated[
            Literal["main", "all"], Field(description="The main eight, or all sixteen.")
        ] = "main",
    ) -> Annotated[CallToolResult, CompanyAccounts]:
        of, number = parsed(company, country)
        async with api.client(call) as client:
            page = await client.accounts_page(of, number, limit=_OF_A_YEAR * years)
        ends = sorted({one.period.end for one in page.annual_accounts}, reverse=True)[:years]
        names = tuple(AccountsFigures.model_fields) if figures == "all" else _FIGURES
        answer = CompanyAccounts(
            id=identity(of, number),
            state=page.accounts_state,
            accounts=tuple(
                _accounts(one, names) for one in page.annual_accounts if one.period.end in ends
            ),
        )
        return result(answer)


def _accounts(accounts: AnnualAccounts, names: tuple[str, ...]) -> Accounts:
    plain: dict[str, Any] = accounts.model_dump(mode="json", by_alias=True)
    notes = [
        *["correction"] * accounts.correction,
        *["comparative"] * (accounts.basis == "comparative"),
        *accounts.warnings,
    ]
    figures = {name: plain["figures"][name] for name in names}
    return Accounts(
        start=plain["period"]["start"],
        end=plain["period"]["end"],
        scope=accounts.scope,
        currency=accounts.currency,
        figures={name: value for name, value in figures.items() if value is not None},
        remarks=tuple(accounts_remarks(plain)) or None,
        notes=tuple(clean(note, MAX_TEXT) for note in notes) or None,
        published=plain["published"],
        pdf=accounts.source.pdf and clean(accounts.source.pdf, 2 * MAX_TEXT),
    )
