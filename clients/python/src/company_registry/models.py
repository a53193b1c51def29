"""The service's responses, as immutable models.

Identifiers are strings of digits, dates `YYYY-MM-DD`, times RFC 3339 in UTC, percentages and
amounts strings of a decimal number. A field of a later release is kept as an extra attribute, so a
model written as JSON equals the service's response.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from company_registry.arguments import texts

Country = Literal["dk", "no"]


def _as_sent(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


#: A country in an answer: that of a later release may be another, and is read as it is.
ReadCountry = Annotated[Country, PlainValidator(_as_sent)]


def _set_of(value: object) -> object:
    return texts(value) if isinstance(value, str) else value


def _countries(value: object) -> object:
    given = _set_of(value)
    if not isinstance(given, tuple | list):
        return given
    return tuple(one.lower() if isinstance(one, str) else one for one in given)


def _day(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


#: Of a filter: texts, one text, countries in any case, and a day as a text or a date.
Texts = Annotated[tuple[str, ...], BeforeValidator(_set_of)]
Countries = Annotated[tuple[Country, ...], BeforeValidator(_countries)]
Day = Annotated[str, BeforeValidator(_day)]

CodeList = Literal["industries", "forms", "municipalities", "statuses", "roles"]
SearchType = Literal["vat", "name", "produ", "phone", "ean", "address"]

Format = Literal["json", "xml"]

#: `-` is descending; companies without a value are always last.
FindSort = Literal[
    "name", "-name", "founded", "-founded", "employees", "-employees", "revenue", "-revenue",
    "status_since", "-status_since", "relevance",
]  # fmt: skip

Facet = Literal["industry", "municipality", "form", "status"]

Include = Literal[
    "owners",
    "roles",
    "production_units",
    "einvoicing",
    "alternatives",
    "subsidiaries",
    "annual_accounts",
]


#: The property that the other matches of a lookup share with the one found, by its type.
_SHARED = {
    "name": "have this name",
    "phone": "have this phone number",
    "address": "are at this address",
    "email": "have this e-mail address",
    "domain": "have this domain",
}
_TYPES = {"phone": "phone number", "email": "e-mail address"}
_EXACT = 100


class Model(BaseModel):
    """The base of all models: immutable, and unknown fields are kept.

    A model is written under the names of the service, also where an attribute has another one.
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", hide_input_in_errors=True, serialize_by_alias=True
    )


class CodedText(Model):
    """A code of the register with the register's own wording."""

    code: str
    description: str | None = None


class LegalForm(CodedText):
    """A legal form, with the abbreviation behind a name, such as `ApS`."""

    short: str | None = None


class Address(Model):
    """An address in its parts, and as one line of text."""

    #: Street, house number, floor and door; several lines are joined by ", ".
    street: str | None = None
    co: str | None = None
    postal_code: str | None = None
    city: str | None = None
    district: str | None = None
    municipality: str | None = None
    #: The register's code; two municipalities may have one name.
    municipality_code: str | None = None
    #: The identifier of the address in Denmark's address register.
    id: str | None = None
    #: ISO 3166 alpha-2, upper case.
    country: str | None = None
    #: The whole address on one line, as on a letter.
    text: str


class FullTimeEquivalents(Model):
    """Number of full-time equivalents: an interval where the register gives classes."""

    min: int | None = None
    max: int | None = None
    exact: int | None = None


class WithOwners(Model):
    """Number of employees and of owners who work in the company, of the last year counted."""

    min: int | None = None
    max: int | None = None
    exact: int | None = None

    @property
    def text(self) -> str:
        """The number, or its bounds: `37`, `20–49`, `1000 or more`."""
        if self.exact is not None:
            return str(self.exact)
        return f"{self.min}–{self.max}" if self.max is not None else f"{self.min} or more"


class Employees(WithOwners):
    """Number of employees: an interval where the register gives classes, else a number."""

    full_time_equivalents: FullTimeEquivalents | None = None
    #: The last day of the counted period, or the day of the count.
    as_of: str | None = None
    #: Denmark only.
    including_owners: WithOwners | None = None


class Amount(Model):
    """An amount of money: a decimal number as text, and its currency (ISO 4217)."""

    amount: str
    currency: str


