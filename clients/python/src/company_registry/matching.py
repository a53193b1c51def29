"""Matching: the companies that records of customers mean, in any number of records."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Literal

from pydantic import Field

from company_registry.errors import ApiError, InvalidResponse, problem_error
from company_registry.http import Request, Response, Stream
from company_registry.models import LegalForm, Model, ReadCountry
from company_registry.retries import Retries
from company_registry.streams import TRANSIENT, Bulk, OnPace, passes, told

#: Records in one request.
MAX_RECORDS: Final = 100

Decision = Literal["match", "review", "none", "not_searched"]
#: The decision about a record whose search failed: nothing is known of its company.
NOT_SEARCHED: Final = "not_searched"

#: Why rows have no company, in words.
REASONS: Final = {
    "not_found": "not found",
    "country_not_covered": "of another country",
    "person": "of a person",
    "unreadable": "unreadable",
    "placeholder": "with placeholders only",
    "empty": "empty",
}
#: Why rows were not searched, in words; by the code of the problem.
_FAULTS: Final = {
    "lookup_timeout": "without an answer in time",
    "service_unavailable": "while the service was unavailable",
    "rate_limited": "beyond the key's rate",
    "internal_error": "after an error of the service",
}


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """The known facts of a company; at least a name, number, address, phone, e-mail or web site."""

    id: str
    #: `dk`, `no`, or the country's name. Without it both registers are searched; of another country
    #: no company is found.
    country: str | None = None
    name: str | None = None
    #: A registration number, or that of a production unit, as it is written.
    number: str | None = None
    #: Street and house number, or the whole address.
    address: str | None = None
    postal_code: str | None = None
    city: str | None = None
    phone: str | None = None
    email: str | None = None
    website: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The record as the body of a request, without absent facts."""
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in given if value}


class MatchCandidate(Model):
    """A company that a record may mean."""

    country: ReadCountry
    vat: str
    name: str
    city: str | None = None
    address: str | None = None
    form: LegalForm | None = None
    status: str
    #: The probability that it is the company, 0 to 1.
    score: float
    #: How far fields of both agree, 0 to 100; a field is absent if one of them lacks it.
    evidence: dict[str, float | None] = Field(default_factory=dict)


class ConflictingCompany(Model):
    """A company that a part of a record names."""

    country: ReadCountry
    vat: str
    name: str


class MatchConflict(Model):
    """Two companies that a record names: one by its number, and another by its name."""

    number: ConflictingCompany
    name: ConflictingCompany

    def __str__(self) -> str:
        by_number, by_name = (
            f"{each.name} ({each.country.upper()} {each.vat})" for each in (self.number, self.name)
        )
        return f"The number is that of {by_number}, the name that of {by_name}."


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A record with its decision and candidates, the likeliest first, or with its error."""

    record: MatchRecord
    #: `match`: the first candidate is the company. `review`: it may be one. `not_searched`: the
    #: service failed, so that nothing is known; send the record again. None if it is invalid.
    decision: Decision | None
    candidates: tuple[MatchCandidate, ...] = ()
    error: ApiError | None = None
    #: Why there is no company, for `none`; a key of `REASONS`.
    reason: str | None = None
    #: Fields with a value that cannot be read.
    unread: tuple[str, ...] = ()
    #: By field, a value that is likely meant instead of the record's, such as a number with the
    #: zero that a spreadsheet has dropped. Such a record is for review.
    assumed: Mapping[str, str] = field(default_factory=dict)
    #: Set if number and name name two companies. Such a record is for review.
    conflict: MatchConflict | None = None

    @property
    def is_transient(self) -> bool:
        """True if the record failed, but may succeed when it is repeated."""
        return self.error is not None and self.error.code in TRANSIENT


def counted(counts: Mapping[str, int]) -> str:
    """Returns how many rows have each reason, status or code, in words; the most frequent first."""
    ranked, words = sorted(counts.items(), key=lambda each: -each[1]), REASONS | _FAULTS
    return ", ".join(
        f"{count:,} {words.get(name, name.replace('_', ' '))}" for name, count in ranked
    )


def match(
    retries: Retries,
    records: Iterable[MatchRecord],
    *,
    limit: int = 5,
    share: float = 1,
    on_pace: OnPace | None = None,
) -> Stream[MatchResult]:
    """Yields the match of each of any number of records, in order, as results arrive.

    Split into requests of up to 100 records, paced by the rate limit that the service states, of
    which `share` is used: the rest is left to other requests with the key.
    `limit` is the number of candidates of each, at most 20.
    `on_pace` is called with the pace before each wait and each further request.
    """
    results = Bulk(
        retries,
        # Nothing changes by it, so it may be sent again after an outage.
        lambda chunk: Request(
            "POST",
            "/api/match",
            body={"records": [each.fields for each in chunk], "limit": limit},
        ),
        _results,
        _failed,
        share,
    ).results(records)
    return results if on_pace is None else told(results, share, on_pace)


def _conflict(found: object) -> MatchConflict | None:
    return None if found is None else MatchConflict.model_validate(found)


def _failed(record: MatchRecord, error: ApiError) -> MatchResult:
    return MatchResult(record, NOT_SEARCHED if passes(error) else None, error=error)


def _results(response: Response, records: Sequence[MatchRecord]) -> Iterator[MatchResult]:
    try:
        results = json.loads(response.content)["results"]
        for record, result in zip(records, results, strict=True):
            problem = result.get("problem")
            if problem is None:
                found = tuple(map(MatchCandidate.model_validate, result["candidates"]))
                more = {
                    "reason": result.get("reason"),
                    "unread": tuple(result.get("unread") or ()),
                    "assumed": dict(result.get("assumed") or {}),
                    "conflict": _conflict(result.get("conflict")),
                }
                yield MatchResult(record, result["decision"], found, **more)
            else:
                yield _failed(record, problem_error(problem, status=problem["status"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidResponse("the answer to a match is not one result per record") from None


def same_company(matched: Mapping[int, str]) -> dict[int, list[int]]:
    """Returns by row the other rows that have its company, without rows that share none.

    `matched` has the company of each row, empty without one.
    """
    rows: dict[str, list[int]] = {}
    for row, company in matched.items():
        if company:
            rows.setdefault(company, []).append(row)
    return {
        row: [other for other in shared if other != row]
        for shared in rows.values()
        if len(shared) > 1
        for row in shared
    }
