"""Copies of a register, read as they arrive and resumed after interruptions."""

import json
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from company_registry.arguments import parts
from company_registry.bodies import Lines
from company_registry.errors import InvalidResponse, NoResponse, error_of
from company_registry.http import (
    Item,
    NextPart,
    Outcome,
    Part,
    Request,
    Sleep,
    Step,
    Stream,
    Unanswered,
)
from company_registry.models import Company, CompanyFilter, Country, Include
from company_registry.operations import filter_query, get
from company_registry.retries import Retries, exchange, retry_after
from company_registry.streams import CursorStore

_CURSOR: Final = "events-cursor"
_EVERY: Final = CompanyFilter()


def export(  # noqa: PLR0913 (named options)
    retries: Retries,
    country: Country,
    filter: CompanyFilter = _EVERY,
    *,
    include: Iterable[Include] = (),
    after: str | None = None,
    cursor: CursorStore | None = None,
) -> Stream[Company]:
    """All companies of a register, or those that fit a filter, in the order of their numbers.

    Unlike a list it has every company unless the filter has a `status`. `include` adds parts as in
    a lookup; `production_units` and `einvoicing` take many times as long.

    `cursor` is given the place in the event feed of before the first company: `events` with the
    same store and `countries=[country]` goes on from there, and of each company the newest
    `revision` is right. It keeps an export's first place through interruptions, which are resumed
    here. `after` is a registration number from which to resume an export of before; its place is
    kept by you.
    """
    options: Any = {"include": include, "after": after, "cursor": cursor}
    outcome = None
    with closing(export_lines(retries, country, filter, **options)) as lines:
        while True:
            try:
                step = lines.send(outcome)
            except StopIteration:
                return
            if isinstance(step, Item):
                outcome = None
                yield Item(_company(step.value))
            else:
                outcome = yield step


def _company(line: bytes) -> Company:
    try:
        return Company.model_validate_json(line)
    except ValidationError:
        raise InvalidResponse("a line of the export is no company") from None


def export_lines(  # noqa: PLR0913 (named options)
    retries: Retries,
    country: Country,
    filter: CompanyFilter = _EVERY,
    *,
    include: Iterable[Include] = (),
    after: str | None = None,
    cursor: CursorStore | None = None,
) -> Stream[bytes]:
    """Yields the companies of `export` as JSON, as the service sends them."""
    request = _request(country, filter, parts(include))
    failures, last = 0, b""
    while True:
        place = number_of(last) if last else after or ""
        response = yield from exchange(_behind(request, place), retries)
        if response.status >= 400:
            raise error_of(response, retry_after=retry_after(response.headers))
        if not place and cursor is not None:
            cursor.save(response.headers.get(_CURSOR, ""))
        encoding = response.headers.get("content-encoding", "")
        received = _Received(Lines(encoding), _number=place)
        broken = yield from received.lines()
        if broken is None:
            return
        failures = 1 if received.last else failures + 1
        last = received.last or last
        if failures >= retries.attempts:
            raise NoResponse(broken.reason)
        yield Sleep(retries.backoff(failures))


@dataclass(slots=True)
class _Received:
    """The body of one response."""

    _lines: Lines
    #: The last line, and its number; before the first one, that behind which the body begins.
    last: bytes = b""
    _number: str = ""

    def lines(self) -> Generator[Step | Item[bytes], Outcome | None, Unanswered | None]:
        """Yields each line; returns the interruption of the body, or None at its end."""
        while True:
            part = yield NextPart()
            if isinstance(part, Unanswered):
                return part
            assert isinstance(part, Part), "of a body"  # noqa: S101 (not an input)
            if part.content is None:
                self._lines.end()
                return None
            for some in self._lines.add(part.content):
                for line in some:
                    yield Item(line)
                if some:
                    self.last = some[-1]
                    self._go_on(number_of(self.last))

    def _go_on(self, number: str) -> None:
        """Raises InvalidResponse unless the numbers ascend: the body would have no end."""
        if (len(number), number) <= (len(self._number), self._number):
            raise InvalidResponse("the companies of the export are in no order")
        self._number = number


def number_of(line: bytes) -> str:
    """Returns the registration number of a company; raises InvalidResponse if it has none."""
    try:
        return str(json.loads(line)["vat"])
    except (ValueError, KeyError, TypeError):
        raise InvalidResponse("a line of the export is no company") from None


def _request(country: Country, filter: CompanyFilter, include: tuple[str, ...]) -> Request:
    query = filter_query(filter) | {"country": country, "include": ",".join(include)}
    return replace(get("/api/export", query), in_parts=True)


def _behind(request: Request, number: str) -> Request:
    return replace(request, query=(*request.query, ("after", number))) if number else request
