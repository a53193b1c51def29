"""The public company record and its parts (docs/decisions.md, *The company*).

The models define these shapes: the importers fill them, and the JSON Schemas of events are
generated from them. `tests/contract/test_openapi.py` compares the OpenAPI document, which is
written by hand, with them. Identifiers are strings of digits, dates are `YYYY-MM-DD`, percentages
are strings of a decimal number.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, GetPydanticSchema
from pydantic_core import core_schema

from common.contracts.accounts import AccountsState, AnnualAccounts
from common.contracts.contract import Contract
from common.domain.countries import Country as Country
from common.domain.numbers import CompanyKey as CompanyKey
from common.domain.numbers import RegisterKey as RegisterKey
from common.domain.numbers import UnitKey as UnitKey

#: A company's key as a field of a contract; in JSON `<country>:<registration number>`.
CompanyKeyText = Annotated[
    CompanyKey,
    GetPydanticSchema(
        lambda _type, _handler: core_schema.no_info_after_validator_function(
            CompanyKey.parse, core_schema.str_schema()
        )
    ),
]


class Status(StrEnum):
    ACTIVE = "active"
    UNDER_LIQUIDATION = "under_liquidation"
    UNDER_RECONSTRUCTION = "under_reconstruction"
    BANKRUPT = "bankrupt"
    ENDED = "ended"


class Include(StrEnum):
    """A part of a company that a lookup returns only on request."""

    OWNERS = "owners"
    PRODUCTION_UNITS = "production_units"
    EINVOICING = "einvoicing"
    ROLES = "roles"
    ALTERNATIVES = "alternatives"
    SUBSIDIARIES = "subsidiaries"
    ANNUAL_ACCOUNTS = "annual_accounts"


class CodedText(Contract):
    """A code of the register with the register's own wording."""

    code: str
    description: str | None = None


class LegalForm(CodedText):
    """A legal form, with the abbreviation that companies write behind their names."""

    #: As in `A/S`, `ApS`, `AS`; absent where the register has none.
    short: str | None = None


class Address(Contract):
    #: Street, house number, floor and door; several lines are joined by ", ".
    street: str | None = None
    co: str | None = None
    postal_code: str | None = None
    city: str | None = None
    #: The supplementary town (CVR `bynavn`).
    district: str | None = None
    municipality: str | None = None
    #: The register's code of the municipality: three or four digits in Denmark, four in Norway.
    municipality_code: str | None = None
    #: The identifier of the address in Denmark's address register (DAR), a UUID.
    id: str | None = None
    #: ISO 3166 alpha-2, upper case.
    country: str | None = None
    #: The whole address on one line, as on a letter.
    text: str


class FullTimeEquivalents(Contract):
    """Number of full-time equivalents: an interval where the register gives classes."""

    min: int | None = None
    #: Absent in an open class, such as "1000 or more".
    max: int | None = None
    exact: int | None = None


class WithOwners(Contract):
    """Number of employees and of owners who work in the company, of the last year counted."""

    min: int | None = None
    #: Absent in an open class, such as "1000 or more".
    max: int | None = None
    exact: int | None = None


class Employees(Contract):
    """Number of employees: an interval where the register gives classes, else a number."""

    min: int | None = None
    #: Absent in an open class, such as "1000 or more".
    max: int | None = None
    exact: int | None = None
    #: Denmark only.
    full_time_equivalents: FullTimeEquivalents | None = None
    #: The last day of the month, quarter or year that was counted, or the day of the count.
    as_of: str | None = None
    #: Denmark only.
    including_owners: WithOwners | None = None


class Amount(Contract):
    """An amount of money: a decimal number, and its currency (ISO 4217)."""

    amount: str
    currency: str


class Capital(Amount):
    #: The register's word for its kind, such as `Aksjekapital`; Norway only.
    type: str | None = None
    #: The day on which this capital was registered.
    since: str | None = None
    #: The part that is paid in, where the register names it.
    paid_in: str | None = None
    #: Absent where the register does not say.
    fully_paid: bool | None = None
    #: True if it is divided into classes of shares; Denmark only.
    has_classes: bool | None = None


class RegisterName(StrEnum):
    """A Norwegian register in which an entity may be entered in addition to the main one."""

    BUSINESS_ENTERPRISES = "business_enterprises"
    VAT = "vat"
    VOLUNTARY_ORGANISATIONS = "voluntary_organisations"
    FOUNDATIONS = "foundations"
    POLITICAL_PARTIES = "political_parties"


