"""Companies as columns: immutable arrays, one row for each company, in the order of the numbers.

A value is a code into its column's sorted values, so that every filter is one or a few intervals of
codes. Each order is a list of rows, so that a page is read from its place on.

Changes add small segments, and neighbours of similar size are joined. Each segment is a file that
is never changed, so the operating system may drop its pages at any time. A list of the files is
replaced atomically, before the commit of the index that has the same changes: after a crash the
changes are applied again.
"""

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.contracts.find import FindSort, text_order
from lookup.search.indexed_company import (
    AMOUNTS,
    FIELDS,
    NO_AMOUNT,
    Facts,
)

Array = npt.NDArray[Any]

#: The orders of the rows. That of relevance belongs to a query.
ORDERS: Final = tuple(sort for sort in FindSort if sort is not FindSort.RELEVANCE)
_BY_NAME: Final = frozenset({FindSort.NAME, FindSort.NAME_DESCENDING})
#: The key of companies without a value.
_LAST_KEY: Final = (1 << 63) - 1
#: Bytes of a name that are sorted at once, as numbers of eight bytes.
_PREFIX: Final = 24
#: Rows whose prefixes are made at once.
_CHUNK: Final = 200_000


@dataclass(frozen=True, slots=True)
class Column:
    """A field's different values, sorted, and the code of each row's."""

    values: Sequence[str]
    codes: Array
    #: The number of rows with a code below each place, to estimate filters.
    below: Array

    @classmethod
    def of(cls, values: Sequence[str], codes: Array) -> "Column":
        """Returns the column with the smallest codes."""
        counts = np.bincount(codes, minlength=len(values))
        below = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
        return cls(values, codes.astype(np.min_scalar_type(max(len(values) - 1, 0))), below)

    def between(self, first: str | None, last: str | None) -> tuple[int, int]:
        """Returns the codes of the values from `first` to `last`, never of the empty one."""
        start = bisect_left(self.values, first or "\x01")
        return start, len(self.values) if last is None else bisect_right(self.values, last)

    def rows_in(self, intervals: Iterable[tuple[int, int]]) -> int:
        """Returns the number of rows with these codes."""
        return int(sum(int(self.below[end]) - int(self.below[start]) for start, end in intervals))


