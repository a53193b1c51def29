"""Groups of Norwegian companies: the links of an answer, which is a graph written as a tree.

A company with several parents stands under each of them, with all that is below it. Each company
and each link counts once. The register's `nivaa` is not read: it is wrong in some answers, and the
tree has the depth.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from common.contracts.company import CompanyKey, Country, GroupOwner, OwnerRole, Share
from ingest.records.fields import Day, Document, Text, each_once, read_document
from ingest.records.records import GroupRecord, Raw, RecordRejected
from ingest.registers.brreg.documents import Coded, OrganisationNumber
from register_store.documents import dump_all

#: The name of the source, which each link carries.
SOURCE: Final = "no-konsern"

#: The role of the upper company by `knytningsform`: in its daughter, in the parent of a sub-group,
#: and in a company of which it has a part.
_ROLES: Final = {
    "KDAT": OwnerRole.PARENT_COMPANY,
    "KMOR": OwnerRole.PARENT_COMPANY,
    "KGRL": OwnerRole.SHAREHOLDER,
}
_PERCENTAGE: Final = re.compile(r"\s*(\d{1,3}(?:[.,]\d{1,10})?)\s*%\s*")
_ALL: Final = Decimal(100)

#: Maximum places in an answer, levels, and companies. The largest known group has 250 companies on
#: five levels.
MAX_PLACES: Final = 50_000
MAX_DEPTH: Final = 100
MAX_MEMBERS: Final = 5_000

_CHILDREN: Final = "children"
_LINK: Final = f"{_CHILDREN}.knytningsform"
_NOT_IN_A_GROUP: Final = 404


class Member(Document):
    """A company in one of its places in a group, with its link to the one above."""

    #: A foreign company may have none.
    organisasjonsnummer: OrganisationNumber | None = None
    navn: Text = None
    knytningsform: Coded | None = None
    #: A percentage, or a text such as `Indirekte mor`.
    grunnlag: Text = None
    dato: Day = None


class _Place(NamedTuple):
    member: Member
    above: Member | None


def group_record(raw: Raw, _today: date) -> GroupRecord:
    """Returns the group of an answer; with `status` 404, that its company is in none.

    Raises RecordRejected, also for a group over the limits.
    """
    if raw.get("status") == _NOT_IN_A_GROUP:
        key = CompanyKey(Country.NO, _number(read_document(Member, raw)))
        return GroupRecord(key, (key,), {})
    if "status" in raw:
        raise RecordRejected("status: an answer that is neither a group nor 404")
    if not raw.get(_CHILDREN):
        raise RecordRejected(f"{_CHILDREN}: missing")
    odd: list[str] = []
    members: dict[CompanyKey, None] = {}
    links: dict[CompanyKey, dict[GroupOwner, None]] = {}
    for place in _places(raw, odd):
        if place.member.organisasjonsnummer is None:
            continue
        key = CompanyKey(Country.NO, place.member.organisasjonsnummer)
        members[key] = None
        if len(members) > MAX_MEMBERS:
            raise RecordRejected(f"more than {MAX_MEMBERS:,} companies")
        if place.above is not None and (owner := _owner(place.above, place.member, odd)):
            links.setdefault(key, {})[owner] = None
    return GroupRecord(
        next(iter(members)),
        tuple(members),
        {owned: _listed(owners) for owned, owners in links.items()},
        odd=each_once(odd),
    )


def _places(raw: Raw, odd: list[str]) -> Iterator[_Place]:
    """Yields each place from the top down; the numbers of levels do not matter."""
    root = _read(raw, odd, "")
    _number(root)
    yield _Place(root, None)
    count, level = 1, [(root, raw)]
    for _ in range(MAX_DEPTH):
        below = list[tuple[Member, Raw]]()
        for above, node in level:
            for child in _children(node):
                count += 1
                if count > MAX_PLACES:
                    raise RecordRejected(f"more than {MAX_PLACES:,} places of companies")
                member = _read(child, odd, f"{_CHILDREN}.")
                yield _Place(member, above)
                below.append((member, child))
        if not below:
            return
        level = below
    raise RecordRejected(f"more than {MAX_DEPTH} levels")


def _children(node: Raw) -> Iterator[Mapping[str, Any]]:
    listed = node.get(_CHILDREN) or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise RecordRejected(f"{_CHILDREN}: not a list of objects")
    yield from listed


def _read(node: Raw, odd: list[str], path: str) -> Member:
    member = read_document(Member, {name: node[name] for name in node if name != _CHILDREN})
    odd += (f"{path}{name}" for name in member.odd)
    if member.organisasjonsnummer is None:
        odd.append(f"{path}organisasjonsnummer")
    return member


def _number(member: Member) -> str:
    if member.organisasjonsnummer is None:
        raise RecordRejected("organisasjonsnummer: missing")
    return member.organisasjonsnummer


def _owner(above: Member, owned: Member, odd: list[str]) -> GroupOwner | None:
    """Returns the link to the company above; None for a company under itself."""
    vat, kind = above.organisasjonsnummer, owned.knytningsform
    name = above.navn or vat
    if name is None or (vat is not None and vat == owned.organisasjonsnummer):
        odd.append(_CHILDREN)
        return None
    code, word = (kind.kode, kind.beskrivelse or kind.kode) if kind else (None, None)
    if code not in _ROLES:
        odd.append(_LINK)
    share = _share(owned.grunnlag)
    # A text in place of a share is said with the kind of the link.
    said = None if share else owned.grunnlag
    return GroupOwner(
        name=name,
        type="company" if vat else "other",
        vat=vat,
        role=_ROLES.get(code or ""),
        role_text=": ".join(filter(None, (word, said))) or None,
        share=share,
        since=owned.dato,
        source=SOURCE,
    )


def _share(text: str | None) -> Share | None:
    """Returns the exact share of `100%`, `100 %` or `99,99%`; None for any other text."""
    found = _PERCENTAGE.fullmatch(text or "")
    percentage = Decimal(found[1].replace(",", ".")) if found else Decimal(0)
    if not 0 < percentage <= _ALL:
        return None
    exact = f"{percentage.normalize():f}"
    return Share(min=exact, max=exact)


def _listed(owners: Iterable[GroupOwner]) -> bytes:
    """Returns the owners of a company as a JSON list, the larger shares first."""
    ordered: list[GroupOwner] = sorted(owners, key=_order)
    return dump_all(ordered)


def _order(owner: GroupOwner) -> tuple[Decimal, str, str, str]:
    """Returns the place of an owner, which does not depend on its place in the answer."""
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.vat or owner.name, owner.role or "", owner.since or ""
