"""Lookups, suggestions and the registers' freshness, between gateway and lookup service."""

from enum import StrEnum
from typing import Final

from pydantic import Field

from common.contracts.accounts import AccountsState, AnnualAccounts
from common.contracts.company import (
    CompanySummary,
    Country,
    EinvoicingEntry,
    HolderType,
    Include,
    LegalForm,
    OwnerRole,
    ProductionUnit,
    PublicOwner,
    Role,
    Share,
    Status,
)
from common.contracts.contract import Contract, Timestamp
from common.contracts.events import Change


class SearchType(StrEnum):
    """The types of terms that a company can be looked up by."""

    VAT = "vat"
    NAME = "name"
    PRODU = "produ"
    PHONE = "phone"
    EAN = "ean"
    ADDRESS = "address"
    #: These two are inferred from a bare term only.
    EMAIL = "email"
    DOMAIN = "domain"


#: The types that a client may name.
TYPED_SEARCHES: Final = tuple(
    each for each in SearchType if each not in (SearchType.EMAIL, SearchType.DOMAIN)
)


#: Maximum levels of a group, upwards and downwards.
MAX_LEVELS = 10


class Question(Contract):
    """One search: the type of `term`, and the term, already normalised."""

    type: SearchType
    term: str


class LookupRequest(Contract):
    """A lookup: one term with the types that it may have, and the requested parts."""

    country: Country
    #: Tried in this order; the first that finds a company answers.
    questions: tuple[Question, ...] = Field(min_length=1)
    include: tuple[Include, ...] = ()
    #: True if the types of the questions were inferred from a bare term.
    inferred: bool = False
    #: The day, `YYYY-MM-DD`, at whose end the company is requested; None for now.
    as_of: str | None = None
    #: Requests the group of the company instead, with so many levels up and down.
    group_levels: int | None = Field(default=None, ge=1, le=MAX_LEVELS)
    #: A short name of the client, which takes turns with others; empty from an earlier release.
    client: str = ""


class LookupReply(Contract):
    """A company that was found."""

    #: The public company as JSON, ready to be sent.
    body: bytes
    #: The entity tag without quotes and format; changes exactly when the answer changes.
    tag: str
    #: Its registration number; empty from an earlier release.
    vat: str = ""


#: Maximum number of entries of a list (owners, roles, production units, e-invoicing) in a lookup
#: and in a page, and of one that an event has whole.
MAX_LISTED = 100

#: Maximum number of subsidiaries in a lookup; `GET /api/companies` lists all.
MAX_SUBSIDIARIES = 100


class ListedPart(StrEnum):
    """The lists of a company that come in pages."""

    PRODUCTION_UNITS = "production_units"
    EINVOICING = "einvoicing"
    OWNERS = "owners"
    ROLES = "roles"
    HISTORY = "history"
    ACCOUNTS = "accounts"


class PartRequest(Contract):
    """A page of a list of a company."""

    country: Country
    vat: str
    #: An earlier release requests units only.
    part: ListedPart = ListedPart.PRODUCTION_UNITS
    limit: int = Field(ge=1, le=MAX_LISTED)
    #: The cursor of the page before; empty for the first.
    after: str = ""
    #: Of a history: only what happened then or later.
    since: Timestamp | None = None
    #: Of production units: only those whose own protection is this.
    advertising_protected: bool | None = None
    #: A short name of the client, which takes turns with others; empty from an earlier release.
    client: str = ""


class UnitPage(Contract):
    """The public answer with production units."""

    production_units: tuple[ProductionUnit, ...] = ()
    total: int
    cursor: str | None = None


class EinvoicingPage(Contract):
    """The public answer with e-invoicing identifiers."""

    einvoicing: tuple[EinvoicingEntry, ...] = ()
    total: int
    cursor: str | None = None


class OwnerPage(Contract):
    """The public answer with owners; without both of them if the register cannot say."""

    owners: tuple[PublicOwner, ...] | None = None
    total: int | None = None
    cursor: str | None = None


class RolePage(Contract):
    """The public answer with roles; without both of them if the register cannot say."""

    roles: tuple[Role, ...] | None = None
    total: int | None = None
    cursor: str | None = None


class HistoryEntry(Contract):
    """A change of a company, or a day that its register names."""

    #: RFC 3339, UTC, `Z`; of a dated entry a day, `YYYY-MM-DD`.
    time: str
    #: True if the register's record of today names the day; false if the service saw the change.
    dated: bool
    #: The type of the event; possibly one that a newer release has added.
    type: str
    #: The revision that the change made; None of a dated entry.
    revision: int | None = None
    #: The number of the production unit that changed.
    production_unit: str | None = None
    #: Of a list, the entries that are gone and that came. A dated entry may lack old values.
    changes: tuple[Change, ...] = ()


class HistoryPage(Contract):
    """The public answer with the history of a company, newest first."""

    history: tuple[HistoryEntry, ...] = ()
    #: The time from which every change is known; None before the first one.
    known_from: str | None = None
    cursor: str | None = None


