"""Groups of Norwegian companies (`konsernstruktur`): a graph of links, written as a tree.

As in the register a company with several parents stands under each of them with all that is below
it, shares have no fixed form, and `nivaa` is not always the level.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Final

from register_samples.numbers import ORGNR
from register_samples.registers import Document

_NUMBER: Final = "organisasjonsnummer"
_KINDS: Final = {"KDAT": "Konsern datter", "KMOR": "Konsern mor", "KGRL": "Konsern grunnlag"}
_DATE: Final = "2021-10-01"
#: Shares as the register writes them.
_SHARES: Final = ("100%", "100 %", "99,99%", "95,0%", "66,99%")
#: Companies of each next group; the last one is as large as the largest that is known.
_SIZES: Final = (2, 3, 5, 2, 8, 30, 2, 4, 250)
#: Subsidiaries of a company in a group.
_BREADTH: Final = 5
_PARTIAL: Final = 7
_WITHOUT_SHARE: Final = 11
#: The form of a company abroad, which has a number here.
_FOREIGN: Final = {"kode": "UTLA", "beskrivelse": "Utenlandsk enhet"}


@dataclass(frozen=True, slots=True)
class GroupLink:
    """An ownership within a group."""

    owner: str
    owned: str
    #: A share, or a text in its place.
    basis: str = "100%"
    kind: str = "KDAT"
    date: str = _DATE


@dataclass
class Groups:
    """The links of all groups, and the names and forms of their companies."""

    links: list[GroupLink] = field(default_factory=list)
    #: `navn` and `organisasjonsform` by number.
    named: dict[str, Document] = field(default_factory=dict)

    def answer(self, number: str) -> Document | None:
        """Returns the whole group of a company, the same for each of them; None without one."""
        if not any(number in (link.owner, link.owned) for link in self.links):
            return None
        top, seen = number, {number}
        while above := [one.owner for one in self.links if one.owned == top]:
            if above[0] in seen:
                break
            top = above[0]
            seen.add(top)
        below: dict[str, list[GroupLink]] = {}
        for link in self.links:
            below.setdefault(link.owner, []).append(link)
        return self._below(top, below, (top,), self._described(top))

    def _below(
        self,
        number: str,
        below: dict[str, list[GroupLink]],
        path: tuple[str, ...],
        node: Document,
    ) -> Document:
        children = [
            self._below(link.owned, below, (*path, link.owned), self._member(link, len(path)))
            # A circle ends where it begins.
            for link in (below.get(number, ()) if number not in path[:-1] else ())
        ]
        return {**node, "children": children} if children else node

    def _described(self, number: str) -> Document:
        unknown = {"navn": f"FORETAK {number}", "organisasjonsform": _FOREIGN}
        known = self.named.get(number, unknown)
        return {_NUMBER: number, **known}

    def _member(self, link: GroupLink, level: int) -> Document:
        return {
            # Wrong in one of twenty places, as in the register.
            "nivaa": level if link.kind == "KDAT" else max(level - 1, 1),
            "knytningsform": {"kode": link.kind, "beskrivelse": _KINDS[link.kind]},
            "parentNavn": self._described(link.owner)["navn"],
            "parentOrganisasjonsnummer": link.owner,
            "grunnlag": link.basis,
            "dato": link.date,
            **self._described(link.owned),
        }


#: The group of the showcase: its first company above, a partial stake, a link without a share,
#: and a company abroad.
_SHOWCASE: Final = (
    GroupLink("310345679", "310345806", "99,99%"),
    GroupLink("310345806", "310345784", "33,33%", "KGRL"),
    GroupLink("310345679", "310345784", "Indirekte mor", "KMOR"),
    GroupLink("310345679", ORGNR.number(ORGNR.capacity - 1), "95,0%"),
)
_ABROAD: Final = "PRØVEFABRIKKEN SVERIGE AB"


def groups_of(entities: Iterable[Document], sizes: Sequence[int] = _SIZES) -> Groups:
    """Returns the groups of the entities that are in one by their flag, of these sizes in turn."""
    groups = Groups()
    free: list[str] = []
    shown = {number for link in _SHOWCASE for number in (link.owner, link.owned)}
    for entity in entities:
        number = entity[_NUMBER]
        groups.named[number] = {name: entity[name] for name in ("navn", "organisasjonsform")}
        if entity.get("erIKonsern") and number not in shown:
            free.append(number)
    if _SHOWCASE[0].owner in groups.named:
        groups.links += _SHOWCASE
        groups.named[_SHOWCASE[-1].owned] = {"navn": _ABROAD, "organisasjonsform": _FOREIGN}
    for members in _parted(free, sizes):
        groups.links += _links(members)
    return groups


def group_answers(entities: Iterable[Document]) -> Iterator[Document]:
    """Yields the answer of each group."""
    groups = groups_of(entities)
    owned = {link.owned for link in groups.links}
    for top in dict.fromkeys(link.owner for link in groups.links if link.owner not in owned):
        answer = groups.answer(top)
        if answer is not None:
            yield answer


def _parted(numbers: Sequence[str], sizes: Sequence[int]) -> Iterator[Sequence[str]]:
    left = iter(numbers)
    for size in cycle(sizes):
        members = list(islice(left, size))
        if len(members) < 2:
            return
        yield members


def _links(members: Sequence[str]) -> Iterator[GroupLink]:
    """Yields the links of a group: a tree with some further ones."""
    for place, owned in enumerate(members[1:], start=1):
        owner = members[(place - 1) // _BREADTH]
        yield GroupLink(owner, owned, _SHARES[place % len(_SHARES)])
        if place % _PARTIAL == 0 and owner != members[0]:
            yield GroupLink(members[0], owned, "1,19%", "KGRL")
        if place % _WITHOUT_SHARE == 0 and owner != members[1]:
            yield GroupLink(members[1], owned, "Indirekte mor", "KMOR")