class Capital(Amount):
    """The share capital: a decimal number as text, and its currency (ISO 4217)."""

    #: The register's word for its kind, such as `Aksjekapital`; Norway only.
    type: str | None = None
    #: The day on which this capital was registered.
    since: str | None = None
    #: The part that is paid in, where the register names it.
    paid_in: str | None = None
    fully_paid: bool | None = None
    #: True if it is divided into classes of shares; Denmark only.
    has_classes: bool | None = None


class Founder(Model):
    """A company that founded another."""

    name: str
    vat: str | None = None


class Restructuring(Model):
    """A merger or demerger with another company."""

    #: `merger` or `demerger`.
    type: str
    name: str | None = None
    vat: str | None = None
    date: str | None = None


class FinancialPeriod(Model):
    """A period of annual accounts, from its first to its last day."""

    start: str | None = None
    end: str | None = None

    @property
    def text(self) -> str:
        """The days that are known: `2024-03-01 to 2025-06-30`, `to 2025-06-30`."""
        if self.start and self.end:
            return f"{self.start} to {self.end}"
        return f"from {self.start}" if self.start else f"to {self.end}" if self.end else ""


class FinancialYear(Model):
    """The first and the last day of the financial year, as `MM-DD`."""

    start: str
    end: str
    #: The first period of accounts; Denmark only, as the next.
    first: FinancialPeriod | None = None
    #: The period by which the financial year was last moved.
    adjusted: FinancialPeriod | None = None


class Registration(Model):
    """An entry in a further register, such as `vat` or `foundations`."""

    # `register` would shadow a method that every model has.
    name: str = Field(alias="register")
    since: str | None = None


class VoluntaryVat(Model):
    """A voluntary registration for VAT; Norway only."""

    #: Its purpose, in the register's words.
    activities: tuple[str, ...] = ()
    since: str | None = None

    @property
    def text(self) -> str:
        """Its purpose, and the day since when."""
        since = (f"since {self.since}",) if self.since else ()
        return ", ".join((*self.activities, *since))


class DissolutionCause(Model):
    """A reason of a compulsory dissolution, such as `no_accounts`, and its day."""

    reason: str
    since: str


class Dissolution(Model):
    """The grounds of a compulsory dissolution, and the reason one ended."""

    #: Norway only.
    reasons: tuple[DissolutionCause, ...] = ()
    #: The day of the last warning that the company may be dissolved; Denmark only.
    warned: str | None = None
    #: The day on which the company was resumed from a compulsory dissolution; Denmark only.
    resumed: str | None = None

    @property
    def text(self) -> str:
        """The reasons: `no_accounts (2026-03-02)`; empty without one."""
        return ", ".join(f"{one.reason} ({one.since})" for one in self.reasons)


class HomeRegister(Model):
    """The register of a foreign enterprise in its own country."""

    name: str | None = None
    number: str | None = None
    country: str | None = None
    form: CodedText | None = None
    address: str | None = None

    @property
    def text(self) -> str:
        """Its country, number and name."""
        return " ".join(filter(None, (self.country, self.number, self.name)))


class Remark(Model):
    """A remark of the register on a company."""

    type: str | None = None
    text: str
    since: str | None = None


class Share(Model):
    """A percentage, as an interval: equal ends where the register knows it exactly."""

    min: str
    max: str

    @property
    def text(self) -> str:
        """The share in percent, or its bounds: `20 %`, `10–20 %`."""
        return f"{self.min} %" if self.min == self.max else f"{self.min}–{self.max} %"


class Owner(Model):
    """An owner, or a partner, of a company: a person, a company or another holder."""

    name: str
    #: `person`, `company` or `other`.
    type: str
    #: The registration number of an owner that is a company of the same register.
    vat: str | None = None
    role: str | None = None
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
    #: ISO 3166 alpha-2, upper case; None for persons.
    country: str | None = None
    #: `no-konsern` of an owner by Norway's register of groups; None of the others.
    source: str | None = None


