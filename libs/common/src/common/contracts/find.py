"""Companies that fit filters, between gateway and lookup service (ADR 0049)."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from common.contracts.company import CompanyAnswer, Country, Include, Status
from common.contracts.contract import Contract

#: Maximum number of companies on a page.
MAX_FOUND = 100


class FindSort(StrEnum):
    """The orders of a list; `-` is descending, and companies without a value are always last."""

    NAME = "name"
    NAME_DESCENDING = "-name"
    FOUNDED = "founded"
    FOUNDED_DESCENDING = "-founded"
    EMPLOYEES = "employees"
    EMPLOYEES_DESCENDING = "-employees"
    REVENUE = "revenue"
    REVENUE_DESCENDING = "-revenue"
    STATUS_SINCE = "status_since"
    STATUS_SINCE_DESCENDING = "-status_since"
    RELEVANCE = "relevance"

    @property
    def field(self) -> str:
        """What companies are sorted by."""
        return self.value.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        """True if the greatest value is first."""
        return self.value.startswith("-")


class Facet(StrEnum):
    """The fields whose values are counted."""

    INDUSTRY = "industry"
    MUNICIPALITY = "municipality"
    FORM = "form"
    STATUS = "status"


class Has(StrEnum):
    """Parts that a company may have."""

    PHONE = "phone"
    EMAIL = "email"
    WEBSITE = "website"
    EINVOICING = "einvoicing"


class Between(Contract):
    """An interval that includes its ends; an absent end is open."""

    first: str | None = None
    last: str | None = None


#: A byte for each byte, the least for the greatest.
_OPPOSITE = bytes(range(255, -1, -1))
#: Follows the opposites of a text, so that its beginnings come after it; no text has the byte.
_END = b"\xff"


class FindPosition(Contract):
    """The place of a company in a list over all countries."""

    #: The value that sorts the list: a text, or a number that is smaller for an earlier company.
    key: int | str
    country: Country
    number: int

    @classmethod
    def of(
        cls, order: int | bytes, country: Country, number: int, sort: FindSort
    ) -> "FindPosition":
        """Returns the place of a company with this value of `order`."""
        if isinstance(order, int):
            return cls(key=order, country=country, number=number)
        if sort.is_descending:
            order = order.removesuffix(_END).translate(_OPPOSITE)
        return cls(key=order.decode(), country=country, number=number)

    def order(self, sort: FindSort) -> int | bytes:
        """Returns the value that is smaller for an earlier company of the list."""
        return self.key if isinstance(self.key, int) else text_order(self.key.encode(), sort)


def text_order(text: bytes, sort: FindSort) -> bytes:
    """Returns a value that sorts texts in the direction of a list."""
    return text.translate(_OPPOSITE) + _END if sort.is_descending else text


class FindRequest(Contract):
    """A page of the companies that fit every filter; an empty filter fits all."""

    country: Country
    #: Words of a name.
    words: str | None = None
    #: Prefixes of the main industry's code.
    industries: tuple[str, ...] = ()
    #: Names regardless of case, like cities, or codes.
    municipalities: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    postal_codes: tuple[Between, ...] = ()
    forms: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    min_employees: int | None = None
    max_employees: int | None = None
    #: Of the newest annual accounts, in whole units of their currency.
    min_revenue: int | None = None
    max_equity: int | None = None
    #: The years in which the newest accounts end.
    accounts_years: tuple[str, ...] = ()
    #: Whether none were filed within twelve months after the year that followed the newest ones.
    accounts_late: bool | None = None
    #: The last days on which accounts are not late: what `accounts_late` means today, for which
    #: the lookup service sets it.
    accounts_due: Between | None = None
    #: Days.
    founded: Between | None = None
    ended: Between | None = None
    status_since: Between | None = None
    has: tuple[Has, ...] = ()
    vat_registered: bool | None = None
    advertising_protected: bool | None = None
    #: The registration number of a company of the same register.
    owned_by: str | None = None
    #: Registration numbers in order, four bytes each, the lowest first: only these companies. The
    #: reply says that it is limited to them; one of a server of the release before does not.
    numbers: bytes | None = Field(default=None, repr=False)
    sort: FindSort = FindSort.NAME
    limit: int = Field(ge=0, le=MAX_FOUND)
    after: FindPosition | None = None
    facets: tuple[Facet, ...] = ()
    #: A short name of the client, which takes turns with others.
    client: str = ""


class FoundCompany(Contract):
    """A company of a page."""

    position: FindPosition
    #: The public company as JSON, as a lookup returns it; empty if it was removed meanwhile.
    body: bytes


class CodeText(Contract):
    """A code in the words of its register, as a stored company has them."""

    text: str | None = None
    #: The abbreviation of a legal form.
    short: str | None = None


class FindReply(Contract):
    """A page of one country's companies."""

    companies: tuple[FoundCompany, ...] = ()
    #: The number of companies on all pages.
    total: int
    #: True if companies follow this page.
    has_more: bool
    #: True if the numbers of the request were compared.
    limited: bool = False
    facets: Mapping[str, Mapping[str, int]] = {}
    #: Of an empty list: by parameter the values that no company of the register has, each with
    #: those most like it that some have.
    unknown: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    #: Of the codes of industries and legal forms that are counted.
    texts: Mapping[str, Mapping[str, CodeText]] = {}


