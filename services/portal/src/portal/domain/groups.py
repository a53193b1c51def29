"""The group of a company as a picture, owners above and subsidiaries below, and as nested lists."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import ceil, sqrt
from statistics import fmean
from typing import ClassVar, Final

from company_registry.group_models import Group, GroupLink

#: Pixels of the picture.
BOX_WIDTH: Final = 208
BOX_HEIGHT: Final = 80
_GAP_X: Final = 32
_GAP_Y: Final = 76
_MARGIN: Final = 40
_STEP_X: Final = BOX_WIDTH + _GAP_X
_STEP_Y: Final = BOX_HEIGHT + _GAP_Y

#: Boxes of a row, before a level takes several rows.
_MAX_ROW: Final = 6
#: Times that each level is put in order by its neighbours.
_SWEEPS: Final = 4
#: Lines of a name in a box, their width, and what a letter takes of it.
_NAME_LINES: Final = 2
_NAME_WIDTH: Final = BOX_WIDTH - 24
_LETTER: Final = 8.3
_CAPITAL: Final = 10.6

_UNKNOWN: Final = "share unknown"

#: The largest picture that can be read on a sheet of paper, on which it is two thirds as large.
_PAPER_WIDTH: Final = 1_100
_PAPER_HEIGHT: Final = 1_400
#: Columns of a sheet, the letters of a line and the lines that fit: smaller ones for more text.
_COLUMNS: Final = ((2, 38, 100), (3, 29, 185), (4, 26, 325))


@dataclass(slots=True)
class Box:
    """A company or another owner; `x` and `y` are its upper left corner."""

    #: A registration number, or the `id` of a holder.
    id: str
    name: str
    #: `company`, `person` or `other`.
    type: str
    #: -1 for owners, and less for theirs; 1 for subsidiaries, and more for theirs.
    level: int
    #: The registration number of a company that has a page.
    vat: str | None = None
    #: The country of that page.
    country: str = ""
    #: Its numbers in the other register, such as `NO 310346020`.
    other_numbers: tuple[str, ...] = ()
    status: str = ""
    city: str = ""
    #: The computed share of an ultimate owner, such as `25–33.33 %`; empty for others.
    ultimately: str = ""
    #: Whether that share reaches 25 %; empty for others.
    reach: str = ""
    x: int = 0
    y: int = 0
    row: int = 0

    width: ClassVar[int] = BOX_WIDTH
    height: ClassVar[int] = BOX_HEIGHT

    @property
    def name_lines(self) -> list[str]:
        """The name in lines of the width of a box; the last one is cut if more would follow."""
        lines = [""]
        for word in self.name.split():
            longer = f"{lines[-1]} {word}".strip()
            if _fitting(longer) == len(longer) or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
        shown = lines[:_NAME_LINES]
        if len(lines) > len(shown):
            shown[-1] += "…"
        cut = ((line, _fitting(line)) for line in shown)
        return [line if fit == len(line) else f"{line[: fit - 1]}…" for line, fit in cut]


def _fitting(text: str) -> int:
    """Returns how many letters of a name fit into a line."""
    widths = accumulate(_CAPITAL if one.isupper() else _LETTER for one in text)
    return sum(width <= _NAME_WIDTH for width in widths)


@dataclass(frozen=True, slots=True)
class Line:
    """An ownership, from the owner to what it owns, and where its share is written."""

    #: The ids of the owner and of what it owns.
    ends: str
    #: The curve as SVG writes it (`d` of a path).
    path: str
    share: str
    x: int
    y: int
    is_circle: bool


@dataclass(slots=True)
class Entry:
    """A member of a nested list, with its own owners or subsidiaries."""

    box: Box
    share: str
    is_circle: bool
    #: True where the list has its own owners or subsidiaries at another place.
    is_again: bool = False
    entries: "list[Entry]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Held:
    """What a company owns, or who owns it, on one level."""

    box: Box
    entries: tuple[Entry, ...]

    @property
    def lengths(self) -> Iterator[int]:
        """The letters of its name and of each entry, with share and number."""
        yield len(self.box.name) + 10
        for entry in self.entries:
            yield len(entry.box.name) + len(entry.share) + len(entry.box.vat or entry.box.type) + 3


@dataclass(frozen=True, slots=True)
class Level:
    """A level as text: each of its links once."""

    #: -1 for owners, and less for theirs; 1 for subsidiaries, and more for theirs.
    number: int
    #: Of owners: what they own. Of subsidiaries: their owners.
    held: tuple[Held, ...]

    @property
    def count(self) -> int:
        """The number of companies and other owners on it."""
        return len({entry.box.id for each in self.held for entry in each.entries})

    @property
    def columns(self) -> int:
        """The columns in which it fits on a sheet of paper."""
        texts = [length for each in self.held for length in each.lengths]
        fitting = (
            columns
            for columns, letters, most in _COLUMNS
            if sum(ceil(length / letters) for length in texts) <= most
        )
        return next(fitting, _COLUMNS[-1][0])


@dataclass(frozen=True, slots=True)
class Picture:
    """A group, with the size of its picture in pixels; the first box is the company itself."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: int
    height: int
    owners: tuple[Entry, ...]
    subsidiaries: tuple[Entry, ...]
    levels: tuple[Level, ...]

    @property
    def fits_paper(self) -> bool:
        """Returns True if the picture can be read on a sheet of paper."""
        return self.width <= _PAPER_WIDTH and self.height <= _PAPER_HEIGHT

    @property
    def countries(self) -> dict[str, str]:
        """The country of each company that has a page, by its number."""
        return {box.vat: box.country for box in self.boxes if box.vat}