class Subsidiary(Model):
    """A company that another one owns or is a partner of."""

    vat: str
    name: str
    city: str | None = None
    status: str
    #: Of the owner, as in `Owner`.
    role: str | None = None
    role_text: str | None = None
    share: Share | None = None
    votes: Share | None = None
    since: str | None = None
    source: str | None = None


class Role(Model):
    """A person or company with a role, such as `director`; `role_text` has the register's word."""

    role: str
    role_text: str | None = None
    name: str
    type: str
    vat: str | None = None
    since: str | None = None
    #: `employees`, `general_meeting` or `other`; `elected_by_text` has the register's words.
    elected_by: str | None = None
    elected_by_text: str | None = None
    #: The register's words on the approval of an auditor or accountant; Norway only.
    approval: str | None = None
    #: The day on which the roles of its kind last changed; Norway only.
    group_changed: str | None = None


class ProductionUnit(Model):
    """A place of business (Danish produktionsenhed, Norwegian underenhet)."""

    number: str
    name: str | None = None
    former_names: tuple[str, ...] = ()
    main: bool | None = None
    status: str | None = None
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
    advertising_protected: bool | None = None
    #: Denmark only.
    fax: str | None = None
    #: Norway only, as the rest.
    registered: str | None = None
    #: The day on which another company took it over.
    owner_changed: str | None = None
    vat_registered: bool | None = None
    voluntary_vat: VoluntaryVat | None = None
    vat_registered_since: str | None = None


class EinvoicingEntry(Model):
    """An identifier under which a company receives electronic documents."""

    #: `<scheme>:<value>`, e.g. `0192:923609016`.
    identifier: str
    scheme: str
    network: str = "peppol"
    document_types: tuple[str, ...] = ()
    registered: str | None = None


class Match(Model):
    """The match of a lookup; `score` is 0 to 100, and 100 is an exact match."""

    type: str
    score: float
    #: The trade or former name that matched; None when the current name did.
    matched_name: str | None = None
    #: The number of other companies that match with the same score: above 0, the answer is one of
    #: several, and `include=["alternatives"]` lists others. 0 by number and in lists.
    others: int = 0

    @property
    def of_several(self) -> str | None:
        """Returns `11 companies have this name` or the like; None if no other matches as well."""
        if not self.others:
            return None
        shared = _SHARED.get(self.type, "match equally well")
        if self.score < _EXACT:
            shared = f"match this {_TYPES.get(self.type, self.type)} equally well"
        return f"{self.others + 1:,} companies {shared}"


class CompanySummary(Model):
    """A company in a list of candidates; `score` is 0 to 100."""

    vat: str
    name: str
    city: str | None = None
    status: str
    score: float


class Source(Model):
    """The register that a record comes from, and the time of its last change there."""

    # `register` would shadow a method that every model has.
    name: str = Field(alias="register")
    updated_at: str | None = None


class EventCompany(Model):
    """A company as its register has it."""

    country: ReadCountry
    vat: str
    name: str
    trade_names: tuple[str, ...] = ()
    former_names: tuple[str, ...] = ()
    #: `active`, `under_liquidation`, `under_reconstruction`, `bankrupt` or `ended`.
    status: str
    #: The register's own word for the status.
    status_text: str | None = None
    #: The day from which the status holds.
    status_since: str | None = None
    form: LegalForm | None = None
    address: Address | None = None
    postal_address: Address | None = None
    #: The first of `phones`.
    phone: str | None = None
    phones: tuple[str, ...] = ()
    fax: str | None = None
    email: str | None = None
    website: str | None = None
    industry: CodedText | None = None
    secondary_industries: tuple[CodedText, ...] = ()
    employees: Employees | None = None
    founded: str | None = None
    registered: str | None = None
    ended: str | None = None
    capital: Capital | None = None
    #: Number of shares.
    shares: int | None = None
    #: The statutory purpose.
    purpose: str | None = None
    #: The company's own description of its business.
    activity: str | None = None
    #: The register's words on the authority to sign.
    signing_rule: str | None = None
    audit_waived: bool | None = None
    financial_year: FinancialYear | None = None
    articles_dated: str | None = None
    listed: bool | None = None
    founders: tuple[Founder, ...] | None = None
    merged_into: tuple[Restructuring, ...] = ()
    merged_from: tuple[Restructuring, ...] = ()
    vat_registered: bool | None = None
    vat_registered_since: str | None = None
    voluntary_vat: VoluntaryVat | None = None
    registrations: tuple[Registration, ...] | None = None
    sector: CodedText | None = None
    in_group: bool | None = None
    #: `nb` or `nn`.
    language: str | None = None
    home_register: HomeRegister | None = None
    remarks: tuple[Remark, ...] = ()
    #: The year of the last annual accounts filed.
    accounts: str | None = None
    #: The registration number of the entity that it is a part of.
    parent: str | None = None
    advertising_protected: bool | None = None
    #: The grounds of a compulsory dissolution, and the reason one ended.
    dissolution: Dissolution | None = None
    #: True if it has owners of less than 5 %, whom the register does not name; Denmark only, as the
    #: next three.
    minor_owners: bool | None = None
    state_owned: bool | None = None
    #: True if it has duties under the act on money laundering.
    aml_obliged: bool | None = None
    social_enterprise: bool | None = None
    #: Counts the stored changes of the company from 1.
    revision: int


