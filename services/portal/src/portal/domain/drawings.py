"""Drawings: the owners of a company as a tree, and the last day of a webhook as a plot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from statistics import median
from typing import ClassVar, Final

from company_registry.models import Company, Owner
from company_registry.webhook_models import Attempt

#: Pixels of the drawing.
BOX_WIDTH: Final = 244
BOX_HEIGHT: Final = 56
_GAP_X: Final = 56
_GAP_Y: Final = 16
_MARGIN: Final = 2

#: Levels of owners, and boxes of one drawing.
MAX_DEPTH: Final = 4
MAX_BOXES: Final = 40

#: Characters that fit into a box.
_MAX_NAME: Final = 26


@dataclass(frozen=True, slots=True)
class Box:
    """A company or person; `x` and `y` are its upper left corner."""

    x: int
    y: int
    name: str
    #: Such as `25–33.33 %`, empty for the company itself.
    share: str
    is_company: bool
    #: The registration number of a company of the same register.
    vat: str | None

    width: ClassVar[int] = BOX_WIDTH
    height: ClassVar[int] = BOX_HEIGHT

    @property
    def short_name(self) -> str:
        """The name, cut to the width of a box."""
        return self.name if len(self.name) <= _MAX_NAME else self.name[: _MAX_NAME - 1] + "…"

    @property
    def middle(self) -> int:
        """The height at which lines meet the box."""
        return self.y + BOX_HEIGHT // 2


@dataclass(frozen=True, slots=True)
class Line:
    """A curve from an owned company to its owner."""

    x1: int
    y1: int
    x2: int
    y2: int

    @property
    def path(self) -> str:
        """The curve as SVG writes it (`d` of a path)."""
        half = (self.x1 + self.x2) // 2
        return f"M{self.x1} {self.y1}C{half} {self.y1} {half} {self.y2} {self.x2} {self.y2}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The tree of owners, with its size; lengths are in pixels."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: int
    height: int


@dataclass(slots=True)
class _Branch:
    owner: Owner | None
    name: str
    children: "list[_Branch]"
    #: The row of the branch, counted in leaves.
    row: float = 0


def owner_companies(company: Company) -> Iterator[str]:
    """Returns the registration numbers of the owners that are companies of the same register."""
    return (owner.vat for owner in company.owners or () if owner.vat is not None)


def percent(owner: Owner) -> str:
    """Returns the share, as an interval where the register keeps classes."""
    if owner.share is None:
        return owner.role_text or ""
    low, high = owner.share.min, owner.share.max
    return f"{low} %" if low == high else f"{low}–{high} %"


def drawing(company: Company, known: Mapping[str, Company]) -> Drawing | None:
    """Returns the chain; `known` are the owning companies by number. None without owners."""
    if not company.owners:
        return None
    root = _Branch(None, company.name, [])
    count = 1
    level: list[tuple[_Branch, Company, frozenset[str]]] = [
        (root, company, frozenset([company.vat]))
    ]
    for _ in range(MAX_DEPTH):
        following = []
        for branch, owned, seen in level:
            for owner in owned.owners or ():
                if count == MAX_BOXES:
                    break
                count += 1
                child = _Branch(owner, owner.name, [])
                branch.children.append(child)
                # Companies may own one another in a circle, which is drawn once.
                if owner.vat is not None and owner.vat in known and owner.vat not in seen:
                    following.append((child, known[owner.vat], seen | {owner.vat}))
        level = following
    _set_rows([root], 0.0)
    return _drawn(root, company)


def _set_rows(branches: Sequence[_Branch], row: float) -> float:
    for branch in branches:
        if branch.children:
            row = _set_rows(branch.children, row)
            branch.row = (branch.children[0].row + branch.children[-1].row) / 2
        else:
            branch.row, row = row, row + 1
    return row


def _drawn(root: _Branch, company: Company) -> Drawing:
    boxes: list[Box] = []
    lines: list[Line] = []

    def draw(branch: _Branch, depth: int) -> Box:
        owner = branch.owner
        box = Box(
            x=_MARGIN + depth * (BOX_WIDTH + _GAP_X),
            y=_MARGIN + round(branch.row * (BOX_HEIGHT + _GAP_Y)),
            name=branch.name,
            share="" if owner is None else percent(owner),
            is_company=owner is None or owner.type == "company",
            vat=company.vat if owner is None else owner.vat,
        )
        boxes.append(box)
        for child in branch.children:
            end = draw(child, depth + 1)
            lines.append(Line(box.x + BOX_WIDTH, box.middle, end.x, end.middle))
        return box

    draw(root, 0)
    width = max(box.x for box in boxes) + BOX_WIDTH + _MARGIN
    height = max(box.y for box in boxes) + BOX_HEIGHT + _MARGIN
    return Drawing(tuple(boxes), tuple(lines), width, height)


# The last day of a webhook

HOURS: Final = 24
_HOUR: Final = timedelta(hours=1)
#: Pixels of the plot.
WIDTH: Final = 720
HEIGHT: Final = 180
_PLOT_LEFT: Final = 40
_PLOT_TOP: Final = 12
_PLOT_BOTTOM: Final = 150
_BAR: Final = 18


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the plot; lengths are in pixels."""

    begins: datetime
    succeeded: int
    failed: int
    #: Milliseconds; None without a response.
    median_ms: int | None
    x: int
    succeeded_height: int
    failed_height: int
    y_median: int | None

    @property
    def y_succeeded(self) -> int:
        """The top of the bar of successful attempts."""
        return _PLOT_BOTTOM - self.succeeded_height

    @property
    def y_failed(self) -> int:
        """The top of the bar of failed attempts, which stands on the other."""
        return self.y_succeeded - self.failed_height