class Registration(Contract):
    """An entry in a further register."""

    model_config = ConfigDict(serialize_by_alias=True)

    # `register` would shadow a method that every class has.
    name: RegisterName = Field(alias="register")
    since: str | None = None


class VoluntaryVat(Contract):
    """A voluntary registration for VAT; Norway only."""

    #: Its purpose, in the register's words.
    activities: tuple[str, ...] = ()
    since: str | None = None


class DissolutionReason(StrEnum):
    """A deficiency of a company for which a court dissolves it."""

    NO_DIRECTOR = "no_director"
    NO_AUDITOR = "no_auditor"
    NO_ACCOUNTS = "no_accounts"
    INCOMPLETE_BOARD = "incomplete_board"
    #: It had to be deleted from the register, and was not.
    NOT_DELETED = "not_deleted"


class DissolutionCause(Contract):
    """A reason of a compulsory dissolution, and the day from which it holds."""

    reason: DissolutionReason
    since: str


class Dissolution(Contract):
    """The grounds of a compulsory dissolution, and the reason one ended."""

    #: Norway only.
    reasons: tuple[DissolutionCause, ...] = ()
    #: The day of the last warning that the company may be dissolved; Denmark only.
    warned: str | None = None
    #: The day on which the company was resumed from a compulsory dissolution; Denmark only.
    resumed: str | None = None


class HomeRegister(Contract):
    """The register of a foreign enterprise in its own country."""

    name: str | None = None
    #: The enterprise's number in it.
    number: str | None = None
    #: ISO 3166 alpha-2, upper case.
    country: str | None = None
    form: CodedText | None = None
    address: str | None = None


class Remark(Contract):
    """A remark of the register on a company (påtegning), or on its own record of it."""

    type: str | None = None
    text: str
    since: str | None = None


class Founder(Contract):
    """A company that founded another; persons are not shown."""

    name: str
    vat: str | None = None


class RestructuringType(StrEnum):
    MERGER = "merger"
    DEMERGER = "demerger"


class Restructuring(Contract):
    """A merger or demerger with another company."""

    type: RestructuringType
    name: str | None = None
    #: The registration number of the other company, if it has one.
    vat: str | None = None
    date: str | None = None


class FinancialPeriod(Contract):
    """A period of annual accounts, from its first to its last day."""

    start: str | None = None
    end: str | None = None


class FinancialYear(Contract):
    """The first and the last day of the financial year, as MM-DD."""

    start: str
    end: str
    #: The first period; Denmark only, as the next.
    first: FinancialPeriod | None = None
    #: The period by which the financial year was last moved.
    adjusted: FinancialPeriod | None = None


class Company(Contract):
    """A company as its register has it; the answer adds `revision`, `match` and `source`."""

    country: Country
    vat: str
    name: str
    trade_names: tuple[str, ...] = ()
    former_names: tuple[str, ...] = ()
    status: Status
    status_text: str | None = None
    #: The day from which the status holds.
    status_since: str | None = None
    form: LegalForm | None = None
    address: Address | None = None
    postal_address: Address | None = None
    #: The first of `phones`.
    phone: str | None = None
    #: Every public phone number: digits without the calling code.
    phones: tuple[str, ...] = ()
    fax: str | None = None
    email: str | None = None
    website: str | None = None
    industry: CodedText | None = None
    secondary_industries: tuple[CodedText, ...] = ()
    employees: Employees | None = None
    founded: str | None = None
    #: The day it was entered in its register, which may be long after it was founded.
    registered: str | None = None
    ended: str | None = None
    capital: Capital | None = None
    #: Number of shares.
    shares: int | None = None
    #: The statutory purpose.
    purpose: str | None = None
    #: The company's own description of its business; Norway only.
    activity: str | None = None
    #: The register's words on the authority to sign; Norway lists signatories as roles.
    signing_rule: str | None = None
    #: True if the company has waived its audit.
    audit_waived: bool | None = None
    financial_year: FinancialYear | None = None
    #: The date of the present articles of association.
    articles_dated: str | None = None
    #: True if its shares are listed on an exchange.
    listed: bool | None = None
    #: Companies that founded it; absent where the register does not say.
    founders: tuple[Founder, ...] | None = None
    #: The companies that continue it.
    merged_into: tuple[Restructuring, ...] = ()
    #: The companies that it continues.
    merged_from: tuple[Restructuring, ...] = ()
    #: Absent where the register does not say, as in Denmark.
    vat_registered: bool | None = None
    vat_registered_since: str | None = None
    voluntary_vat: VoluntaryVat | None = None
    #: Further registers; absent where the register does not say, as in Denmark.
    registrations: tuple[Registration, ...] | None = None
    #: The institutional sector.
    sector: CodedText | None = None
    #: True if it is part of a group.
    in_group: bool | None = None
    #: The language in which the register writes to it: `nb` or `nn`.
    language: str | None = None
    home_register: HomeRegister | None = None
    remarks: tuple[Remark, ...] = ()
    #: The year of the last annual accounts filed.
    accounts: str | None = None
    #: The registration number of the entity that it is a part of.
    parent: str | None = None
    #: Absent where the register does not say, as in Norway.
    advertising_protected: bool | None = None
    #: The grounds of a compulsory dissolution; absent without one.
    dissolution: Dissolution | None = None
    #: True if it has owners of less than 5 %, whom its register does not name; Denmark only, as the
    #: next three.
    minor_owners: bool | None = None
    state_owned: bool | None = None
    #: True if it has duties under the act on money laundering.
    aml_obliged: bool | None = None
    #: True if it is registered as a social-economic enterprise.
    social_enterprise: bool | None = None