class AccountsPage(Contract):
    """The public answer with annual accounts, the newest first."""

    annual_accounts: tuple[AnnualAccounts, ...] = ()
    #: The meaning of the absence of accounts.
    accounts_state: AccountsState
    cursor: str | None = None


class GroupRecord(Contract):
    """A company's record in the other register, which names it by its number at home."""

    country: Country
    vat: str


class GroupCompany(Contract):
    """A company of a group that a register has."""

    country: Country
    vat: str
    name: str
    city: str | None = None
    status: Status
    #: 0 for the company itself, below it for owners, above it for subsidiaries.
    level: int
    other_records: tuple[GroupRecord, ...] = ()


class GroupHolder(Contract):
    """An owner that is no company of the register: a person, or one from abroad."""

    #: The registration number of the company that names it, and its place there.
    id: str
    name: str
    type: HolderType
    #: Of a Danish or Norwegian company that the register does not have, with the country.
    vat: str | None = None
    country: Country | None = None


class GroupLink(Contract):
    """An ownership in a group."""

    #: A registration number, or the `id` of a holder.
    owner: str
    #: A registration number.
    owned: str
    role: OwnerRole | None = None
    role_text: str | None = None
    share: Share | None = None
    votes: Share | None = None
    since: str | None = None
    #: The source that says so.
    source: str
    #: True if it is part of a circle of ownership.
    circle: bool


class UltimateOwner(Contract):
    """An owner at the end of a path of ownership."""

    #: A registration number, or the `id` of a holder.
    owner: str
    name: str
    type: HolderType
    vat: str | None = None
    country: Country | None = None
    #: The products along its paths, added up; None if a share on one of them is unknown.
    share: Share | None = None


class GroupAnswer(Contract):
    """The public answer with a company's group."""

    country: Country
    vat: str
    companies: tuple[GroupCompany, ...]
    holders: tuple[GroupHolder, ...] = ()
    links: tuple[GroupLink, ...] = ()
    #: Largest share first; None if not every owner is in the answer. Subsidiaries do not matter.
    ultimate_owners: tuple[UltimateOwner, ...] | None = None
    #: True if circles of ownership have too many paths to add up: a share behind one of them is
    #: then at least what was added, and at most what 100 % of the circle come to.
    shares_truncated: bool = False
    #: True if the group goes on beyond the levels or 500 companies, or has too many owners.
    truncated: bool
    #: False for Norway, whose open data has partners and the companies of groups only.
    shareholders_known: bool


class PartReply(Contract):
    """A page of a list of a company."""

    #: A `UnitPage`, `EinvoicingPage`, `OwnerPage`, `RolePage`, `HistoryPage` or `AccountsPage` as
    #: JSON, ready to be sent.
    body: bytes


#: Maximum number of companies in one list of suggestions.
MAX_SUGGESTIONS = 20

#: A place in the order of the index, and the numbers of the companies on the first page.
SUGGEST_CURSOR = rf"^[0-9a-f]{{16}}(\.[0-9]{{1,9}}){{0,{MAX_SUGGESTIONS}}}$"


class SuggestRequest(Contract):
    """A request for the companies whose names match a partly typed one."""

    country: Country
    #: The part of a name typed so far.
    text: str
    limit: int = Field(ge=1, le=MAX_SUGGESTIONS)
    #: The cursor of the page before; None for the first page.
    after: str | None = Field(default=None, pattern=SUGGEST_CURSOR)
    #: The statuses of the companies; any if there is none.
    statuses: tuple[Status, ...] = ()
    #: A short name of the client, which takes turns with others; empty from an earlier release.
    client: str = ""


class Suggestion(CompanySummary):
    """A company whose name completes the text; the score is 100 when the text is the whole name."""

    country: Country
    form: LegalForm | None = None
    postal_code: str | None = None
    #: The trade or former name that matches; None for the current name.
    matched_name: str | None = None


class SuggestionList(Contract):
    """The public answer."""

    suggestions: tuple[Suggestion, ...] = ()
    #: None on the last page.
    cursor: str | None = None


class SuggestReply(Contract):
    """Suggestions for a partly typed name, with the cursor of the next page."""

    #: A `SuggestionList` as JSON, ready to be sent.
    body: bytes


class SourcesRequest(Contract):
    """A request for every source; it names none."""


class RegisterSource(Contract):
    """How far a source was loaded and read; its JSON is public."""

    #: `no-enheter`, `peppol` and the like; a later release may have others.
    source: str
    #: Every change that the register published by this time is stored; None if it is not followed,
    #: or its first load has not ended.
    current_until: Timestamp | None
    #: When a whole file of it was last read to its end; None before the first.
    loaded_at: Timestamp | None


class SourcesReply(Contract):
    """The sources that were ever loaded or read, by name; the public answer."""

    sources: tuple[RegisterSource, ...] = ()
