"""Stores annual accounts: what is given of a filing is compared with what is stored, and merged.

`ApplyAccounts` is what both sources write through:

    verdicts = await ApplyAccounts(writer, now, sole_proprietors=False)(
        [FiledAccounts(CompanyKey(Country.DK, "12345674"), read_filing(...))], publish_events=True
    )

- Everything that a filing has (both scopes, and the year before as `comparative`) comes in one
  `FiledAccounts`; what is stored of the same `source.id` and is no longer in it is deleted.
- Equal accounts are `unchanged`, whoever writes them and how often.
- A filing of a period and scope that another one had is a correction, told or not.
- The writes, the company's revision and the events are one transaction.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from common.contracts.accounts import (
    AccountsBasis,
    AccountsFigures,
    AccountsScope,
    AccountsState,
    AnnualAccounts,
)
from common.contracts.company import CompanyKey
from common.contracts.events import Change, EventType
from ingest.changes.apply import ApplyRecords
from ingest.changes.company_plans import events_of_bumps
from ingest.changes.states import ApplyContext, Plan, StoredState, Verdict
from ingest.changes.transaction import StoredRegisterWriter
from ingest.records.records import SourceVersion
from register_store.accounts import AccountsCheck, accounts_id, is_sole_proprietor
from register_store.documents import Document, dump
from register_store.events import PendingEvent

_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class FiledAccounts:
    """All accounts that one filing, or one answer about a company, tells of."""

    key: CompanyKey
    accounts: Sequence[AnnualAccounts]
    #: The stored state after it, if the register is requested company by company.
    check: AccountsCheck | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Accounts as they are stored."""

    #: Of the accounts as they were given: `correction` may have been found here.
    digest: bytes
    accounts: AnnualAccounts
    #: True unless other accounts of the same period and scope replace them.
    is_current: bool = False

    @classmethod
    def of(cls, document: Document) -> "Kept":
        """Returns stored accounts."""
        accounts = AnnualAccounts.model_validate_json(document["body"])
        return cls(document["digest"], accounts, document.get("current", False))

    def document(self, identity: str) -> Document:
        """Returns the document to store."""
        return {
            "_id": identity,
            "body": dump(self.accounts),
            "digest": self.digest,
            **({"current": True} if self.is_current else {}),
        }


#: The accounts of a company by their `_id`.
Shelf = Mapping[str, Kept]


def merged(key: CompanyKey, stored: Shelf, given: Iterable[AnnualAccounts]) -> Shelf:
    """Returns the accounts of a company after those of some filings, which are given whole."""
    filings = list(given)
    sources = {one.source.id for one in filings}
    after = {
        identity: replace(kept, is_current=False)
        for identity, kept in stored.items()
        if kept.accounts.source.id not in sources
    }
    for one in filings:
        identity = accounts_id(key, one)
        read = Kept(hashlib.sha256(dump(one)).digest()[:_BYTES], one)
        before = stored.get(identity)
        is_same = before is not None and before.digest == read.digest
        after[identity] = replace(before, is_current=False) if before and is_same else read
    return _with_order(after)


def _with_order(shelf: Shelf) -> Shelf:
    """Returns accounts of which the current ones and the corrections are marked."""
    found = dict(shelf)
    for scope in AccountsScope:
        of_scope = {k: one for k, one in found.items() if one.accounts.scope is scope}
        taken: set[str] = set()
        last: AnnualAccounts | None = None
        for identity in sorted(of_scope, key=lambda each: _order(of_scope[each].accounts)):
            accounts = of_scope[identity].accounts
            if last is not None and _is_corrected(last, accounts):
                accounts = accounts.model_copy(update={"correction": True})
            last = accounts
            found[identity] = replace(found[identity], accounts=accounts)
        for identity in sorted(
            of_scope, key=lambda each: _order(of_scope[each].accounts), reverse=True
        ):
            period = of_scope[identity].accounts.period
            # A period that was made longer begins on the same day.
            names = {f"from {period.start}", f"to {period.end}"}
            found[identity] = replace(found[identity], is_current=taken.isdisjoint(names))
            taken |= names
    return found


def _is_corrected(earlier: AnnualAccounts, later: AnnualAccounts) -> bool:
    """Returns True if a filing replaces the one before it."""
    return (
        earlier.period.end == later.period.end
        and earlier.basis is later.basis is AccountsBasis.FILED
    )


def _order(accounts: AnnualAccounts) -> tuple[str, bool, str, int, str]:
    """Returns the order of accounts: by period, and the one that replaces others after them."""
    source = accounts.source.id
    is_filed = accounts.basis is AccountsBasis.FILED
    # Running numbers grow longer.
    return accounts.period.end, is_filed, accounts.published or "", len(source), source


def published_events(stored: Shelf, after: Shelf) -> list[PendingEvent]:
    """Returns an event for each filing and scope that was not stored, the oldest period first."""
    known = {_filing(kept.accounts) for kept in stored.values()}
    new = [
        kept.accounts
        for kept in after.values()
        if kept.accounts.basis is AccountsBasis.FILED and _filing(kept.accounts) not in known
    ]
    return [
        PendingEvent(
            EventType.COMPANY_ACCOUNTS_PUBLISHED,
            tuple(_changes(accounts, [kept.accounts for kept in after.values()])),
            number=number,
            accounts=dump(accounts),
        )
        for number, accounts in enumerate(sorted(new, key=_order))
    ]


def _filing(accounts: AnnualAccounts) -> tuple[str, AccountsScope, AccountsBasis]:
    return accounts.source.id, accounts.scope, accounts.basis


