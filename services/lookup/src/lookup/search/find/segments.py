"""The segments of one index: changes add small ones, and neighbours of similar size are joined.

Each is a file that is never changed, so the operating system may drop its pages at any time. A list
of the files is replaced atomically, before the commit of the index that has the same changes: after
a crash the changes are applied again.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from common.contracts.find import FindSort
from lookup.search.find.facts import FIELDS, Facts
from lookup.search.find.segment import Array, Column, Segment, merged, number_set

_LIST: Final = "segments.json"
#: A segment is joined with the one before it unless that is larger by this factor.
_GROWTH: Final = 4
_ALIGNED: Final = 8
#: The arrays that a segment has directly.
_PLAIN: Final = ("numbers", "flags", "names", "ends", "owners", "owned", "removed")


@dataclass(frozen=True, slots=True)
class Part:
    """A segment, and which of its rows no later segment replaces; None means all."""

    segment: Segment
    alive: Array | None = None
    #: Its file; empty before it is saved.
    file: str = ""

    def without(self, numbers: Array) -> "Part":
        """Returns the part without these companies."""
        rows, _ = self.segment.rows_of(numbers)
        if not len(rows):
            return self
        every = np.ones(len(self.segment), bool)
        alive = every if self.alive is None else self.alive.copy()
        alive[rows] = False
        return Part(self.segment, alive, self.file)


@dataclass(frozen=True, slots=True)
class Segments:
    """The companies of one commit."""

    parts: tuple[Part, ...] = ()

    def changed(self, changes: Mapping[int, Facts | None]) -> "Segments":
        """Returns the companies after changes: the new facts of a number, or None if removed."""
        if not changes:
            return self
        facts = [each for each in changes.values() if each is not None]
        gone = [number for number, each in changes.items() if each is None]
        return self._with(Segment.of(facts, gone))

    def _with(self, segment: Segment) -> "Segments":
        replaced = number_set([*segment.numbers.tolist(), *segment.removed.tolist()])
        parts = [*(part.without(replaced) for part in self.parts), Part(segment)]
        while len(parts) > 1 and len(parts[-1].segment) * _GROWTH >= len(parts[-2].segment):
            last = parts[-2:]
            del parts[-2:]
            joined = merged([(part.segment, part.alive) for part in last], oldest=not parts)
            parts.append(Part(joined))
        return Segments(tuple(parts))


def joined(batches: Sequence[Segment]) -> Segments:
    """Returns the companies of a new index, from segments with different companies."""
    return Segments((Part(merged([(each, None) for each in batches], oldest=True)),))


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
            parts.append(Part(_mapped(folder / name), part.alive, name))
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
    parts: list[Part] = []
    if not folder.exists():
        return Segments()
    for file in json.loads((folder / _LIST).read_bytes()):
        segment = _mapped(folder / file)
        replaced = np.union1d(segment.numbers, segment.removed)
        parts = [part.without(replaced) for part in parts]
        parts.append(Part(segment, None, file))
    return Segments(tuple(parts))


def _arrays(segment: Segment) -> Iterable[tuple[str, Array]]:
    for name in _PLAIN:
        yield name, getattr(segment, name)
    for sort, order in segment.orders.items():
        yield f"order {sort}", order
    for field, column in segment.columns.items():
        yield f"codes {field}", column.codes
        yield f"below {field}", column.below


def _write(path: Path, segment: Segment) -> None:
    """A line of JSON with the places of the arrays, then these."""
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
    stored = (sort for sort in FindSort if sort is not FindSort.RELEVANCE)
    orders: dict[FindSort, Array] = {sort: arrays[f"order {sort}"] for sort in stored}
    return Segment(columns=columns, orders=orders, **{name: arrays[name] for name in _PLAIN})


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