def picture(group: Group) -> Picture:
    """Returns the picture of a group: a level is a row, or several where it is long."""
    boxes = _boxes(group)
    links = [link for link in group.links if link.owner in boxes and link.owned in boxes]
    rows = _placed(_ordered(boxes, links))
    lines = _lines(boxes, links, rows)
    above: defaultdict[str, list[GroupLink]] = defaultdict(list)
    below: defaultdict[str, list[GroupLink]] = defaultdict(list)
    for link in links:
        above[link.owned].append(link)
        below[link.owner].append(link)
    everything = boxes.values()
    return Picture(
        boxes=tuple(everything),
        lines=tuple(lines),
        width=max(box.x for box in everything) + BOX_WIDTH + _MARGIN,
        height=max(box.y for box in everything) + BOX_HEIGHT + _MARGIN,
        owners=tuple(_listed(group.vat, boxes, above, lambda link: link.owner)),
        subsidiaries=tuple(_listed(group.vat, boxes, below, lambda link: link.owned)),
        levels=tuple(_levels(boxes, links)),
    )


def _boxes(group: Group) -> dict[str, Box]:
    """Returns the members by id, the company itself first."""
    companies = sorted(group.companies, key=lambda one: one.vat != group.vat)
    boxes = {
        one.vat: Box(
            one.vat,
            one.name,
            "company",
            one.level,
            vat=one.vat,
            country=one.country or group.country,
            other_numbers=tuple(
                f"{other.country.upper()} {other.vat}" for other in one.other_records
            ),
            status=one.status,
            city=one.city or "",
        )
        for one in companies
    }
    levels: defaultdict[str, list[int]] = defaultdict(list)
    for link in group.links:
        if link.owned in boxes:
            levels[link.owner].append(boxes[link.owned].level)
    for holder in group.holders:
        if holder.id in levels:
            level = min(levels[holder.id]) - 1
            boxes[holder.id] = Box(holder.id, holder.name, holder.type, level)
    for owner in group.ultimate_owners or ():
        if owner.owner in boxes:
            boxes[owner.owner].ultimately = owner.share.text if owner.share else _UNKNOWN
            boxes[owner.owner].reach = group.reach(owner)
    return boxes


def _ordered(boxes: dict[str, Box], links: Sequence[GroupLink]) -> list[list[Box]]:
    """Returns the levels from the top, each in the order of the mean place of its neighbours."""
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        neighbours[link.owner].add(link.owned)
        neighbours[link.owned].add(link.owner)
    numbers = sorted({box.level for box in boxes.values()})
    levels = {n: [box for box in boxes.values() if box.level == n] for n in numbers}
    places: dict[str, float] = {}

    def set_places(level: Sequence[Box]) -> None:
        # Places are counted from the middle, where the levels are put above one another.
        for place, box in enumerate(level):
            places[box.id] = place - (len(level) - 1) / 2

    for level in levels.values():
        set_places(level)
    # From the company outwards; those nearer to it lead.
    for number in sorted(numbers, key=abs) * _SWEEPS:
        levels[number].sort(
            key=lambda box: fmean(
                [places[near] for near in neighbours[box.id] if boxes[near].level != box.level]
                or [places[box.id]]
            )
        )
        set_places(levels[number])
    return list(levels.values())


@dataclass(slots=True)
class _Row:
    x: int
    y: int
    count: int

    def gap(self, x: float) -> float:
        """Returns the middle of the gap between two boxes that is nearest to `x`."""
        first = self.x - _GAP_X / 2
        return first + min(max(round((x - first) / _STEP_X), 0), self.count) * _STEP_X


def _placed(levels: Sequence[Sequence[Box]]) -> list[_Row]:
    """Places the boxes; returns their rows. Neighbours of a long level stay near each other."""
    columns = [
        len(level) if len(level) <= _MAX_ROW else max(_MAX_ROW, ceil(sqrt(len(level))))
        for level in levels
    ]
    widest = max(columns)
    rows: list[_Row] = []
    for level, most in zip(levels, columns, strict=True):
        depth = ceil(len(level) / most)
        # A level of 7 and columns of 6 has 2 rows, and fills 4 columns.
        used = ceil(len(level) / depth)
        left = _MARGIN + (widest - used) * _STEP_X // 2
        first = len(rows)
        rows += [_Row(left, _MARGIN + (first + n) * _STEP_Y, used) for n in range(depth)]
        for place, box in enumerate(level):
            column, row = divmod(place, depth)
            box.row = first + row
            box.x, box.y = left + column * _STEP_X, rows[box.row].y
    return rows