def _changes(accounts: AnnualAccounts, others: Collection[AnnualAccounts]) -> Iterable[Change]:
    """Yields that a period has come, and the figures that differ from the year before.

    Of a correction they are those that it changes.
    """
    before = max(
        (
            one
            for one in others
            if one.scope is accounts.scope
            and one.basis is AccountsBasis.FILED
            and _order(one) < _order(accounts)
        ),
        key=_order,
        default=None,
    )
    if before is None or before.period.end != accounts.period.end:
        old = None if before is None else before.period.end
        yield Change(field="annual_accounts", old=old, new=accounts.period.end)
        before = _year_before(accounts, others)
    if before is None:
        return
    for name in AccountsFigures.model_fields:
        old, new = getattr(before.figures, name), getattr(accounts.figures, name)
        if old != new:
            yield Change(field=f"annual_accounts.figures.{name}", old=old, new=new)


#: Days by which the lengths of two years may differ whose figures are compared.
_SAME_LENGTH: Final = 31


def _year_before(
    accounts: AnnualAccounts, others: Collection[AnnualAccounts]
) -> AnnualAccounts | None:
    """Returns the accounts of the period before, if their figures can be compared with these."""
    start = date.fromisoformat(accounts.period.start)
    end = date.fromisoformat(accounts.period.end)
    fitting = [
        one
        for one in others
        if (one.scope, one.currency) == (accounts.scope, accounts.currency)
        and date.fromisoformat(one.period.end) == start - timedelta(days=1)
        and abs((start - date.fromisoformat(one.period.start)).days - (end - start).days)
        <= _SAME_LENGTH
    ]
    return max(fitting, key=_order, default=None)


@dataclass(frozen=True, slots=True)
class ApplyAccounts:
    """Applies the accounts of filings. Raises `Unavailable`, and Conflict as `ApplyRecords`."""

    writer: StoredRegisterWriter
    now: Callable[[], datetime]
    #: True if the accounts of sole proprietors are stored too (`SOLE_PROPRIETORS_ACCOUNTS`).
    sole_proprietors: bool = False

    async def __call__(
        self, batch: Sequence[FiledAccounts], *, publish_events: bool
    ) -> Sequence[Verdict]:
        """Returns one verdict per filing, after its accounts are stored with their events.

        The accounts of an unknown company are not stored, since it may be a person's business.
        """
        at = self.now()
        context = ApplyContext(SourceVersion(at), at, publish_events)
        apply = ApplyRecords(self.writer, self.now)
        return (await apply.through(lambda: self._plan(batch, context))).verdicts

    async def _plan(self, batch: Sequence[FiledAccounts], context: ApplyContext) -> Plan:
        given: defaultdict[CompanyKey, list[AnnualAccounts]] = defaultdict(list)
        for filed in batch:
            given[filed.key] += filed.accounts
        known = await self.writer.known(companies=given)
        stored = await self.writer.accounts.of(given)
        shelves = {
            key: {document["_id"]: Kept.of(document) for document in documents}
            for key, documents in stored.items()
        }
        refused = {key: self._refusal(key, known) for key in given}
        after = {
            key: {} if refused[key] else merged(key, shelves[key], accounts)
            for key, accounts in given.items()
        }
        return plan_accounts(batch, known, shelves, after, refused, context)

    def _refusal(self, key: CompanyKey, known: StoredState) -> Verdict | None:
        if key in known.tombstones:
            return Verdict.REMOVED
        company = known.companies.get(key)
        if company is None or company.core is None:
            return Verdict.UNKNOWN
        is_limited = bool(known.limited.get(key))
        is_refused = is_limited or not self.sole_proprietors
        if is_refused and is_sole_proprietor(key.country, company.core):
            return Verdict.LEFT_OUT
        return None


def plan_accounts(  # noqa: PLR0913 (what is stored, given and refused)
    batch: Sequence[FiledAccounts],
    known: StoredState,
    stored: Mapping[CompanyKey, Shelf],
    after: Mapping[CompanyKey, Shelf],
    refused: Mapping[CompanyKey, Verdict | None],
    context: ApplyContext,
) -> Plan:
    """Returns the transaction that makes the stored accounts those after the batch."""
    changed = [key for key in after if stored[key] != after[key]]
    bumps = known.bumps(changed)
    events = events_of_bumps(
        bumps, known, context, lambda key: published_events(stored[key], after[key])
    )
    left_out = [key for key, why in refused.items() if why is Verdict.LEFT_OUT]
    checks = [filed.check for filed in batch if filed.check and not refused[filed.key]]
    # A file may have the years of a company in any order.
    states = {check.company: check for check in sorted(checks, key=lambda one: one.wanted or "")}
    states |= {key: AccountsCheck(key, AccountsState.UNAVAILABLE, context.at) for key in left_out}
    return Plan(
        tuple(refused[filed.key] or _verdict(filed, stored, after) for filed in batch),
        bumps=bumps,
        events=events,
        is_published=context.publish_events,
        accounts=tuple(
            kept.document(identity)
            for key in changed
            for identity, kept in after[key].items()
            if stored[key].get(identity) != kept
        ),
        accounts_dropped=tuple(
            identity for key in changed for identity in stored[key] if identity not in after[key]
        ),
        accounts_states=tuple(state.document() for state in states.values()),
    )


def _verdict(
    filed: FiledAccounts,
    stored: Mapping[CompanyKey, Shelf],
    after: Mapping[CompanyKey, Shelf],
) -> Verdict:
    ids: Collection[str] = {accounts_id(filed.key, one) for one in filed.accounts}
    before = {each: stored[filed.key].get(each) for each in ids}
    if before == {each: after[filed.key].get(each) for each in ids}:
        return Verdict.UNCHANGED
    return Verdict.CHANGED if any(before.values()) else Verdict.NEW
