"""Owners, roles, founders and the parent from the participants (`deltagerRelation`) of a company.

Owners are the legal owners in the register of owners, and partners with full liability. Beneficial
owners are omitted, since their register is not public any more.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self, TypeVar

from common.contracts.company import (
    Amount,
    ElectedBy,
    Founder,
    Owner,
    OwnerRole,
    Role,
    Share,
)
from ingest.records.fields import amount_of, decimal_of, iso_day
from ingest.records.records import each_holder
from ingest.registers.cvr.codes import OTHER_REGISTERS, PARTNERS, REGISTER_OF_OWNERS, Kind
from ingest.registers.cvr.dated_values import (
    AsOf,
    day_after,
    day_before,
    fold_word,
    follows,
    held_on,
    unbroken_since,
)
from ingest.registers.cvr.memberships import (
    AttributeValue,
    Membership,
    Relation,
    memberships_of,
)
from ingest.registers.cvr.roles import role_code, text_in

#: The register gives a share as the lower bound of its class, in percent.
CLASSES: Final = ("0", "5", "10", "15", "20", "25", "33.33", "50", "66.67", "90", "100")

_WHOLE: Final = 100
#: More than the shares that occur often.
_MAX_SHARES: Final = 4096

#: The forms whose fully liable partners are general partners: K/S, and P/S.
_LIMITED_PARTNERSHIPS: Final = frozenset({"40", "70"})

_SHARE: Final = "EJERANDEL_PROCENT"
_VOTES: Final = "EJERANDEL_STEMMERET_PROCENT"
_FUNCTION: Final = "FUNKTION"
#: Attributes of a membership next to the share: the electors of the member, the day an owner was
#: reported, the class and the conditions of the shares, and a general partner's contribution.
_ELECTION: Final = "VALGFORM"
_REPORTED: Final = "EJERANDEL_MEDDELELSE_DATO"
_CLASS: Final = "EJERANDEL_KAPITALKLASSE"
_CONDITIONS: Final = "SÆRLIGE_EJERFORHOLD"
_CONTRIBUTION: Final = "KOMPLEMENTAR_INDSKUDSKAPITAL"
_CONTRIBUTED_IN: Final = "KOMPLEMENTAR_INDSKUDSVALUTA"
#: The electors of a member, by a part of the folded word.
_ELECTED_BY: Final = {
    "MEDARBEJDER": ElectedBy.EMPLOYEES,
    "GENERALFORSAMLING": ElectedBy.GENERAL_MEETING,
}
#: The fields of entries that came with release 1.2. A stint goes on when they change.
BESIDE: Final[Mapping[type, Mapping[str, None]]] = {
    Owner: dict.fromkeys(("reported_on", "share_class", "conditions", "contribution", "country")),
    Role: dict.fromkeys(("elected_by", "elected_by_text")),
}
_ATTRIBUTES: Final = "deltagerRelation.organisationer.medlemsData.attributter"
#: The attributes that have periods.
_OWNED: Final = frozenset({_SHARE, _VOTES})
_FUNCTIONS: Final = frozenset({_FUNCTION})
_KNOWN_REGISTERS: Final = frozenset((REGISTER_OF_OWNERS, *OTHER_REGISTERS))


class Change(NamedTuple):
    """The holders that left on a day and those that came."""

    day: str
    gone: list[dict[str, Any]]
    come: list[dict[str, Any]]


class Stint(NamedTuple):
    """An entry of a list over a time: from its first day to its last; None for an open end."""

    since: str
    until: str | None
    entry: Owner | Role


class Present(NamedTuple):
    """A membership with its current function, or its current share and votes."""

    membership: Membership
    function: AttributeValue | None
    held: AttributeValue | None = None
    votes: AttributeValue | None = None


def _present(memberships: Iterable[Membership], as_of: AsOf) -> Iterator[Present]:
    """Yields the memberships that have such a value."""
    for one in memberships:
        function, held, votes = one.current(_FUNCTION, as_of), None, None
        if one.kind is Kind.REGISTER and _is_owner_register(one):
            held, votes = one.current(_SHARE, as_of), one.current(_VOTES, as_of)
        if function or held or votes:
            yield Present(one, function, held, votes)


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants of a company, with the code of its legal form."""

    memberships: Sequence[Membership]
    present: Sequence[Present]
    form: str | None
    as_of: AsOf
    #: Receives the paths of odd values and unknown roles.
    odd: list[str]

    @classmethod
    def of(
        cls, relations: Sequence[Relation], form: str | None, as_of: AsOf, odd: list[str]
    ) -> Self:
        """Returns the participants that the register names."""
        memberships = memberships_of(relations, as_of)
        if any(map(_is_unknown_register, memberships)):
            odd.append("deltagerRelation.organisationer.organisationsNavn")
        return cls(memberships, list(_present(memberships, as_of)), form, as_of, odd)

    def owners(self) -> Sequence[tuple[Present, Owner]]:
        """Returns the current owners, each with the membership that tells of it."""
        found = ((one, self._owner(one)) for one in self.present)
        return [(one, entry) for one, entry in found if entry is not None]

    def roles(self) -> Sequence[tuple[Present, Role]]:
        """Returns the current members of bodies, the auditors, and others with a role."""
        found = ((one, self._role(one)) for one in self.present)
        return [(one, entry) for one, entry in found if entry is not None]

    def founders(self) -> tuple[Founder, ...]:
        """Returns the Danish companies among the founders, by name."""
        found = {
            Founder(name=one.holder.name, vat=one.holder.vat)
            for one in self.memberships
            if one.kind is Kind.FOUNDERS and one.holder.type == "company"
        }
        return tuple(sorted(found, key=lambda founder: (founder.name, founder.vat or "")))

    def parent(self) -> str | None:
        """Returns the number of the company of which this one is a branch."""
        return next(
            (
                membership.holder.vat
                for membership, function, *_ in self.present
                if membership.kind is Kind.PARENT and membership.holder.vat and function
            ),
            None,
        )

    def _has_former(self, persons_since: str, *, owners: bool) -> bool:
        """Returns True if the list may have a former holder: a cheap look before all are read."""
        today = self.as_of.today
        for one in self.memberships:
            types = _OWNED if owners and one.kind is Kind.REGISTER else _FUNCTIONS
            since = "" if one.holder.type == "company" else persons_since
            for type_, values in one.attributes.items():
                if type_ in types:
                    for value in values:
                        until = value.until
                        if until is not None and since <= until < today:
                            return True
        return False

    def past_owners(self, persons_since: str) -> Iterator[Change]:
        """Yields how the owners changed, if one has left; see `_changes`."""
        if self._has_former(persons_since, owners=True):
            yield from self._changes(self._owner_stints, persons_since)

    def past_roles(self, persons_since: str) -> Iterator[Change]:
        """Yields how the members of bodies changed, if one has left; see `_changes`."""
        if self._has_former(persons_since, owners=False):
            yield from self._changes(self._role_stints, persons_since)

    def _changes(
        self, stints_of: Callable[[Membership], Iterable[Stint]], persons_since: str
    ) -> Iterator[Change]:
        """Yields the changes of a list day by day; persons who left before a day are left out."""
        days: dict[str, Change] = {}
        has_former = False
        for stint in _joined((one.identity, stints_of(one)) for one in self.memberships):
            left = stint.until is not None and stint.until < self.as_of.today
            entry = stint.entry
            if left and entry.type != "company" and (stint.until or "") < persons_since:
                continue
            has_former = has_former or left
            fields = vars(entry)
            days.setdefault(stint.since, Change(stint.since, [], [])).come.append(fields)
            if left and (after := day_after(stint.until or "")):
                days.setdefault(after, Change(after, [], [])).gone.append(fields)
        if has_former:
            yield from (days[day] for day in sorted(days))

    def _role_stints(self, membership: Membership) -> Iterator[Stint]:
        values = membership.values(_FUNCTION)
        for value in values:
            if value.since is None or not value.vaerdi or not self.as_of.has_begun(value):
                continue
            role = self._role_of(membership, value, [])
            if role is not None:
                yield Stint(value.since, value.until, role)

    def _owner_stints(self, membership: Membership) -> Iterator[Stint]:
        if membership.kind is Kind.REGISTER:
            yield from self._legal_stints(membership)
        elif membership.kind in (Kind.PARTNERS, Kind.BODY):
            for value in membership.values(_FUNCTION):
                if value.since is None or not value.vaerdi or not self.as_of.has_begun(value):
                    continue
                if membership.is_partner(value.vaerdi):
                    yield Stint(value.since, value.until, self._partner(membership, value))

    def _legal_stints(self, membership: Membership) -> Iterator[Stint]:
        """Yields the legal ownership in its parts of equal share and votes."""
        shares, votes = (
            [one for one in membership.values(each) if one.vaerdi and self.as_of.has_begun(one)]
            for each in (_SHARE, _VOTES)
        )
        values = [*shares, *votes]
        if not values or not _is_owner_register(membership):
            return
        ends = (day_after(one.until) for one in values if one.until is not None)
        days = sorted({*(one.since or "" for one in values), *filter(None, ends)})
        for day, following in zip(days, [*days[1:], None], strict=True):
            held, voting = held_on(shares, day), held_on(votes, day)
            if day and (held or voting) and day <= self.as_of.today:
                until = None if following is None else day_before(following)
                last = min(until or self.as_of.today, self.as_of.today)
                yield Stint(day, until, self._legal_owner(membership, held, voting, last, []))

    def _role(self, one: Present) -> Role | None:
        if one.function is None:
            return None
        return self._role_of(one.membership, one.function, self.odd)

    def _role_of(
        self, membership: Membership, function: AttributeValue, odd: list[str]
    ) -> Role | None:
        word = function.vaerdi or ""
        if membership.kind in (Kind.REGISTER, Kind.PARTNERS, Kind.FOUNDERS):
            return None
        # A parent in the register is shown as such.
        is_parent = membership.kind is Kind.PARENT and membership.holder.vat is not None
        if is_parent or membership.is_partner(word):
            return None
        body = self._body(membership, function)
        code, strange = role_code(membership.kind, fold_word(body or ""), fold_word(word))
        if strange is not None:
            odd.append(strange)
        values = membership.all_values(_FUNCTION)
        if len(values) > 1:
            folded = fold_word(word)
            values = [one for one in values if fold_word(one.vaerdi or "") == folded]
        election = membership.told(self.as_of, _ELECTION, self._last_day(function))
        return Role(
            role=code,
            role_text=text_in(body, word) if membership.kind is Kind.BODY else word,
            since=unbroken_since(values, function),
            elected_by=None if election is None else _elected_by(election),
            elected_by_text=election,
            **membership.holder._asdict(),
        )

    def _last_day(self, value: AttributeValue) -> str:
        """Returns the last day of a value that has begun; today if it is current."""
        return min(value.until or self.as_of.today, self.as_of.today)

    def _body(self, membership: Membership, function: AttributeValue) -> str | None:
        """Returns the name that the organisation had while the function was held."""
        names = membership.organisation.organisations_navn
        if len(names) > 1 and function.until is not None:
            held = [one for one in names if (one.since or "") <= function.until]
            found = max(held, key=lambda one: one.since or "", default=None)
        else:
            found = self.as_of.latest(names)
        return None if found is None else found.navn

    def _owner(self, one: Present) -> Owner | None:
        membership, function, held, votes = one
        if held or votes:
            return self._legal_owner(membership, held, votes, self.as_of.today, self.odd)
        if membership.kind not in (Kind.PARTNERS, Kind.BODY) or function is None:
            return None
        if not membership.is_partner(function.vaerdi or ""):
            return None
        return self._partner(membership, function)

    def _partner(self, membership: Membership, function: AttributeValue) -> Owner:
        word = fold_word(function.vaerdi or "")
        is_limited = self.form in _LIMITED_PARTNERSHIPS
        otherwise = OwnerRole.GENERAL_PARTNER if is_limited else OwnerRole.PARTNER
        codes = (code for start, code in PARTNERS.items() if word.startswith(start))
        return Owner(
            role=next(codes, otherwise),
            role_text=function.vaerdi,
            since=unbroken_since(membership.all_values(_FUNCTION), function),
            contribution=self._contribution(membership, self._last_day(function)),
            country=membership.country(self.as_of),
            **membership.holder._asdict(),
        )

    def _contribution(self, membership: Membership, day: str) -> Amount | None:
        """Returns what a general partner has contributed."""
        try:
            amount = amount_of(membership.told(self.as_of, _CONTRIBUTION, day))
        except ValueError:
            self.odd.append(f"{_ATTRIBUTES}.{_CONTRIBUTION}")
            return None
        if amount is None:
            return None
        return Amount(
            amount=amount, currency=membership.told(self.as_of, _CONTRIBUTED_IN, day) or "DKK"
        )

    def _legal_owner(
        self,
        membership: Membership,
        held: AttributeValue | None,
        votes: AttributeValue | None,
        day: str,
        odd: list[str],
    ) -> Owner:
        """Returns the owner of a share, of votes, or of both, since the first day of either.

        The rest is what the register tells on a day.
        """
        values = [*membership.all_values(_SHARE), *membership.all_values(_VOTES)]
        last = held or votes
        return Owner(
            role=OwnerRole.OWNER,
            role_text=REGISTER_OF_OWNERS,
            share=None if held is None else _class_of(held, _SHARE, odd),
            votes=None if votes is None else _class_of(votes, _VOTES, odd),
            since=None if last is None else unbroken_since(values, last),
            reported_on=self._reported(membership, day, odd),
            share_class=membership.told(self.as_of, _CLASS, day),
            conditions=membership.told(self.as_of, _CONDITIONS, day),
            country=membership.country(self.as_of),
            **membership.holder._asdict(),
        )

    def _reported(self, membership: Membership, day: str, odd: list[str]) -> str | None:
        """Returns the day on which the company was told of the ownership."""
        text = membership.told(self.as_of, _REPORTED, day)
        found = None if text is None else iso_day(text)
        if text is not None and found is None:
            odd.append(f"{_ATTRIBUTES}.{_REPORTED}")
        return found


