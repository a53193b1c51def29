"""Owners, roles, founders and the parent from the participants (`deltagerRelation`) of a company.

Owners are the legal owners in the register of owners, and partners with full liability. Beneficial
owners are omitted, since their register is not public any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from ingest.records.records import each_holder, in_order
from ingest.registers.cvr.codes import PARTNERS, REGISTER_OF_OWNERS, Kind
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
#: The fields of entries that they tell, without which a stint goes on.
_BESIDE: Final[Mapping[type, Mapping[str, None]]] = {
    Owner: dict.fromkeys(("reported_on", "share_class", "conditions", "contribution", "country")),
    Role: dict.fromkeys(("elected_by", "elected_by_text")),
}
_ATTRIBUTES: Final = "deltagerRelation.organisationer.medlemsData.attributter"
#: The attributes that have periods.
_OWNED: Final = frozenset({_SHARE, _VOTES})
_FUNCTIONS: Final = frozenset({_FUNCTION})
_HELD: Final = _OWNED | _FUNCTIONS

Entry = TypeVar("Entry", Owner, Role)


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


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants of a company, with the code of its legal form."""

    memberships: Sequence[Membership]
    form: str | None
    as_of: AsOf
    #: Receives the paths of odd values and unknown roles.
    odd: list[str]

    @classmethod
    def of(
        cls, relations: Sequence[Relation], form: str | None, as_of: AsOf, odd: list[str]
    ) -> Self:
        """Returns the participants that the register names."""
        return cls(memberships_of(relations, as_of), form, as_of, odd)

    def owners(self) -> tuple[Owner, ...]:
        """Returns the current owners by share, largest first, independent of the document."""
        return owners_in_order(self._each(self._owner))

    def roles(self) -> tuple[Role, ...]:
        """Returns the current members of bodies, the auditors, and others with a role."""
        return in_order(self._each(self._role))

    def _each(self, entry_of: Callable[[Membership], Entry | None]) -> tuple[Entry, ...]:
        """Returns the entry of each holder once."""
        found = ((one.identity, entry_of(one)) for one in self.memberships)
        return each_holder((who, entry) for who, entry in found if entry is not None)

    def may_read_otherwise(self, owners: Sequence[Owner], roles: Sequence[Role]) -> bool:
        """Returns False where `read_before` surely gives the same."""
        return (
            len({*owners}) < len(owners)
            or len({*roles}) < len(roles)
            or any(owner.share is None and owner.votes is not None for owner in owners)
            or any(": " in (role.role_text or "") for role in roles)
            or any(
                len(given.vaerdier) > 1 and given.type in _HELD
                for one in self.memberships
                for given in one.member.attributter
            )
            or any(len(one.organisation.medlems_data) > 1 for one in self.memberships)
        )

    def read_before(self) -> Iterator[Owner | Role]:
        """Yields owners and roles as release 1.1 read them (`earlier`)."""
        for one in self.memberships:
            if one.kind is Kind.REGISTER and self._is_owner_register(one):
                held, votes = self._value(one, _SHARE), self._value(one, _VOTES)
                if held is not None:
                    owner = self._legal_owner(one, held, votes, self.as_of.today, [])
                    yield owner.model_copy(update={"since": held.since})
            elif (function := self._function(one)) is not None:
                word = function.vaerdi
                if one.kind in (Kind.PARTNERS, Kind.BODY) and one.is_partner(word or ""):
                    owner = self._partner(one, function)
                    yield owner.model_copy(update={"since": function.since})
                elif role := self._role_of(one, function, []):
                    yield role.model_copy(update={"since": function.since, "role_text": word})

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
                one.holder.vat
                for one in self.memberships
                if one.kind is Kind.PARENT and one.holder.vat and self._function(one)
            ),
            None,
        )

    def _has_former(self, persons_since: str, *, owners: bool) -> bool:
        """Returns True if the list may have a former holder: a cheap look before all are read."""
        today = self.as_of.today
        for one in self.memberships:
            types = (_OWNED if one.kind is Kind.REGISTER else _FUNCTIONS) if owners else _FUNCTIONS
            since = "" if one.holder.type == "company" else persons_since
            for given in one.member.attributter:
                for value in given.vaerdier if given.type in types else ():
                    period = value.periode
                    until = None if period is None else period.gyldig_til
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
        if not values or not self._is_owner_register(membership):
            return
        ends = (day_after(one.until) for one in values if one.until is not None)
        days = sorted({*(one.since or "" for one in values), *filter(None, ends)})
        for day, following in zip(days, [*days[1:], None], strict=True):
            held, voting = held_on(shares, day), held_on(votes, day)
            if day and (held or voting) and day <= self.as_of.today:
                until = None if following is None else day_before(following)
                last = min(until or self.as_of.today, self.as_of.today)
                yield Stint(day, until, self._legal_owner(membership, held, voting, last, []))

    def _role(self, membership: Membership) -> Role | None:
        function = self._function(membership)
        return None if function is None else self._role_of(membership, function, self.odd)

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
        code = role_code(membership.kind, fold_word(body or ""), fold_word(word), odd)
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

    def _is_owner_register(self, membership: Membership) -> bool:
        return any(
            fold_word(name.navn or "") == REGISTER_OF_OWNERS
            for name in membership.organisation.organisations_navn
        )

    def _owner(self, membership: Membership) -> Owner | None:
        if membership.kind is Kind.REGISTER:
            if not self._is_owner_register(membership):
                return None
            held = self._value(membership, _SHARE)
            votes = self._value(membership, _VOTES)
            if held is None and votes is None:
                return None
            return self._legal_owner(membership, held, votes, self.as_of.today, self.odd)
        if membership.kind not in (Kind.PARTNERS, Kind.BODY):
            return None
        function = self._function(membership)
        if function is None or not membership.is_partner(function.vaerdi or ""):
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

    def _function(self, membership: Membership) -> AttributeValue | None:
        return self._value(membership, _FUNCTION)

    def _value(self, membership: Membership, attribute: str) -> AttributeValue | None:
        """Returns the current value of an attribute."""
        values = membership.values(attribute)
        return next((value for value in self.as_of.current(values) if value.vaerdi), None)


def _joined(given: Iterable[tuple[str | int, Iterable[Stint]]]) -> Iterator[Stint]:
    """Yields the stints of each holder; those with one entry and no day between them are one.

    The attributes of an entry are those of the last of them.
    """
    found: dict[tuple[str | int, Owner | Role], list[Stint]] = {}
    for identity, stints in given:
        for stint in stints:
            entry = stint.entry.model_copy(update=_BESIDE[type(stint.entry)])
            found.setdefault((identity, entry), []).append(stint)
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
    """Returns owners by share, largest first."""
    return tuple(sorted(owners, key=_order))


def _order(owner: Owner) -> tuple[Decimal, str, str, str, str]:
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.name, owner.vat or "", owner.since or "", owner.share_class or ""
