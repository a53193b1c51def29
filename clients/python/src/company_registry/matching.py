"""Matching: the companies that records of customers mean, in any number of records."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Literal

from pydantic import Field

from company_registry.errors import ApiError, InvalidResponse, problem_error
from company_registry.http import Request, Response, Stream
from company_registry.models import Country, Model
from company_registry.retries import Retries
from company_registry.streams import TRANSIENT, Bulk, OnPace, told

#: Records in one request.
MAX_RECORDS: Final = 100

Decision = Literal["match", "review", "none"]

#: Why rows have no company, in words.
REASONS: Final = {
    "not_found": "not found",
    "country_not_covered": "of another country",
    "person": "of a person",
    "unreadable": "unreadable",
    "placeholder": "with placeholders only",
    "empty": "empty",
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

    country: Country
    vat: str
    name: str
    city: str | None = None
    status: str
    #: The probability that it is the company, 0 to 1.
    score: float
    #: How far fields of both agree, 0 to 100; a field is absent if one of them lacks it.
    evidence: dict[str, float | None] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A record with its decision and candidates, the likeliest first, or with its error."""

    record: MatchRecord
    #: `match`: the first candidate is the company. `review`: it may be one. None with an error.
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

    @property
    def is_transient(self) -> bool:
        """True if the record failed, but may succeed when it is repeated."""
        return self.error is not None and self.error.code in TRANSIENT


def counted(counts: Mapping[str, int]) -> str:
    """Returns how many rows have each reason, status or code, in words; the most frequent first."""
    ranked = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(
        f"{count:,} {REASONS.get(name, name.replace('_', ' '))}" for name, count in ranked
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
        lambda record, error: MatchResult(record, None, error=error),
        share,
    ).results(records)
    return results if on_pace is None else told(results, share, on_pace)


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
                }
                yield MatchResult(record, result["decision"], found, **more)
            else:
                error = problem_error(problem, status=problem["status"])
                yield MatchResult(record, None, error=error)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidResponse("the answer to a match is not one result per record") from None