class AccountsPeriod(Model):
    """First and last day of annual accounts."""

    start: date
    end: date


class Audit(Model):
    """The audit that annual accounts state."""

    #: `audit`, `extended_review`, `review`, `other_assurance` or `no_assurance`; `none` if the
    #: company has opted out; `missing` if the report was not delivered (Norway).
    type: str | None = None
    #: `unmodified`, `qualified`, `adverse` or `disclaimer`.
    opinion: str | None = None
    #: True if there is a material uncertainty about going concern.
    going_concern: bool | None = None
    #: True if the auditor emphasises a matter.
    emphasis: bool | None = None


class AccountsFigures(Model):
    """Sixteen figures in whole units of the currency; None is not told, which is not 0."""

    #: Denmark: net revenue. Norway: operating income, with other income.
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


class AccountsSource(Model):
    """Where the figures of annual accounts come from."""

    #: The register's id of the filing.
    id: str
    #: Norway's case number, shared by the accounts of company and group.
    journal: str | None = None
    document: str | None = None
    #: The address of a copy for people.
    pdf: str | None = None


class AnnualAccounts(Model):
    """The accounts of one period and scope, as they were filed."""

    period: AccountsPeriod
    #: `company`, `group`, or `unknown` if the document does not say which.
    scope: str
    #: ISO 4217; None without figures.
    currency: str | None = None
    #: `local_gaap`, `ifrs` or `ifrs_simplified`.
    standard: str | None = None
    #: Denmark: `A`, `B_micro`, `B`, `C_medium`, `C_large`, `D`. Norway: `small`.
    size_class: str | None = Field(default=None, alias="class")
    liquidation: bool = False
    audit: Audit = Audit()
    figures: AccountsFigures = AccountsFigures()
    #: `filed`, or `comparative` in the filing of a later year.
    basis: str = "filed"
    published: datetime | None = None
    #: True if they replace others of the same period and scope.
    correction: bool = False
    source: AccountsSource
    #: Warnings about the figures, such as `unbalanced`.
    warnings: tuple[str, ...] = ()


class Company(EventCompany):
    """The answer to a lookup; parts not requested with `include` are None."""

    match: Match
    source: Source
    #: Of each list the first 100, and the number of all; `owners`, `production_units`, `einvoicing`
    #: and `roles` of the client iterate over all.
    owners: tuple[Owner, ...] | None = None
    owners_total: int | None = None
    production_units: tuple[ProductionUnit, ...] | None = None
    production_units_total: int | None = None
    einvoicing: tuple[EinvoicingEntry, ...] | None = None
    einvoicing_total: int | None = None
    roles: tuple[Role, ...] | None = None
    roles_total: int | None = None
    alternatives: tuple[CompanySummary, ...] | None = None
    #: The first 100 by name; None also if the register cannot say.
    subsidiaries: tuple[Subsidiary, ...] | None = None
    #: The number of all subsidiaries.
    subsidiaries_total: int | None = None
    #: The newest ten, of a group before those of the company alone.
    annual_accounts: tuple[AnnualAccounts, ...] | None = None
    #: With `annual_accounts`, what their absence means: `ok` there are some, `none`, `unavailable`
    #: (of this kind of company the register gives none), `unknown` (not asked yet).
    accounts_state: str | None = None
    #: The day at whose end the company was as in this answer; None unless one was requested.
    as_of: date | None = None
    #: With `as_of`: the time from which every change is known.
    known_from: datetime | None = None


