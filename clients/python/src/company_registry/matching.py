"""Matching: the companies that records of customers mean, in any number of records."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Literal

from pydantic import Field

from company_registry.errors import ApiError, InvalidResponse, error_of, problem_error
from company_registry.http import Item, Request, Response, Sleep, Steps, Stream
from company_registry.models import Country, Model
from company_registry.retries import Retries, exchange, retry_after
from company_registry.streams import TRANSIENT, OnPace, Pace, told

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
    results = _match(_Matching(retries, limit, share), records)
    return results if on_pace is None else told(results, share, on_pace)


@dataclass(frozen=True, slots=True)
class _Matching:
    retries: Retries
    limit: int
    share: float


def _match(matching: _Matching, records: Iterable[MatchRecord]) -> Stream[MatchResult]:
    waiting = iter(records)
    pace = Pace()
    while chunk := list(itertools.islice(waiting, pace.size)):
        if pace.wait:
            yield Sleep(pace.wait)
        results, pace = yield from _matched(matching, chunk)
        for result in results:
            yield Item(result)


def _matched(
    matching: _Matching, records: Sequence[MatchRecord]
) -> Steps[tuple[list[MatchResult], Pace]]:
    results, pace = yield from _posted(matching, records)
    for attempt in range(1, matching.retries.attempts):
        again = [place for place, result in enumerate(results) if result.is_transient]
        if not again:
            break
        yield Sleep(max(pace.wait, matching.retries.backoff(attempt)))
        repeated, pace = yield from _posted(matching, [records[place] for place in again])
        for place, result in zip(again, repeated, strict=True):
            results[place] = result
    return results, pace


def _posted(
    matching: _Matching, records: Sequence[MatchRecord]
) -> Steps[tuple[list[MatchResult], Pace]]:
    body = {"records": [each.fields for each in records], "limit": matching.limit}
    # Nothing changes by it, so it may be sent again after an outage.
    request = Request("POST", "/api/match", body=body)
    response = yield from exchange(request, matching.retries)
    pace = Pace.after(response, matching.share)
    too_many = response.status == 429 and len(records) > pace.size
    if too_many or (response.status == 413 and len(records) > 1):
        middle = len(records) // 2
        first, pace = yield from _posted(matching, records[:middle])
        if pace.wait:
            yield Sleep(pace.wait)
        second, pace = yield from _posted(matching, records[middle:])
        return first + second, pace
    if response.status >= 400:
        raise error_of(response, retry_after=retry_after(response.headers))
    return list(_results(response, records)), pace


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