def _registers(membership: Membership) -> set[str]:
    """Returns the folded names of a register of the company."""
    return {fold_word(name.navn or "") for name in membership.organisation.organisations_navn}


def _is_owner_register(membership: Membership) -> bool:
    return REGISTER_OF_OWNERS in _registers(membership)


def _is_unknown_register(membership: Membership) -> bool:
    return membership.kind is Kind.REGISTER and _KNOWN_REGISTERS.isdisjoint(_registers(membership))


def _joined(given: Iterable[tuple[str | int, Iterable[Stint]]]) -> Iterator[Stint]:
    """Yields the stints of each holder; those with one entry and no day between them are one.

    The attributes of an entry are those of the last of them.
    """
    found: dict[Hashable, list[Stint]] = {}
    for identity, stints in given:
        for stint in stints:
            found.setdefault((identity, *_told(stint.entry)), []).append(stint)
    for several in found.values():
        several.sort(key=lambda one: one.since)
        whole = several[0]
        for following in several[1:]:
            if follows(following.since, whole.until):
                until = whole.until and following.until and max(whole.until, following.until)
                whole = whole._replace(until=until, entry=following.entry)
            else:
                yield whole
                whole = following
        yield whole


def _told(entry: Owner | Role) -> Iterator[Hashable]:
    """Yields the fields of an entry without those of `BESIDE`."""
    beside = BESIDE[type(entry)]
    return (value for name, value in vars(entry).items() if name not in beside)


