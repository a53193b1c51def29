"""The owners of a company and their owners, laid out as a tree that grows to the right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from company_registry.models import Company, Owner

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
    """Gives each leaf a row, and each branch the middle of its children; returns the next row."""
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