def _lines(boxes: dict[str, Box], links: Sequence[GroupLink], rows: Sequence[_Row]) -> list[Line]:
    leaving = _ports(links, lambda link: link.owner, lambda link: boxes[link.owned].x)
    arriving = _ports(links, lambda link: link.owned, lambda link: boxes[link.owner].x)
    lines = []
    for number, link in enumerate(links):
        owner, owned = boxes[link.owner], boxes[link.owned]
        (out, outs), (into, ins) = leaving[number], arriving[number]
        x1 = owner.x + BOX_WIDTH * (out + 1) / (outs + 1)
        x2 = owned.x + BOX_WIDTH * (into + 1) / (ins + 1)
        is_down = owner.row < owned.row
        path = _path((x1, owner), (x2, owned), rows)
        # At the end where fewer lines meet; those that are close to each other are staggered.
        at_owned = ins <= outs or not is_down
        x, place = (x2, into) if at_owned else (x1, out)
        stagger = place % 2 * 16
        y = owner.y + BOX_HEIGHT + 18 + stagger
        if at_owned:
            rises = is_down or owner.row == owned.row
            y = owned.y - 14 - stagger if rises else owned.y + BOX_HEIGHT + 50
        share = link.share.text if link.share else ""
        ends = f"{link.owner} {link.owned}"
        lines.append(Line(ends, path, share, round(x), round(y), link.circle))
    return lines


def _ports(
    links: Sequence[GroupLink],
    end: Callable[[GroupLink], str],
    other_x: Callable[[GroupLink], int],
) -> dict[int, tuple[int, int]]:
    """Returns the place of each link among those of the same box, from the left, and how many."""
    meeting: defaultdict[str, list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        meeting[end(link)].append(number)
    return {
        number: (place, len(numbers))
        for numbers in meeting.values()
        for place, number in enumerate(sorted(numbers, key=lambda each: other_x(links[each])))
    }


def _path(start: tuple[float, Box], end: tuple[float, Box], rows: Sequence[_Row]) -> str:
    """Returns a curve that passes the rows between two boxes through their gaps."""
    (x1, owner), (x2, owned) = start, end
    if owner.row == owned.row:
        top = owner.y - _GAP_Y // 2
        return f"M{x1:.0f} {owner.y}C{x1:.0f} {top} {x2:.0f} {top} {x2:.0f} {owned.y}"
    is_down = owner.row < owned.row
    near, far = (BOX_HEIGHT, 0) if is_down else (0, BOX_HEIGHT)
    between = range(owner.row + 1, owned.row) if is_down else range(owner.row - 1, owned.row, -1)
    points = [(x1, owner.y + near)]
    for number in between:
        row = rows[number]
        x = row.gap(x1 + (x2 - x1) * (number - owner.row) / (owned.row - owner.row))
        points += [(x, row.y + far), (x, row.y + near)]
    points.append((x2, owned.y + far))
    parts = [f"M{x1:.0f} {points[0][1]}"]
    for (ax, ay), (bx, by) in pairwise(points):
        middle = (ay + by) // 2
        parts.append(f"C{ax:.0f} {middle} {bx:.0f} {middle} {bx:.0f} {by}")
    return "".join(parts)


def _levels(boxes: dict[str, Box], links: Sequence[GroupLink]) -> Iterable[Level]:
    """Yields the levels from the top, each with its links by the company that they meet at."""
    levels: defaultdict[int, defaultdict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for link in links:
        owner, owned = boxes[link.owner], boxes[link.owned]
        # A link leads to the end that is farther from the company.
        end, other = (owned, owner) if owned.level > 0 else (owner, owned)
        share = link.share.text if link.share else ""
        levels[end.level][other.id].append(Entry(end, share, link.circle))
    for number in sorted(levels):
        held = (Held(boxes[id_], tuple(entries)) for id_, entries in levels[number].items())
        yield Level(number, tuple(sorted(held, key=lambda one: one.box.name)))


def _listed(
    root: str,
    boxes: dict[str, Box],
    links: dict[str, list[GroupLink]],
    other: Callable[[GroupLink], str],
) -> Iterable[Entry]:
    """Returns the nested list; each member is followed where it is nearest to the company."""
    top: list[Entry] = []
    seen, level = {root}, [(root, top)]
    while level:
        following = []
        for id_, entries in level:
            for link in links.get(id_, ()):
                key = other(link)
                share = link.share.text if link.share else ""
                entry = Entry(boxes[key], share, link.circle)
                entries.append(entry)
                if key in seen:
                    entry.is_again = bool(links.get(key)) or key == root
                else:
                    seen.add(key)
                    following.append((key, entry.entries))
        level = following
    return top