class FacetCount(Contract):
    """A value of a field, and the number of found companies that have it."""

    value: str
    count: int
    #: In the language of the register; the value itself if it is no code.
    text: str | None = None
    #: In English; of an industry, the words of its division.
    text_en: str | None = None


class FacetCounts(Contract):
    """The values that occur of each requested field, the most frequent first."""

    industry: tuple[FacetCount, ...] = ()
    municipality: tuple[FacetCount, ...] = ()
    form: tuple[FacetCount, ...] = ()
    status: tuple[FacetCount, ...] = ()


class CodeList(StrEnum):
    """The lists of codes."""

    INDUSTRIES = "industries"
    FORMS = "forms"
    MUNICIPALITIES = "municipalities"
    STATUSES = "statuses"
    ROLES = "roles"


class Code(Contract):
    """A code that companies of a register have."""

    country: Country
    code: str
    text: str | None = None
    text_en: str | None = None
    #: The abbreviation of a legal form.
    short: str | None = None
    #: The number of companies with it, ended ones included; None of roles.
    companies: int | None = None


class Codes(Contract):
    """The public answer."""

    codes: tuple[Code, ...] = ()


class AmbiguousName(Contract):
    """A name that several municipalities have: those of all of them are listed or counted."""

    #: `municipality` of a filter, or `facets` of a counted value.
    parameter: str
    value: str
    #: The codes of the municipalities.
    codes: tuple[str, ...]


class NearValues(Contract):
    """A value of a filter that no company has, and those most like it that some have."""

    #: `city` or `municipality`.
    parameter: str
    value: str
    near: tuple[str, ...]


class CompanyList(Contract):
    """The public answer."""

    companies: tuple[CompanyAnswer, ...] = ()
    total: int
    #: None on the last page.
    cursor: str | None = None
    #: The registers without a company, where another one has some; absent if there is none.
    none_in: tuple[Country, ...] | None = None
    #: The values that occur, the most frequent first; absent unless requested.
    facets: FacetCounts | None = None
    #: Absent if no name of the answer is shared.
    ambiguous: tuple[AmbiguousName, ...] | None = None
    #: Absent unless the list is empty and a value is nearly one that companies have.
    did_you_mean: tuple[NearValues, ...] | None = None


#: Maximum number of companies on a page.
MAX_EXPORTED = 1_000


class ExportRequest(Contract):
    """The next companies of one country, in the order of their registration numbers."""

    country: Country
    include: tuple[Include, ...] = ()
    #: Only companies that fit; its order, position and limit do not count. None: every company.
    filter: FindRequest | None = None
    #: The registration number that the page follows; empty for the lowest.
    after: str = ""
    limit: int = Field(default=MAX_EXPORTED, ge=1, le=MAX_EXPORTED)
    #: A short name of the client, which takes turns with others.
    client: str = ""


class ExportPage(Contract):
    """Companies as a lookup returns them, each as JSON on a line of its own."""

    lines: bytes
    #: The number of lines.
    count: int
    #: The registration number to go on after; None on the last page.
    last: str | None = None
    #: True if the numbers of the filter were compared.
    limited: bool = False
    #: A position in the event feed of half a minute ago: this page and later ones have each change
    #: up to it.
    position: int = 0