class Suggestion(CompanySummary):
    """A company that a partly typed name may mean."""

    #: Given by services from 1.2 on, as the form and the postal code.
    country: ReadCountry | None = None
    form: LegalForm | None = None
    postal_code: str | None = None
    #: The trade or former name that matches; None for the current name.
    matched_name: str | None = None


class SuggestionPage(Model):
    """A page of suggestions."""

    suggestions: tuple[Suggestion, ...]
    #: The `after` of the next page; None on the last one.
    cursor: str | None = None


class CompanyFilter(Model):
    """Filters of companies; one that is empty fits all. Values of a set are joined by *or*.

    A single text is a set of one.
    """

    #: Both registers unless given.
    country: Countries = ()
    #: Words of a name.
    q: str | None = None
    #: Beginnings of the main industry's code.
    industry: Texts = ()
    #: Names, or codes.
    municipality: Texts = ()
    city: Texts = ()
    #: `1000`, or a range such as `1000-1499`.
    postal_code: Texts = ()
    form: Texts = ()
    #: `active` unless given, and any of a watchlist or with `status_since_…`; `any` for all.
    status: Texts = ()
    employees_min: int | None = None
    employees_max: int | None = None
    #: Of the newest annual accounts, in whole units of their currency.
    min_revenue: int | None = None
    max_equity: int | None = None
    #: The years in which the newest accounts end.
    accounts_year: Texts = ()
    #: True for companies that must file accounts, and have filed none for a year too long.
    accounts_late: bool | None = None
    #: Days, such as `2026-01-31`.
    founded_from: Day | None = None
    founded_to: Day | None = None
    ended_from: Day | None = None
    ended_to: Day | None = None
    #: Days on which the company came into its status.
    status_since_from: Day | None = None
    status_since_to: Day | None = None
    #: `phone`, `email`, `website` and `einvoicing`, joined by *and*.
    has: Texts = ()
    vat_registered: bool | None = None
    #: Only the Danish register says it.
    advertising_protected: bool | None = None
    #: A company such as `dk:12345678`.
    owned_by: str | None = None
    #: The id of a watchlist: only its companies.
    watchlist: str | None = None


class FacetCount(Model):
    """A value of a field, and the number of found companies that have it."""

    value: str
    count: int
    #: In the language of the register.
    text: str | None = None
    #: In English; of an industry, the words of its division.
    text_en: str | None = None


class Code(Model):
    """A code that companies of a register have, in words."""

    country: ReadCountry
    code: str
    #: In the language of the register.
    text: str | None = None
    #: In English; of an industry, the words of its division.
    text_en: str | None = None
    #: The abbreviation of a legal form.
    short: str | None = None
    #: The number of companies with it; None for roles.
    companies: int | None = None


class Codes(Model):
    """A list of codes."""

    codes: tuple[Code, ...]


class RegisterSource(Model):
    """How fresh a source of the registers is."""

    #: A file or feed of a register, such as `dk-virksomhed`; a later release may have others.
    source: str
    #: Every change that the register published by this time is stored.
    current_until: datetime | None = None
    #: When a whole file of it was last read.
    loaded_at: datetime | None = None


class RegisterSources(Model):
    """The sources, by name."""

    sources: tuple[RegisterSource, ...]


class AmbiguousName(Model):
    """A name that several municipalities have: those of all of them are listed or counted."""

    #: `municipality` of a filter, or `facets` of a counted value.
    parameter: str
    value: str
    #: The codes of the municipalities, which a filter takes as well.
    codes: tuple[str, ...]


class NearValues(Model):
    """A value of a filter that no company has, and those most like it that some have."""

    #: `city` or `municipality`.
    parameter: str
    value: str
    near: tuple[str, ...]

    @property
    def text(self) -> str:
        """The hint as a sentence."""
        named = {"city": "the town", "municipality": "the municipality"}.get(self.parameter, "")
        return f"No company has {named} {self.value}; did you mean {' or '.join(self.near)}?"