@lru_cache(_MAX_SHARES)
def _elected_by(words: str) -> ElectedBy:
    folded = fold_word(words)
    found = (code for part, code in _ELECTED_BY.items() if part in folded)
    return next(found, ElectedBy.OTHER)


def _class_of(value: AttributeValue, attribute: str, odd: list[str]) -> Share | None:
    """Returns the share of a value; None, and told as odd, if it is no part of a whole."""
    share = _share(value.vaerdi or "")
    if share is None:
        odd.append(f"{_ATTRIBUTES}.{attribute}")
    return share


@lru_cache(_MAX_SHARES)
def _share(text: str) -> Share | None:
    """Returns a fraction as a percentage: the bounds of its class, or else exact.

    A number above 1 is a percentage already.
    """
    try:
        given = decimal_of(text.removesuffix("%"))
    except ValueError:
        return None
    percent = given if given > 1 or text.endswith("%") else given * 100
    if not 0 <= percent <= _WHOLE:
        return None
    least = f"{percent.normalize():f}"
    if least not in CLASSES:
        return Share(min=least, max=least)
    return Share(min=least, max=CLASSES[min(CLASSES.index(least) + 1, len(CLASSES) - 1)])


def owners_in_order(owners: Iterable[Owner]) -> tuple[Owner, ...]:
    """Returns owners by share, largest first, independent of the document."""
    return tuple(sorted(owners, key=_order))


Entry = TypeVar("Entry", Owner, Role)


def of_each(found: Iterable[tuple[Present, Entry]]) -> tuple[Entry, ...]:
    """Returns the entry of each holder once."""
    return each_holder((one.membership.identity, entry) for one, entry in found)


def _order(owner: Owner) -> tuple[Decimal, str, str, str, str]:
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.name, owner.vat or "", owner.since or "", owner.share_class or ""
