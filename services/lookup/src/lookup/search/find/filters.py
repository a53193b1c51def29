"""The filters of a request as intervals of codes, each tested over many rows at once."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from common.contracts.find import FindRequest, Has
from common.domain.known_values import municipality_key
from lookup.search.find import facts
from lookup.search.find.facts import Flag, employees_text, folded
from lookup.search.find.segment import Array, Column, Segment

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


class Test:
    """A filter of a column, or of flags."""

    def __init__(self, codes: Array, intervals: Intervals, size: int, share: float) -> None:
        self.share = share
        self._codes, self._intervals, self._size = codes, intervals, size

    def fits(self, rows: Array | None) -> Array:
        """Returns for each of the rows whether it fits; None means all rows."""
        codes = self._codes if rows is None else self._codes[rows]
        if len(self._intervals) > _MAX_INTERVALS:
            table = np.zeros(self._size, bool)
            for start, end in self._intervals:
                table[start:end] = True
            return table[codes]
        fitting = np.zeros(len(codes), bool)
        for start, end in self._intervals:
            if end - start == 1:
                fitting |= codes == start
            else:
                # Unsigned: codes below the first wrap around to large numbers.
                fitting |= codes - codes.dtype.type(start) < end - start
        return fitting


class _FlagTest(Test):
    def __init__(self, flags: Array, wanted: int) -> None:
        super().__init__(flags, (), 0, 0.5)
        self._wanted = wanted

    def fits(self, rows: Array | None) -> Array:
        flags = self._codes if rows is None else self._codes[rows]
        fitting: Array = (flags & np.uint8(self._wanted)) == self._wanted
        return fitting


class _AnyTest(Test):
    """A filter that any of some others fits."""

    def __init__(self, tests: Sequence[Test]) -> None:
        super().__init__(np.empty(0), (), 0, sum(test.share for test in tests))
        self._tests = tests

    def fits(self, rows: Array | None) -> Array:
        fitting: Array = np.logical_or.reduce([test.fits(rows) for test in self._tests])
        return fitting


def filters(segment: Segment, request: FindRequest) -> Iterable[Test]:
    """Returns the filters of a request, but words and owners."""
    for field, intervals in _intervals(segment, request):
        yield _test(segment, field, intervals)
    if request.municipalities:
        # A name or a code.
        values = [municipality_key(each) for each in request.municipalities]
        yield _AnyTest(
            [
                _test(segment, field, _equal(segment.columns[field], values))
                for field in (facts.MUNICIPALITY, facts.MUNICIPALITY_CODE)
            ]
        )
    flags = sum(int(_FLAG_OF[part]) for part in request.has)
    for value, (yes, no) in (
        (request.vat_registered, (Flag.VAT_REGISTERED, Flag.NOT_VAT_REGISTERED)),
        (request.advertising_protected, (Flag.PROTECTED, Flag.NOT_PROTECTED)),
    ):
        if value is not None:
            flags |= int(yes if value else no)
    if flags:
        yield _FlagTest(segment.flags, flags)


def _test(segment: Segment, field: str, intervals: Intervals) -> Test:
    column = segment.columns[field]
    share = column.rows_in(intervals) / max(len(segment), 1)
    return Test(column.codes, intervals, len(column.values), share)


def _intervals(segment: Segment, request: FindRequest) -> Iterable[tuple[str, Intervals]]:
    columns = segment.columns
    if request.industries:
        yield (
            facts.INDUSTRY,
            _union(
                columns[facts.INDUSTRY].between(code, code + "~") for code in request.industries
            ),
        )
    for field, values in (
        (facts.CITY, request.cities),
        (facts.FORM, request.forms),
        (facts.STATUS, [str(status) for status in request.statuses]),
    ):
        if values:
            yield field, _equal(columns[field], values)
    if request.postal_codes:
        yield (
            facts.POSTAL_CODE,
            _union(
                columns[facts.POSTAL_CODE].between(each.first, each.last)
                for each in request.postal_codes
            ),
        )
    least, most = request.min_employees, request.max_employees
    if least is not None or most is not None:
        between = columns[facts.EMPLOYEES].between(
            None if least is None else employees_text(least),
            None if most is None else employees_text(most),
        )
        yield facts.EMPLOYEES, _union([between])
    for field, days in ((facts.FOUNDED, request.founded), (facts.ENDED, request.ended)):
        if days is not None:
            yield field, _union([columns[field].between(days.first, days.last)])


def _equal(column: Column, wanted: Iterable[str]) -> Intervals:
    """Returns the codes of the values that equal one of these regardless of case."""
    texts = {folded(each) for each in wanted}
    return _union(
        (code, code + 1) for code, value in enumerate(column.values) if folded(value) in texts
    )


def _union(intervals: Iterable[tuple[int, int]]) -> Intervals:
    """Returns the intervals without empty ones, joined with those that they touch."""
    union: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union
