"""The graph of ownership: circles, and the shares of the owners at the end of every path.

Pure rules about names and shares, for any register. Each costs time in proportion to the links;
the paths within a circle, of which there may be more than can be counted, are added up to a limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

#: From 0 to 1, the least and the most; None if unknown.
Share = tuple[Decimal, Decimal] | None

_WHOLE: Final = Decimal(1)
_NONE: Final = Decimal(0)


class Holding(NamedTuple):
    """An owner of something, and the share that it holds."""

    owner: str
    share: Share


def components(owners: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns the strongly connected components: sets of companies that own each other.

    Each follows those of its owners. `owners` has those of each company; an owner without an entry
    is part of no circle and left out.
    """
    tarjan = _Tarjan(owners)
    for company in owners:
        if company not in tarjan.places:
            tarjan.walk(company)
    return tarjan.found


@dataclass(slots=True)
class _Tarjan:
    """Tarjan's algorithm, with a stack of its own in place of recursion."""

    owners: Mapping[str, Sequence[str]]
    found: list[list[str]] = field(default_factory=list)
    #: The place in the walk of each company, and the lowest one that it leads to.
    places: dict[str, int] = field(default_factory=dict)
    lowest: dict[str, int] = field(default_factory=dict)
    #: The companies whose component is not complete, in the order of their places.
    open: dict[str, None] = field(default_factory=dict)

    def walk(self, first: str) -> None:
        """Finds the components that a company leads to, its own last."""
        stack = [(first, self._opened(first))]
        while stack:
            company, rest = stack[-1]
            for owner in rest:
                if owner in self.open:
                    self.lowest[company] = min(self.lowest[company], self.places[owner])
                elif owner in self.owners and owner not in self.places:
                    stack.append((owner, self._opened(owner)))
                    break
            else:
                stack.pop()
                if stack:
                    below = stack[-1][0]
                    self.lowest[below] = min(self.lowest[below], self.lowest[company])
                if self.lowest[company] == self.places[company]:
                    self.found.append(self._closed(company))

    def _opened(self, company: str) -> Iterator[str]:
        self.places[company] = self.lowest[company] = len(self.places)
        self.open[company] = None
        return iter(self.owners[company])

    def _closed(self, first: str) -> list[str]:
        component: list[str] = []
        while not component or component[-1] != first:
            component.append(self.open.popitem()[0])
        return component


@dataclass(slots=True)
class Shares:
    """The owners at the end of a path, with their shares; and whether paths were left out."""

    of_owner: dict[str, Share] = field(default_factory=dict)
    #: True if the paths of a circle were too many. A share behind it is then at least what the
    #: added paths come to, and at most the whole.
    is_cut: bool = False


def ultimate_shares(
    root: str,
    holdings: Mapping[str, Sequence[Holding]],
    found: Sequence[Sequence[str]],
    *,
    max_steps: int,
    check: Callable[[], None],
) -> Shares:
    """Returns the shares in `root` of the owners that have no owners themselves.

    A share is multiplied along a path, and those of several paths are added. A path has each
    company once: a circle is not followed. `found` are the components of `holdings`, `max_steps`
    bounds the paths within circles, and `check` is called now and then and may raise.
    """
    shares = Shares()
    held: dict[str, Share] = {root: (_WHOLE, _WHOLE)}
    circles = _Circles(holdings, max_steps, check)
    for component in reversed(found):
        entered = {company: held[company] for company in component if company in held}
        if len(component) > 1 and entered:
            entered = circles.shares(entered, frozenset(component))
        for company, share in entered.items():
            for owner, part in holdings[company]:
                if owner not in component:
                    totals = held if holdings.get(owner) else shares.of_owner
                    _add(totals, owner, _product(share, part))
    shares.is_cut = not circles.left
    return shares


#: Steps between two checks.
_STEPS: Final = 500


@dataclass(slots=True)
class _Circles:
    """Adds up the paths within circles, as long as steps are left."""

    holdings: Mapping[str, Sequence[Holding]]
    left: int
    check: Callable[[], None]

    def shares(self, entered: Mapping[str, Share], within: Set[str]) -> dict[str, Share]:
        """Returns the share in each company of a circle, from those at which it is entered."""
        totals: dict[str, Share] = {}
        for first, entry in entered.items():
            self._walk(first, entry, within, totals)
        return totals if self.left else self._certain(totals, within)

    def _walk(self, first: str, entry: Share, within: Set[str], totals: dict[str, Share]) -> None:
        _add(totals, first, entry)
        #: The companies of the path, with the share at each and the owners still to be followed.
        path = {first: (entry, iter(self.holdings[first]))}
        while path and self.left:
            share, rest = next(reversed(path.values()))
            for owner, part in rest:
                if owner in within and owner not in path:
                    further = _product(share, part)
                    _add(totals, owner, further)
                    path[owner] = further, iter(self.holdings[owner])
                    self._step()
                    break
            else:
                path.popitem()

    def _step(self) -> None:
        self.left -= 1
        if not self.left % _STEPS:
            self.check()

    def _certain(self, totals: Mapping[str, Share], within: Set[str]) -> dict[str, Share]:
        """Returns what holds of a circle of which some paths were not added."""
        parts = (part for one in within for owner, part in self.holdings[one] if owner in within)
        if None in totals.values() or None in parts:
            return dict.fromkeys(within)
        least = {company: share[0] for company, share in totals.items() if share is not None}
        return {company: (min(least.get(company, _NONE), _WHOLE), _WHOLE) for company in within}


def _add(totals: dict[str, Share], owner: str, share: Share) -> None:
    total = totals.get(owner, _NOTHING)
    if total is None or share is None:
        totals[owner] = None
    else:
        totals[owner] = total[0] + share[0], total[1] + share[1]


_NOTHING: Final[Share] = (_NONE, _NONE)


def _product(share: Share, part: Share) -> Share:
    if share is None or part is None:
        return None
    return share[0] * part[0], share[1] * part[1]
