"""Pages of the companies that fit filters, with the number of all and of each value.

A filter is intervals of codes, which are tested over many rows at once.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from common.contracts.company import Country
from common.contracts.find import FindPosition, FindRequest, FindSort, Has
from common.domain.known_values import municipality_key
from lookup.search.find.columns import Array, Column, Segment, Segments
from lookup.search.find.near import unknown_values
from lookup.search.indexed_company import (
    ACCOUNTS_DUE,
    ACCOUNTS_YEAR,
    CITY,
    EMPLOYEES,
    ENDED,
    EQUITY,
    FORM,
    FOUNDED,
    INDUSTRY,
    MAX_AMOUNT,
    MUNICIPALITY,
    MUNICIPALITY_CODE,
    NO_AMOUNT,
    POSTAL_CODE,
    REVENUE,
    STATUS,
    STATUS_SINCE,
    Flag,
    employees_text,
    folded,
)

#: More intervals are looked up in a table.
_MAX_INTERVALS: Final = 6

_FLAG_OF = {
    Has.PHONE: Flag.PHONE,
    Has.EMAIL: Flag.EMAIL,
    Has.WEBSITE: Flag.WEBSITE,
    Has.EINVOICING: Flag.EINVOICING,
}

#: A filter of one column: its codes.
Intervals = Sequence[tuple[int, int]]


class Filter(NamedTuple):
    """A filter of a column or of flags: about which share of rows fits, and which of some do."""

    share: float
    #: Of these rows; None means all.
    fits: Callable[[Array | None], Array]


def _fits(codes: Array, intervals: Intervals, size: int, rows: Array | None) -> Array:
    """Returns for each of the rows whether its code, of so many, is in one of the intervals."""
    codes = codes if rows is None else codes[rows]
    if len(intervals) > _MAX_INTERVALS:
        table = np.zeros(size, bool)
        for start, end in intervals:
            table[start:end] = True
        return table[codes]
    fitting = np.zeros(len(codes), bool)
    for start, end in intervals:
        if end - start == 1:
            fitting |= codes == start
        else:
            # Unsigned: codes below the first wrap around to large numbers.
            fitting |= codes - codes.dtype.type(start) < end - start
    return fitting


def filters(segment: Segment, request: FindRequest) -> Iterable[Filter]:
    """Returns the filters of a request, but words, numbers and owners."""
    for field, intervals in _intervals(segment, request):
        yield _filter(segment, field, intervals)
    if request.municipalities:
        # A name or a code.
        values = [municipality_key(each) for each in request.municipalities]
        either = [
            _filter(segment, field, _equal(segment.columns[field], values))
            for field in (MUNICIPALITY, MUNICIPALITY_CODE)
        ]
        yield Filter(
            sum(one.share for one in either),
            lambda rows: np.logical_or(*(one.fits(rows) for one in either)),
        )
    yield from _amounts(segment, request)
    flags = sum(int(_FLAG_OF[part]) for part in request.has)
    for value, (yes, no) in (
        (request.vat_registered, (Flag.VAT_REGISTERED, Flag.NOT_VAT_REGISTERED)),
        (request.advertising_protected, (Flag.PROTECTED, Flag.NOT_PROTECTED)),
    ):
        if value is not None:
            flags |= int(yes if value else no)
    if flags:
        wanted, given = np.uint8(flags), segment.flags
        yield Filter(0.5, lambda rows: (given if rows is None else given[rows]) & wanted == wanted)


def _amounts(segment: Segment, request: FindRequest) -> Iterable[Filter]:
    for name, least, most in (
        (REVENUE, request.min_revenue, None),
        (EQUITY, None, request.max_equity),
    ):
        if least is not None or most is not None:
            # The amount that is not told is the least number.
            first = NO_AMOUNT + 1 if least is None else max(least, NO_AMOUNT + 1)
            last = MAX_AMOUNT if most is None else most
            yield Filter(0.5, partial(_within, segment.amounts[name], first, last))


def _within(amounts: Array, first: int, last: int, rows: Array | None) -> Array:
    some = amounts if rows is None else amounts[rows]
    fitting: Array = (some >= first) & (some <= last)
    return fitting


def _filter(segment: Segment, field: str, intervals: Intervals) -> Filter:
    column = segment.columns[field]
    share = column.rows_in(intervals) / max(len(segment), 1)
    return Filter(share, partial(_fits, column.codes, intervals, len(column.values)))


def _intervals(segment: Segment, request: FindRequest) -> Iterable[tuple[str, Intervals]]:
    columns = segment.columns
    if request.industries:
        yield (
            INDUSTRY,
            _union(columns[INDUSTRY].between(code, code + "~") for code in request.industries),
        )
    for field, values in (
        (CITY, request.cities),
        (FORM, request.forms),
        (STATUS, [str(status) for status in request.statuses]),
        (ACCOUNTS_YEAR, request.accounts_years),
    ):
        if values:
            yield field, _equal(columns[field], values)
    if request.postal_codes:
        yield (
            POSTAL_CODE,
            _union(
                columns[POSTAL_CODE].between(each.first, each.last) for each in request.postal_codes
            ),
        )
    least, most = request.min_employees, request.max_employees
    if least is not None or most is not None:
        between = columns[EMPLOYEES].between(
            None if least is None else employees_text(least),
            None if most is None else employees_text(most),
        )
        yield EMPLOYEES, _union([between])
    for field, days in (
        (FOUNDED, request.founded),
        (ENDED, request.ended),
        (STATUS_SINCE, request.status_since),
        (ACCOUNTS_DUE, request.accounts_due),
    ):
        if days is not None:
            yield field, _union([columns[field].between(days.first, days.last)])


def _equal(column: Column, wanted: Iterable[str]) -> Intervals:
    texts = {folded(each) for each in wanted}
    return _union(
        (code, code + 1) for code, value in enumerate(column.values) if folded(value) in texts
    )


def _union(intervals: Iterable[tuple[int, int]]) -> Intervals:
    union: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union


#: Up to this many rows are sorted; the first of more are found by reading their order.
_FEW: Final = 256
#: Rows are listed, and no longer masked, if at most this share of them is left.
_LISTED: Final = 1 / 16
#: Rows of an order that are read at once.
_READ: Final = 4_096


class Hits(NamedTuple):
    """The companies with the words of a query: sorted numbers, and the keys of their relevance."""

    numbers: Array
    keys: Array


class FindPage(NamedTuple):
    """A page of companies."""

    positions: list[FindPosition]
    total: int
    has_more: bool
    facets: Mapping[str, Mapping[str, int]]
    #: Of an empty list; see `FindReply`.
    unknown: Mapping[str, Mapping[str, tuple[str, ...]]] = {}


def find(segments: Segments, request: FindRequest, hits: Hits | None = None) -> FindPage:
    """Returns the page of a request; `hits` are given for its words."""
    total, keyed = 0, []
    counts = {facet.value: Counter[str]() for facet in request.facets}
    for part in segments.parts:
        chosen = _chosen(part.segment, part.alive, request, hits)
        total += chosen.total
        for facet, counter in counts.items():
            counter.update(chosen.counts(part.segment.columns[facet]))
        if chosen.total and request.limit:
            keyed.append(_page(chosen, request, hits))
    page = list(islice(merge(*keyed), request.limit + 1))
    positions = [
        FindPosition.of(key, request.country, number, request.sort)
        for key, number in page[: request.limit]
    ]
    unknown = {} if total else unknown_values(segments, request)
    return FindPage(positions, total, len(page) > request.limit, counts, unknown)


def find_numbers(
    segments: Segments, request: FindRequest, hits: Hits | None, *, after: int, limit: int
) -> list[int]:
    """Returns the lowest numbers above `after` of the companies that fit, in order."""
    found = [
        _chosen(part.segment, part.alive, request, hits).numbers(after, limit)
        for part in segments.parts
    ]
    numbers: list[int] = np.sort(np.concatenate([np.empty(0, np.uint32), *found])).tolist()
    return numbers[:limit]


def owned(segments: Segments, owners: Collection[int], limit: int) -> list[int]:
    """Returns the lowest numbers of the companies that some of these own, in order."""
    wanted = np.array(sorted(owners), np.uint32)
    found = [np.empty(0, np.uint32)]
    for part in segments.parts:
        rows = part.segment.owned_by(wanted)
        if part.alive is not None:
            rows = rows[part.alive[rows]]
        found.append(part.segment.numbers[rows])
    numbers: list[int] = np.unique(np.concatenate(found))[:limit].tolist()
    return numbers


def having(segments: Segments, field: str, values: Collection[str]) -> dict[str, int]:
    """Returns for each of these values of a field the number of a company that has it."""
    found: dict[str, int] = {}
    for part in segments.parts:
        column = part.segment.columns[field]
        alive = part.alive
        rows = np.arange(len(part.segment)) if alive is None else np.flatnonzero(alive)
        first = np.full(len(column.values), -1, np.int64)
        first[column.codes[rows]] = rows
        for value, row in zip(column.values, first.tolist(), strict=True):
            if row >= 0 and value in values:
                found[value] = int(part.segment.numbers[row])
    return found


@dataclass(slots=True)
class _Selection:
    """The rows that fit so far: listed if they are few, else as a mask; neither means all."""

    segment: Segment
    total: int
    rows: Array | None = None
    mask: Array | None = None

    def keep_rows(self, rows: Array) -> None:
        """Keeps those of these sorted rows that fit so far."""
        if self.rows is not None:
            rows = np.intersect1d(self.rows, rows, assume_unique=True)
        elif self.mask is not None:
            rows = rows[self.mask[rows]]
        self.rows, self.mask, self.total = rows, None, len(rows)

    def keep(self, wanted: Filter) -> None:
        """Keeps the rows that fit a filter."""
        if self.rows is not None:
            self.rows = self.rows[wanted.fits(self.rows)]
            self.total = len(self.rows)
            return
        fitting = wanted.fits(None)
        self.mask = fitting if self.mask is None else np.logical_and(self.mask, fitting, fitting)
        self.total = int(np.count_nonzero(self.mask))
        if self.total <= len(self.segment) * _LISTED:
            self.rows, self.mask = np.flatnonzero(self.mask), None

    def counts(self, column: Column) -> Mapping[str, int]:
        """Returns how many of the rows have each value."""
        if self.rows is not None:
            codes = column.codes[self.rows]
        elif self.mask is not None:
            codes = column.codes[self.mask]
        else:
            codes = column.codes
        counted = np.bincount(codes, minlength=len(column.values))
        return {
            value: int(count)
            for value, count in zip(column.values, counted, strict=True)
            if count and value
        }

    def numbers(self, after: int, limit: int) -> Array:
        """Returns the numbers of the first rows above one."""
        numbers = self.segment.numbers
        start = int(np.searchsorted(numbers, after, side="right"))
        if self.rows is not None:
            return numbers[self.rows[np.searchsorted(self.rows, start) :][:limit]]
        if self.mask is not None:
            return numbers[start:][np.flatnonzero(self.mask[start:])[:limit]]
        return numbers[start : start + limit]

    def masked(self, rows: Array) -> Array:
        """Returns those of these rows that fit, after `as_mask`."""
        return rows if self.mask is None else rows[self.mask[rows]]

    def as_mask(self) -> None:
        """Makes a mask of the rows, to read on in an order."""
        if self.rows is not None:
            self.mask = np.zeros(len(self.segment), bool)
            self.mask[self.rows] = True
            self.rows = None


def _chosen(
    segment: Segment, alive: Array | None, request: FindRequest, hits: Hits | None
) -> _Selection:
    total = len(segment) if alive is None else int(np.count_nonzero(alive))
    chosen = _Selection(segment, total, mask=alive)
    if hits is not None:
        chosen.keep_rows(segment.rows_of(hits.numbers)[0])
    if request.numbers is not None:
        chosen.keep_rows(segment.rows_of(np.frombuffer(request.numbers, "<u4"))[0])
    if request.owned_by is not None:
        chosen.keep_rows(segment.owned_by(np.array([request.owned_by], np.uint32)))
    for wanted in sorted(filters(segment, request), key=lambda each: each.share):
        chosen.keep(wanted)
    return chosen


SortKey = tuple[int | bytes, int]


def _page(chosen: _Selection, request: FindRequest, hits: Hits | None) -> list[SortKey]:
    sort, limit = request.sort, request.limit + 1
    after = _bound(request.after, request.country, sort)
    if sort is FindSort.RELEVANCE and hits is not None and chosen.rows is not None:
        return _most_relevant(chosen, hits, after, limit)
    segment = chosen.segment
    if chosen.rows is not None and chosen.total <= _FEW:
        keyed = sorted((segment.key(sort, row), int(segment.numbers[row])) for row in chosen.rows)
        start = 0 if after is None else bisect_right(keyed, after)
        return keyed[start : start + limit]
    chosen.as_mask()
    rows = _read_on(chosen, segment.orders[sort], _start(segment, sort, after), limit)
    return [(segment.key(sort, row), int(segment.numbers[row])) for row in rows]


def _bound(after: FindPosition | None, country: Country, sort: FindSort) -> SortKey | None:
    if after is None:
        return None
    key = after.order(sort)
    if country == after.country:
        return key, after.number
    return key, (-1 if country > after.country else 1 << 32)


def _start(segment: Segment, sort: FindSort, after: SortKey | None) -> int:
    if after is None:
        return 0
    order = segment.orders[sort]

    def keyed(row: int) -> SortKey:
        return segment.key(sort, int(row)), int(segment.numbers[row])

    return bisect_right(order, after, key=keyed)


def _read_on(chosen: _Selection, order: Array, start: int, limit: int) -> list[int]:
    rows: list[int] = []
    size = _READ
    while start < len(order) and len(rows) < limit:
        rows += chosen.masked(order[start : start + size]).tolist()
        start, size = start + size, size * 2
    return rows[:limit]


def _most_relevant(
    chosen: _Selection, hits: Hits, after: SortKey | None, limit: int
) -> list[SortKey]:
    numbers = chosen.segment.numbers[chosen.rows]
    keys = hits.keys[np.searchsorted(hits.numbers, numbers)]
    if after is not None:
        key, number = np.uint64(after[0]), after[1]
        later = (keys > key) | ((keys == key) & (numbers.astype(np.int64) > number))
        keys, numbers = keys[later], numbers[later]
    if len(keys) > limit:
        # Of equal keys all are read, of which the lowest numbers are first.
        first = keys <= np.partition(keys, limit - 1)[limit - 1]
        keys, numbers = keys[first], numbers[first]
    return sorted(zip(keys.tolist(), numbers.tolist(), strict=True))[:limit]