class Share(Contract):
    """A percentage, as an interval: equal ends where the register knows it exactly."""

    min: str
    max: str


HolderType = Literal["person", "company", "other"]


class OwnerRole(StrEnum):
    """Type of ownership, with the same codes for both registers."""

    OWNER = "owner"
    #: Of a partnership.
    PARTNER = "partner"
    #: Of a limited partnership.
    GENERAL_PARTNER = "general_partner"
    SOLE_PROPRIETOR = "sole_proprietor"
    CO_OWNER = "co_owner"
    #: Of a group: controls the company.
    PARENT_COMPANY = "parent_company"
    #: Of a group: has a partial stake in the company.
    SHAREHOLDER = "shareholder"


class Owner(Contract):
    """An owner, or a partner, of a company: a person, a company or a foreign holder."""

    name: str
    type: HolderType
    #: The registration number of an owner that is a company of the same register.
    vat: str | None = None
    role: OwnerRole | None = None
    #: The register's own word for the role.
    role_text: str | None = None
    share: Share | None = None
    votes: Share | None = None
    since: str | None = None
    #: The day on which the company was told of the ownership; Denmark only, as the rest.
    reported_on: str | None = None
    #: The class of the shares.
    share_class: str | None = None
    #: The register's words on special conditions of the ownership.
    conditions: str | None = None
    #: The contribution of a general partner.
    contribution: Amount | None = None
    #: ISO 3166 alpha-2, upper case; absent for persons.
    country: str | None = None


class GroupOwner(Owner):
    """An owner by the register of groups, which is named: it may contradict the other owners."""

    source: str


class PublicOwner(Owner):
    """An owner in an answer."""

    #: Absent if it is the source with the owners of the country's companies.
    source: str | None = None


class Subsidiary(Contract):
    """A company that another one owns or is a partner of; the owner's fields are of that owner."""

    vat: str
    name: str
    city: str | None = None
    status: Status
    role: OwnerRole | None = None
    #: The register's own word for the role.
    role_text: str | None = None
    share: Share | None = None
    votes: Share | None = None
    since: str | None = None
    #: The source of the owner, if it is not the one with the owners of the country's companies.
    source: str | None = None


class RoleCode(StrEnum):
    """Role in a company; the codes are common to both registers, and answers keep this order."""

    DIRECTOR = "director"
    BOARD_CHAIR = "board_chair"
    BOARD_DEPUTY_CHAIR = "board_deputy_chair"
    BOARD_MEMBER = "board_member"
    BOARD_DEPUTY_MEMBER = "board_deputy_member"
    BOARD_OBSERVER = "board_observer"
    AUDITOR = "auditor"
    ACCOUNTANT = "accountant"
    #: May sign for the company, alone or jointly.
    SIGNATORY = "signatory"
    #: Holds procuration (`prokura`), alone or jointly.
    PROCURATION_HOLDER = "procuration_holder"
    #: Manages a branch of a foreign company.
    BRANCH_MANAGER = "branch_manager"
    SUPERVISORY_BOARD_MEMBER = "supervisory_board_member"
    SUSTAINABILITY_AUDITOR = "sustainability_auditor"
    #: Administers the estate of a bankruptcy.
    ESTATE_ADMINISTRATOR = "estate_administrator"
    #: Winds up a company that is dissolved.
    LIQUIDATOR = "liquidator"
    #: Known to the register only; `role_text` has its word.
    OTHER = "other"