@dataclass(frozen=True, slots=True)
class Segment:
    """Companies, and the numbers of companies that are no longer in earlier segments."""

    numbers: Array
    columns: Mapping[str, Column]
    #: Whole units of a currency; `NO_AMOUNT` where there is none.
    amounts: Mapping[str, Array]
    flags: Array
    #: All names, one after the other, and the end of each.
    names: Array
    ends: Array
    #: Owners, sorted, and the row that each owns.
    owners: Array
    owned: Array
    orders: Mapping[FindSort, Array]
    removed: Array

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, facts: Iterable[Facts], removed: Iterable[int] = ()) -> "Segment":
        """Returns the segment of companies, each given once."""
        rows = sorted(facts)
        texts = zip(*(row.values for row in rows), strict=True) if rows else [()] * len(FIELDS)
        columns = {field: _column(each) for field, each in zip(FIELDS, texts, strict=True)}
        table = np.array([row.amounts for row in rows], np.int64).reshape(-1, len(AMOUNTS))
        pairs = sorted((owner, row) for row, one in enumerate(rows) for owner in one.owners)
        return _ordered(
            cls(
                np.array([row.number for row in rows], np.uint32),
                columns,
                {name: table[:, place].copy() for place, name in enumerate(AMOUNTS)},
                np.array([row.flags for row in rows], np.uint8),
                np.frombuffer(b"".join(row.name for row in rows), np.uint8),
                np.cumsum([len(row.name) for row in rows], dtype=np.uint32),
                np.array([owner for owner, _ in pairs], np.uint32),
                np.array([row for _, row in pairs], np.uint32),
                {},
                np.array(sorted(removed), np.uint32),
            )
        )

    @property
    def lengths(self) -> Array:
        """The length of each row's name."""
        return np.diff(self.ends.astype(np.int64), prepend=0)

    def name(self, row: int) -> bytes:
        """Returns the key of a row's name."""
        start = int(self.ends[row - 1]) if row else 0
        return self.names[start : int(self.ends[row])].tobytes()

    def key(self, sort: FindSort, row: int) -> int | bytes:
        """Returns what a row is sorted by: the less, the earlier."""
        if sort in _BY_NAME:
            return text_order(self.name(row), sort)
        if sort.field in AMOUNTS:
            amount = int(self.amounts[sort.field][row])
            if amount == NO_AMOUNT:
                return _LAST_KEY
            return -amount if sort.is_descending else amount
        column = self.columns[sort.field]
        value = column.values[int(column.codes[row])]
        if sort.is_descending:
            # Cursors do not expire, and release 1.0 made such ones.
            return -1 - int(value.replace("-", "")) if value else 0
        return int(value.replace("-", "")) if value else _LAST_KEY

    def rows_of(self, numbers: Array) -> tuple[Array, Array]:
        """Returns the rows of those sorted numbers that are here, and their places among them."""
        if not len(self.numbers) or not len(numbers):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        places = np.flatnonzero(self.numbers[rows] == numbers)
        return rows[places], places

    def owned_by(self, owners: Array) -> Array:
        """Returns the rows of the companies with one of these owners, sorted, each once."""
        starts = np.searchsorted(self.owners, owners)
        ends = np.searchsorted(self.owners, owners, side="right")
        owned = [self.owned[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.unique(np.concatenate([np.empty(0, np.uint32), *owned])).astype(np.int64)


def merged(parts: Sequence[tuple[Segment, Array | None]], *, oldest: bool) -> Segment:
    """Returns joined segments, of each the rows that its mask keeps; no number may be in two.

    The oldest segment of all has nothing to remove from earlier ones.
    """
    kept = [
        np.arange(len(segment)) if mask is None else np.flatnonzero(mask) for segment, mask in parts
    ]
    segments = [segment for segment, _ in parts]
    numbers = _joined([s.numbers[rows] for s, rows in zip(segments, kept, strict=True)], np.uint32)
    order = np.argsort(numbers, kind="stable")
    names = _joined(
        [_gathered(s.names, s.lengths, rows) for s, rows in zip(segments, kept, strict=True)],
        np.uint8,
    )
    lengths = _joined([s.lengths[rows] for s, rows in zip(segments, kept, strict=True)], np.int64)
    removed = [] if oldest else [s.removed for s in segments]
    pairs = _joined_owners(segments, kept, order)
    return _ordered(
        Segment(
            numbers[order],
            {
                field: _joined_column([s.columns[field] for s in segments], kept, order)
                for field in FIELDS
            },
            {
                name: _joined(
                    [s.amounts[name][rows] for s, rows in zip(segments, kept, strict=True)],
                    np.int64,
                )[order]
                for name in AMOUNTS
            },
            _joined([s.flags[rows] for s, rows in zip(segments, kept, strict=True)], np.uint8)[
                order
            ],
            _gathered(names, lengths, order),
            np.cumsum(lengths[order], dtype=np.uint32),
            *pairs,
            {},
            np.unique(_joined(removed, np.uint32)),
        )
    )


def _joined(arrays: Sequence[Array], dtype: npt.DTypeLike) -> Array:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)


def _column(texts: Sequence[str]) -> Column:
    values = sorted(set(texts))
    places = {value: code for code, value in enumerate(values)}
    return Column.of(values, np.fromiter(map(places.__getitem__, texts), np.int64, len(texts)))


def _joined_column(columns: Sequence[Column], kept: Sequence[Array], order: Array) -> Column:
    codes = [column.codes[rows] for column, rows in zip(columns, kept, strict=True)]
    used = [np.unique(each) for each in codes]
    values = sorted(
        {column.values[code] for column, few in zip(columns, used, strict=True) for code in few}
    )
    places = {value: code for code, value in enumerate(values)}
    new = []
    for column, few, each in zip(columns, used, codes, strict=True):
        table = np.zeros(len(column.values), np.uint32)
        table[few] = [places[column.values[code]] for code in few]
        new.append(table[each])
    return Column.of(values, _joined(new, np.uint32)[order])


def _joined_owners(
    segments: Sequence[Segment], kept: Sequence[Array], order: Array
) -> tuple[Array, Array]:
    inverse = np.empty(len(order), np.uint32)
    inverse[order] = np.arange(len(order), dtype=np.uint32)
    owners, owned, start = [], [], 0
    for segment, rows in zip(segments, kept, strict=True):
        place = np.searchsorted(rows, segment.owned)
        place = np.minimum(place, max(len(rows) - 1, 0))
        is_kept = rows[place] == segment.owned if len(rows) else np.zeros(len(place), bool)
        owners.append(segment.owners[is_kept])
        owned.append(inverse[start + place[is_kept]])
        start += len(rows)
    all_owners, all_owned = _joined(owners, np.uint32), _joined(owned, np.uint32)
    by_owner = np.lexsort((all_owned, all_owners))
    return all_owners[by_owner], all_owned[by_owner]


def _gathered(names: Array, lengths: Array, order: Array) -> Array:
    if len(order) == len(lengths) and bool(np.all(order[1:] > order[:-1])):
        return names
    starts = np.cumsum(lengths) - lengths
    gathered = []
    for chunk in range(0, len(order), _CHUNK):
        rows = order[chunk : chunk + _CHUNK]
        size = lengths[rows]
        shift = np.repeat(starts[rows] - (np.cumsum(size) - size), size)
        gathered.append(names[shift + np.arange(len(shift))])
    return _joined(gathered, np.uint8)


def _ordered(segment: Segment) -> Segment:
    prefixes = _prefixes(segment)
    orders: dict[FindSort, Array] = {
        sort: _by_name(segment, prefixes, sort) if sort in _BY_NAME else _by_value(segment, sort)
        for sort in ORDERS
    }
    return replace(segment, orders=orders)


def _by_value(segment: Segment, sort: FindSort) -> Array:
    if sort.field in AMOUNTS:
        keys = segment.amounts[sort.field]
        last, missing = _LAST_KEY, keys == NO_AMOUNT
    else:
        column = segment.columns[sort.field]
        keys = column.codes.astype(np.int32)
        # The empty text is the first value, if a row has it.
        last, missing = len(column.values), (keys == 0) & (column.values[:1] == [""])
    keys = np.where(missing, last, -keys if sort.is_descending else keys)
    return np.argsort(keys, kind="stable").astype(np.uint32)


def _by_name(segment: Segment, prefixes: Array, sort: FindSort) -> Array:
    if not len(segment):
        return np.empty(0, np.uint32)
    if sort.is_descending:
        prefixes = ~prefixes
    order = np.lexsort(prefixes.T[::-1])
    ordered = prefixes[order]
    lengths = segment.lengths[order]
    # Names with an equal prefix of full length are compared whole.
    same = np.all(ordered[1:] == ordered[:-1], axis=1) & (lengths[1:] >= _PREFIX)
    for start, end in _runs(same):
        # In the order of their numbers, which equal names keep.
        rows = order[start:end].tolist()
        order[start:end] = sorted(rows, key=segment.name, reverse=sort.is_descending)
    return order.astype(np.uint32)


def _prefixes(segment: Segment) -> Array:
    lengths = segment.lengths
    starts = segment.ends - lengths
    made = np.empty((len(segment), _PREFIX // 8), np.uint64)
    places = np.arange(_PREFIX)
    last = max(len(segment.names) - 1, 0)
    for chunk in range(0, len(segment), _CHUNK):
        some = slice(chunk, chunk + _CHUNK)
        index = np.minimum(starts[some, None] + places, last)
        letters = segment.names[index] if len(segment.names) else np.zeros_like(index, np.uint8)
        letters = np.where(places < lengths[some, None], letters, 0).astype(np.uint8)
        made[some] = np.ascontiguousarray(letters).view(">u8")
    return made


def _runs(same: Array) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
    return [(int(start), int(end) + 1) for start, end in edges.reshape(-1, 2)]


_LIST: Final = "segments.json"
#: A segment is joined with the one before it unless that is larger by this factor.
_GROWTH: Final = 4
_ALIGNED: Final = 8
#: The arrays that a segment has directly.
_PLAIN: Final = ("numbers", "flags", "names", "ends", "owners", "owned", "removed")


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A segment, and which of its rows no later segment replaces; None means all."""

    segment: Segment
    alive: Array | None = None
    #: Its file; empty before it is saved.
    file: str = ""

    def without(self, numbers: Array) -> "LiveSegment":
        """Returns the part without these companies."""
        rows, _ = self.segment.rows_of(numbers)
        if not len(rows):
            return self
        every = np.ones(len(self.segment), bool)
        alive = every if self.alive is None else self.alive.copy()
        alive[rows] = False
        return LiveSegment(self.segment, alive, self.file)


@dataclass(frozen=True, slots=True)
class Segments:
    """The companies of one commit."""

    parts: tuple[LiveSegment, ...] = ()

    def changed(self, changes: Mapping[int, Facts | None]) -> "Segments":
        """Returns the companies after changes: the new facts of a number, or None if removed."""
        if not changes:
            return self
        facts = [each for each in changes.values() if each is not None]
        gone = [number for number, each in changes.items() if each is None]
        return self._with(Segment.of(facts, gone))

    def _with(self, segment: Segment) -> "Segments":
        replaced = np.union1d(segment.numbers, segment.removed)
        parts = [*(part.without(replaced) for part in self.parts), LiveSegment(segment)]
        while len(parts) > 1 and len(parts[-1].segment) * _GROWTH >= len(parts[-2].segment):
            last = parts[-2:]
            del parts[-2:]
            joined = merged([(part.segment, part.alive) for part in last], oldest=not parts)
            parts.append(LiveSegment(joined))
        return Segments(tuple(parts))


def joined(batches: Sequence[Segment]) -> Segments:
    """Returns the companies of a new index, from segments with different companies."""
    return Segments((LiveSegment(merged([(each, None) for each in batches], oldest=True)),))


def save(folder: Path, segments: Segments) -> Segments:
    """Writes what is not yet saved, durably, and returns the same companies in mapped files."""
    folder.mkdir(exist_ok=True)
    taken = [int(path.stem) for path in folder.glob("*.columns")]
    number = max(taken, default=0)
    parts = []
    for part in segments.parts:
        if not part.file:
            number += 1
            name = f"{number}.columns"
            _write(folder / name, part.segment)
            parts.append(LiveSegment(_mapped(folder / name), part.alive, name))
        else:
            parts.append(part)
    files = [part.file for part in parts]
    replace_durably(folder / _LIST, json.dumps(files).encode())
    for path in folder.glob("*.columns"):
        if path.name not in files:
            path.unlink()
    return Segments(tuple(parts))


def load(folder: Path) -> Segments:
    """Returns the saved companies; raises ValueError or OSError if a file is damaged or missing."""
    parts: list[LiveSegment] = []
    if not folder.exists():
        return Segments()
    for file in json.loads((folder / _LIST).read_bytes()):
        segment = _mapped(folder / file)
        replaced = np.union1d(segment.numbers, segment.removed)
        parts = [part.without(replaced) for part in parts]
        parts.append(LiveSegment(segment, None, file))
    return Segments(tuple(parts))


def _arrays(segment: Segment) -> Iterable[tuple[str, Array]]:
    for name in _PLAIN:
        yield name, getattr(segment, name)
    for name, amounts in segment.amounts.items():
        yield f"amounts {name}", amounts
    for sort, order in segment.orders.items():
        yield f"order {sort}", order
    for field, column in segment.columns.items():
        yield f"codes {field}", column.codes
        yield f"below {field}", column.below


def _write(path: Path, segment: Segment) -> None:
    arrays = [(name, np.ascontiguousarray(array)) for name, array in _arrays(segment)]
    described = [(name, array.dtype.str, len(array)) for name, array in arrays]
    values = {field: list(column.values) for field, column in segment.columns.items()}
    head = json.dumps({"arrays": described, "values": values}).encode()
    with path.open("wb") as file:
        file.write(head.ljust(-(len(head) + 1) % _ALIGNED + len(head)) + b"\n")
        for _, array in arrays:
            file.write(array.tobytes())
            file.write(bytes(-array.nbytes % _ALIGNED))
        file.flush()
        os.fsync(file.fileno())


def _mapped(path: Path) -> Segment:
    whole = np.memmap(path, np.uint8, mode="r")
    with path.open("rb") as file:
        line = file.readline()
    head = json.loads(line)
    arrays: dict[str, Any] = {}
    start = len(line)
    for name, dtype, length in head["arrays"]:
        size = np.dtype(dtype).itemsize * length
        arrays[name] = whole[start : start + size].view(np.ndarray).view(dtype)
        if len(arrays[name]) != length:
            raise ValueError(f"{path.name} is cut short")
        start += size + -size % _ALIGNED
    columns = {
        field: Column(head["values"][field], arrays[f"codes {field}"], arrays[f"below {field}"])
        for field in FIELDS
    }
    orders: dict[FindSort, Array] = {sort: arrays[f"order {sort}"] for sort in ORDERS}
    amounts = {name: arrays[f"amounts {name}"] for name in AMOUNTS}
    plain = {name: arrays[name] for name in _PLAIN}
    return Segment(columns=columns, amounts=amounts, orders=orders, **plain)


def replace_durably(path: Path, content: bytes) -> None:
    """Replaces a file atomically: after a crash it has the old or the new content."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(content)
    _flush(draft)
    draft.replace(path)
    _flush(path.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