@dataclass(frozen=True, slots=True)
class Plot:
    """The attempts of 24 hours, as counts, durations and lines."""

    hours: tuple[Hour, ...]
    succeeded: int
    failed: int
    #: Milliseconds: half of the attempts were faster, and 95 % of them.
    median_ms: int | None
    p95_ms: int | None
    #: Of the attempts' axis and of the durations' axis.
    top_count: int
    top_ms: int
    #: Points of the line of medians, as SVG writes them, in unbroken runs of hours.
    lines: tuple[str, ...]

    @property
    def success_rate(self) -> float | None:
        """The share of successful attempts, 0 to 1; None without attempts."""
        total = self.succeeded + self.failed
        return self.succeeded / total if total else None


def plot(attempts: Sequence[Attempt], *, now: datetime) -> Plot:
    """Returns the plot of the 24 hours before `now`, in its time zone.

    Older and cancelled attempts are omitted.
    """
    # Hours are counted in UTC: clocks may change among them.
    latest = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    first = latest - (HOURS - 1) * _HOUR
    by_hour = _by_hour(attempts, first)
    durations = [
        [one.duration_ms for one in hour if one.duration_ms is not None] for hour in by_hour
    ]
    medians = [round(median(found)) if found else None for found in durations]
    top_count = max(1, *map(len, by_hour))
    top_ms = max(1, *(value or 0 for value in medians))
    height = _PLOT_BOTTOM - _PLOT_TOP
    hours = []
    for place, (found, median_ms) in enumerate(zip(by_hour, medians, strict=True)):
        succeeded = sum(one.status == "succeeded" for one in found)
        failed = len(found) - succeeded
        hours.append(
            Hour(
                begins=(first + place * _HOUR).astimezone(now.tzinfo),
                succeeded=succeeded,
                failed=failed,
                median_ms=median_ms,
                x=_PLOT_LEFT + place * (WIDTH - 2 * _PLOT_LEFT) // HOURS,
                succeeded_height=round(height * succeeded / top_count),
                failed_height=round(height * failed / top_count),
                y_median=None
                if median_ms is None
                else _PLOT_BOTTOM - round(height * median_ms / top_ms),
            )
        )
    ranked = sorted(chain.from_iterable(durations))
    return Plot(
        hours=tuple(hours),
        succeeded=sum(hour.succeeded for hour in hours),
        failed=sum(hour.failed for hour in hours),
        median_ms=round(median(ranked)) if ranked else None,
        p95_ms=ranked[max(0, -(-len(ranked) * 95 // 100) - 1)] if ranked else None,
        top_count=top_count,
        top_ms=top_ms,
        lines=tuple(
            " ".join(f"{hour.x + _BAR // 2},{hour.y_median}" for hour in run)
            for has_median, run in groupby(hours, lambda hour: hour.y_median is not None)
            if has_median
        ),
    )


def _by_hour(attempts: Sequence[Attempt], first: datetime) -> list[list[Attempt]]:
    hours: list[list[Attempt]] = [[] for _ in range(HOURS)]
    for attempt in attempts:
        if attempt.attempted_at is not None and attempt.status != "cancelled":
            place = (datetime.fromisoformat(attempt.attempted_at) - first) // _HOUR
            if 0 <= place < HOURS:
                hours[place].append(attempt)
    return hours