class ElectedBy(StrEnum):
    """The electors of the holder of a role."""

    EMPLOYEES = "employees"
    GENERAL_MEETING = "general_meeting"
    #: Known to the register only; `elected_by_text` has its words.
    OTHER = "other"


class Role(Contract):
    """A person or company in the direction or on the board, or its auditor or accountant."""

    role: RoleCode
    #: The register's own word for the role.
    role_text: str | None = None
    name: str
    type: HolderType
    #: The registration number of a company of the same register.
    vat: str | None = None
    #: Absent where the register gives no date, as in Norway.
    since: str | None = None
    #: Absent where the register does not say.
    elected_by: ElectedBy | None = None
    #: The register's own words for it.
    elected_by_text: str | None = None
    #: The register's words on the approval of an auditor or accountant; Norway only.
    approval: str | None = None
    #: The day on which the roles of its kind, such as those of the board, changed; Norway only.
    group_changed: str | None = None


class ProductionUnit(Contract):
    """A place of business (Danish produktionsenhed, Norwegian underenhet)."""

    #: The other fields are absent where only the company's record lists the unit (Denmark).
    number: str
    name: str | None = None
    former_names: tuple[str, ...] = ()
    #: True if it is the company's main unit; computed from its units when they are read, and null
    #: in events.
    main: bool | None = False
    status: Status | None = None
    address: Address | None = None
    postal_address: Address | None = None
    phone: str | None = None
    phones: tuple[str, ...] = ()
    email: str | None = None
    website: str | None = None
    industry: CodedText | None = None
    secondary_industries: tuple[CodedText, ...] = ()
    employees: Employees | None = None
    started: str | None = None
    ended: str | None = None
    #: Absent where the register does not say, as in Norway.
    advertising_protected: bool | None = None
    #: Denmark only.
    fax: str | None = None
    #: The day it was entered in its register; Norway only, as the rest.
    registered: str | None = None
    #: The day on which another company took it over.
    owner_changed: str | None = None
    vat_registered: bool | None = None
    voluntary_vat: VoluntaryVat | None = None
    vat_registered_since: str | None = None


class EinvoicingEntry(Contract):
    """An identifier under which a company receives electronic documents."""

    #: `<scheme>:<value>`, e.g. `0192:923609016`.
    identifier: str
    #: The ISO 6523 code, e.g. `0192`.
    scheme: str
    network: str = "peppol"
    document_types: tuple[str, ...] = ()
    registered: str | None = None


class Source(Contract):
    """The register that a record comes from, and the time of its last change there."""

    # `register` would shadow a method that every class has.
    name: Literal["cvr", "brreg"] = Field(alias="register")
    updated_at: str | None = None


class Match(Contract):
    """How a company matched the term that was looked up."""

    type: str
    #: 0 to 100; 100 is an exact match.
    score: float
    #: The trade or former name that matched; absent when the current name did.
    matched_name: str | None = None
    #: The number of other companies that match with the same score; 0 by number and in lists.
    others: int = 0


class CompanySummary(Contract):
    """The summary of a company shown in a list of candidates."""

    vat: str
    #: The current name, also where another of its names matches.
    name: str
    city: str | None = None
    status: Status
    #: 0 to 100; 100 is an exact match.
    score: float


class Alternative(CompanySummary):
    """Another company that matches a search."""


class CompanyAnswer(Company):
    """The body of a successful lookup."""

    revision: int
    match: Match
    source: Source
    #: Of each list the first entries; its total counts all.
    owners: tuple[PublicOwner, ...] | None = None
    owners_total: int | None = None
    production_units: tuple[ProductionUnit, ...] | None = None
    production_units_total: int | None = None
    einvoicing: tuple[EinvoicingEntry, ...] | None = None
    einvoicing_total: int | None = None
    roles: tuple[Role, ...] | None = None
    roles_total: int | None = None
    alternatives: tuple[Alternative, ...] | None = None
    #: The first of them by name; `subsidiaries_total` counts all. Null if the register cannot say.
    subsidiaries: tuple[Subsidiary, ...] | None = None
    subsidiaries_total: int | None = None
    #: The newest first, of a group before those of the company alone.
    annual_accounts: tuple[AnnualAccounts, ...] | None = None
    #: With `annual_accounts`: what their absence means.
    accounts_state: AccountsState | None = None
    #: The day at whose end the company was as in this answer; absent unless a day was requested.
    as_of: str | None = None
    #: With `as_of`: the time from which the company is known.
    known_from: str | None = None


REGISTER_OF: dict[Country, Literal["cvr", "brreg"]] = {Country.DK: "cvr", Country.NO: "brreg"}
