"""Records of customers and the companies that they may be, between gateway and lookup service."""

from enum import StrEnum

from pydantic import Field

from common.contracts.company import Country, LegalForm, Status
from common.contracts.contract import Contract
from common.contracts.failures import FailureCode

#: Maximum number of records in one request.
MAX_RECORDS = 100
#: Maximum number of candidates of a record, and their number unless another is requested.
MAX_CANDIDATES, DEFAULT_CANDIDATES = 20, 5


class MatchRecord(Contract):
    """A customer's record of a company; every field but the id may be absent."""

    #: The client's own, returned with the result.
    id: str
    #: The register; without it both are searched.
    country: Country | None = None
    name: str | None = None
    #: A registration number, or that of a production unit.
    number: str | None = None
    #: Street and house number, or the whole address.
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    phone: str | None = None
    email: str | None = None
    website: str | None = None


class MatchRequest(Contract):
    """Records to be matched with the companies of one register."""

    country: Country
    records: tuple[MatchRecord, ...] = Field(min_length=1, max_length=MAX_RECORDS)
    limit: int = Field(ge=1, le=MAX_CANDIDATES)
    #: A short name of the client, which takes turns with others.
    client: str = ""


class MatchEvidence(Contract):
    """How far the fields of a record and of a company agree, 0 to 100.

    A field is absent if the record or the company lacks it.
    """

    name: float | None = None
    number: float | None = None
    address: float | None = None
    postal_code: float | None = None
    city: float | None = None
    phone: float | None = None
    email: float | None = None
    website: float | None = None


class WeighedCompany(Contract):
    """A company that a record may be."""

    vat: str
    name: str
    city: str | None = None
    #: The whole address on one line.
    address: str | None = None
    form: LegalForm | None = None
    status: Status
    evidence: MatchEvidence
    #: How much likelier it is the company than none is, as a natural logarithm. The candidates of
    #: both registers share one probability.
    log_odds: float


class WeighedRecord(Contract):
    """The candidates of one record, the likeliest first."""

    candidates: tuple[WeighedCompany, ...] = ()
    #: The sum of the odds of candidates beyond the limit.
    other_odds: float = 0.0
    #: The company with the record's number, and of the others the one whose name agrees best; also
    #: beyond the limit.
    numbered: WeighedCompany | None = None
    named: WeighedCompany | None = None
    #: Fields with a value that this register cannot read.
    unread: tuple[str, ...] = ()
    #: The number that was compared, if it has a zero that the record's has not.
    assumed_number: str | None = None
    #: Set if the record alone could not be matched, such as for a search that takes too long.
    failure: FailureCode | None = None
    #: As in a `Failure`.
    detail: str = ""
    removed_on: str | None = None


class MatchReply(Contract):
    """The candidates of each record in one register, in the order of the request."""

    records: tuple[WeighedRecord, ...]


class MatchDecision(StrEnum):
    """The outcome of a record."""

    #: The first candidate is the company.
    MATCH = "match"
    #: Some candidate may be the company: a person decides.
    REVIEW = "review"
    #: No candidate is likely.
    NONE = "none"


class MatchReason(StrEnum):
    """Why no company is likely."""

    #: The country is neither Denmark nor Norway, or cannot be read.
    COUNTRY_NOT_COVERED = "country_not_covered"
    #: No field that can find a company has a value.
    EMPTY = "empty"
    #: Its fields say only that nothing is known, such as `?` and `N/A`.
    PLACEHOLDER = "placeholder"
    #: It is a person: by a personal number, by a word such as `privatkunde`, or by its name.
    PERSON = "person"
    #: None of the fields that can find a company can be read.
    UNREADABLE = "unreadable"
    #: No company of the registers resembles it.
    NOT_FOUND = "not_found"


class MatchCandidate(Contract):
    """A company that a record may be, with its probability."""

    country: Country
    vat: str
    name: str
    city: str | None = None
    #: The whole address on one line.
    address: str | None = None
    form: LegalForm | None = None
    status: Status
    #: 0 to 1: the probability that it is the company.
    score: float
    evidence: MatchEvidence


class ConflictingCompany(Contract):
    """A company that a part of a record names."""

    country: Country
    vat: str
    name: str


class MatchConflict(Contract):
    """Two companies that a record names: one by its number, and another by its name."""

    number: ConflictingCompany
    name: ConflictingCompany


class MatchResult(Contract):
    """The decision about one record; a record that fails has a problem instead."""

    id: str
    decision: MatchDecision
    #: Set exactly for the decision `none`.
    reason: MatchReason | None = None
    candidates: tuple[MatchCandidate, ...] = ()
    #: Fields with a value that cannot be read, and that nothing was concluded from.
    unread: tuple[str, ...] = ()
    #: By field, a value that is likely meant by the record's; it makes no match by itself.
    assumed: dict[str, str] = Field(default_factory=dict)
    #: Set if number and name contradict each other; such a record is for review.
    conflict: MatchConflict | None = None