class CompanyPage(Model):
    """Companies that fit filters, their number, and where the next page begins."""

    companies: tuple[Company, ...]
    #: The number of companies on all pages.
    total: int
    #: None on the last page.
    cursor: str | None = None
    #: The searched registers without any, where the other one has some.
    none_in: tuple[ReadCountry, ...] = ()
    #: By field, the most frequent value first; None unless requested.
    facets: dict[str, tuple[FacetCount, ...]] | None = None
    #: Names of the filter and of the facets that several municipalities have.
    ambiguous: tuple[AmbiguousName, ...] = ()
    #: Of an empty page: values of the filter that are nearly ones that companies have.
    did_you_mean: tuple[NearValues, ...] = ()


class UnitPage(Model):
    """Production units of a company, and where the next page begins."""

    production_units: tuple[ProductionUnit, ...]
    #: The number of all units of the company.
    total: int
    #: None on the last page.
    cursor: str | None = None


class EinvoicingPage(Model):
    """E-invoicing identifiers of a company, and where the next page begins."""

    einvoicing: tuple[EinvoicingEntry, ...]
    #: The number of all identifiers of the company.
    total: int
    #: None on the last page.
    cursor: str | None = None


class OwnerPage(Model):
    """Owners of a company, and where the next page begins."""

    #: None, like `total`, if the register cannot say.
    owners: tuple[Owner, ...] | None = None
    #: The number of all owners of the company.
    total: int | None = None
    #: None on the last page.
    cursor: str | None = None


class RolePage(Model):
    """Roles in a company, and where the next page begins."""

    #: None, like `total`, if none are stored.
    roles: tuple[Role, ...] | None = None
    #: The number of all roles in the company.
    total: int | None = None
    #: None on the last page.
    cursor: str | None = None


class Change(Model):
    """One field's old and new value; `field` is a dotted path.

    A list is given whole, unless the change is `partial`: then `old` has the entries that are no
    longer in it, and `new` those that were not in it before.
    """

    field: str
    old: Any = None
    new: Any = None
    partial: bool = False


class HistoryEntry(Model):
    """A change of a company, or a day that its register names."""

    #: A time, RFC 3339; of a dated entry a day, `YYYY-MM-DD`.
    time: str
    #: True if today's record of the register names the day; false if the service saw the change.
    dated: bool
    #: The type of the event about the change.
    type: str
    #: The revision that the change made; None of a dated entry.
    revision: int | None = None
    #: The number of the production unit that changed.
    production_unit: str | None = None
    #: Of a list, the entries that are gone and that came.
    changes: tuple[Change, ...] = ()


class AccountsPage(Model):
    """Annual accounts, newest first, and where the next page begins."""

    annual_accounts: tuple[AnnualAccounts, ...] = ()
    #: As that of a `Company`.
    accounts_state: str
    #: None on the last page.
    cursor: str | None = None


class HistoryPage(Model):
    """The history of a company, newest first, and where the next page begins."""

    history: tuple[HistoryEntry, ...]
    #: The time from which every change is known; None before the first one.
    known_from: datetime | None = None
    #: None on the last page.
    cursor: str | None = None


class EventData(Model):
    """The contents of an event of the feed."""

    company: EventCompany | None = None
    changes: tuple[Change, ...] = ()
    production_unit: ProductionUnit | None = None
    #: Of `company.accounts_published`.
    accounts: AnnualAccounts | None = None


class Event(Model):
    """A change in a register: the body of a delivery."""

    id: str
    #: Such as `company.updated`.
    type: str
    occurred_at: str
    #: None, like `vat` and `revision`, for events about webhooks.
    country: ReadCountry | None = None
    vat: str | None = None
    revision: int | None = None
    #: True if it is an invented example that was requested as a test.
    test: bool = False
    data: EventData = EventData()


class EventPage(Model):
    """Events in their order, and where the next page begins."""

    events: tuple[Event, ...]
    cursor: str
    #: True if the next page is there already, though this one may be empty.
    has_more: bool
