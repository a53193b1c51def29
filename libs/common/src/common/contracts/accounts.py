"""Annual accounts of a company: one shape for both registers (docs/lookups.md, *Annual accounts*).

Amounts are strings of decimal numbers in whole units of `currency`, as they were filed: nothing is
scaled, converted or repaired. A figure that was not told is null, never 0.
"""

from enum import StrEnum
from typing import Final

from pydantic import ConfigDict, Field

from common.contracts.contract import Contract

#: Maximum of accounts in a lookup; `GET /api/companies/{country}/{vat}/accounts` pages through all.
MAX_ACCOUNTS: Final = 10


class AccountsState(StrEnum):
    """Whether the absence of accounts is known; an empty list alone says nothing."""

    #: There are some.
    OK = "ok"
    #: The register was asked, and has none.
    NONE = "none"
    #: The register gives none of this kind of company, such as banks and insurers in Norway, or
    #: this service stores none of it, such as sole proprietors'.
    UNAVAILABLE = "unavailable"
    #: The register was not asked yet, or has not answered.
    UNKNOWN = "unknown"


class AccountsScope(StrEnum):
    COMPANY = "company"
    GROUP = "group"
    #: The document does not say which; neither is guessed.
    UNKNOWN = "unknown"


class AccountingStandard(StrEnum):
    LOCAL_GAAP = "local_gaap"
    IFRS = "ifrs"
    #: Norway: simplified application of IFRS.
    IFRS_SIMPLIFIED = "ifrs_simplified"


class AuditType(StrEnum):
    AUDIT = "audit"
    EXTENDED_REVIEW = "extended_review"
    REVIEW = "review"
    OTHER_ASSURANCE = "other_assurance"
    NO_ASSURANCE = "no_assurance"
    #: The company has opted out of it.
    NONE = "none"
    #: Norway: the auditor's report was not delivered.
    MISSING = "missing"


class AuditOpinion(StrEnum):
    UNMODIFIED = "unmodified"
    QUALIFIED = "qualified"
    ADVERSE = "adverse"
    DISCLAIMER = "disclaimer"


class AccountsBasis(StrEnum):
    #: The year's own filing.
    FILED = "filed"
    #: The column of the year before, in the filing of a later year (Denmark).
    COMPARATIVE = "comparative"


class AccountsPeriod(Contract):
    """First and last day."""

    start: str
    end: str


class Audit(Contract):
    """The audit that the document states, in codes alone; no person is named."""

    type: AuditType | None = None
    opinion: AuditOpinion | None = None
    #: True if there is a material uncertainty about going concern.
    going_concern: bool | None = None
    #: True if the auditor emphasises a matter.
    emphasis: bool | None = None


class AccountsFigures(Contract):
    """Sixteen figures, all of them always present."""

    #: Norway: operating income, with other income. Denmark: net revenue.
    revenue: str | None = None
    gross_profit: str | None = None
    employee_expense: str | None = None
    operating_profit: str | None = None
    profit_before_tax: str | None = None
    tax: str | None = None
    profit: str | None = None
    non_current_assets: str | None = None
    current_assets: str | None = None
    cash: str | None = None
    assets: str | None = None
    equity: str | None = None
    non_current_liabilities: str | None = None
    current_liabilities: str | None = None
    #: With provisions.
    liabilities: str | None = None
    #: Average number; Denmark only.
    employees: str | None = None


class AccountsSource(Contract):
    """Where the figures come from."""

    #: The register's id of the filing: Norway's running number, Denmark's `urn:ofk:oid:…`.
    id: str
    #: Norway's case number, shared by the accounts of company and group.
    journal: str | None = None
    #: The address of the document that the figures were read from.
    document: str | None = None
    #: The address of a copy for people.
    pdf: str | None = None


class AnnualAccounts(Contract):
    """The accounts of one period and scope."""

    model_config = ConfigDict(
        serialize_by_alias=True, validate_by_name=True, validate_by_alias=True
    )

    period: AccountsPeriod
    scope: AccountsScope
    #: ISO 4217; null if the document has no figures.
    currency: str | None = None
    standard: AccountingStandard | None = None
    #: Denmark: `A`, `B_micro`, `B`, `C_medium`, `C_large`, `D`. Norway: `small`.
    size_class: str | None = Field(default=None, alias="class")
    #: True for accounts on liquidation.
    liquidation: bool = False
    audit: Audit = Audit()
    figures: AccountsFigures = AccountsFigures()
    basis: AccountsBasis = AccountsBasis.FILED
    #: When the register published them, RFC 3339, UTC, `Z`; null where it does not say (Norway).
    published: str | None = None
    #: True for a filing that replaces an earlier one of the same period and scope.
    correction: bool = False
    source: AccountsSource
    #: Warnings about the figures: `unbalanced`, `conflict:<figure>`,
    #: `ambiguous_scope`, `currencies`, `negative_costs`, `employees_unit`, `period`,
    #: `document_unreadable`.
    warnings: tuple[str, ...] = ()
