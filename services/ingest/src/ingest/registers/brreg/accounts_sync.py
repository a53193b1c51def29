"""The source no-regnskap: Regnskapsregisteret is asked for each company, a queue at a pace.

The register has no feed of accounts. A company is asked when the year of its last accounts changes
in its own record, until that year is there, and again after months, since corrections change no
year. All companies with a year are compared with the queue from time to time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from zlib import crc32

import structlog
from pydantic import AnyHttpUrl, Field

from common.contracts.accounts import AccountsState
from common.contracts.company import CompanyKey, Country
from common.runtime.settings import Duration, duration
from ingest.changes.accounts import ApplyAccounts, FiledAccounts
from ingest.changes.states import Verdict
from ingest.changes.stored_accounts import StoredChecks
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import (
    Answer,
    Call,
    RegisterClient,
    RegisterUnavailable,
)
from ingest.loading.accounts import waits_for
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position, Stores, is_due, utc_now
from ingest.records.records import OutOfScope, Raw, Record, RecordRejected
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg.annual_accounts import (
    TooManyRequests,
    annual_accounts,
    decoded,
    number_of,
)
from ingest.registers.brreg.sync import NO_ENTITIES
from ingest.settings import HttpsRegisterUrl, RegisterSettings
from register_store.accounts import SOURCES as ACCOUNTS_SOURCES
from register_store.accounts import AccountsCheck

log = structlog.get_logger()

_DEFAULT_URL: Final = "https://data.brreg.no/regnskapsregisteret/regnskap"


class BrregAccountsSettings(RegisterSettings):
    """The settings of Norway's annual accounts."""

    brreg_accounts_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl(_DEFAULT_URL), description="the Norwegian register of annual accounts"
    )
    brreg_accounts_rate: float = Field(
        default=5, gt=0, le=1000, description="requests for annual accounts per second"
    )
    brreg_accounts_reread: Duration = duration(
        "P90D", "time after which a company's accounts are read again, for corrections"
    )


def _no_record(_raw: Raw, _today: object) -> Record:
    return OutOfScope("annual accounts are read apart")


NO_ACCOUNTS: Final = RegisterSource(
    name=ACCOUNTS_SOURCES[Country.NO],
    part=Part.ACCOUNTS,
    country=Country.NO,
    parse=_no_record,
    key=lambda _raw: None,
)
SOURCES: Final = (NO_ACCOUNTS,)

#: The first question follows its sign by this time, since the register loads accounts hourly.
_AFTER_SIGN: Final = timedelta(hours=1)
#: Further ones follow each other by these, as long as the wanted year is not there.
_WAITS: Final = tuple(timedelta(hours=hours) for hours in (5, 18, 48, 96, 168))
#: An answer with status 500 is a fact after so many further questions, whatever its text.
_FAULT_WAITS: Final = tuple(timedelta(hours=hours) for hours in (1, 6, 17))
#: An answer has some kilobytes, and comes in a second.
_MAX_ANSWER, _MAX_WAIT = 4 << 20, timedelta(minutes=1)
#: Companies that are asked before the answers are stored.
_BATCH: Final = 50
#: So many companies that are all answered with 500 are a fault of the register.
_ALL_FAIL: Final = 10
#: The history is read from so long before the last pass: a transaction ends after its time.
_OVERLAP: Final = timedelta(minutes=15)
#: All companies are compared with the queue at this interval.
_COMPARED_EVERY: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a company is asked again; pure."""

    reread: timedelta

    def after(
        self, check: AccountsCheck, filed: FiledAccounts | None, at: datetime, *, status: int
    ) -> AccountsCheck:
        """Returns what is known of a company after an answer; one without `filed` is unreadable."""
        if filed is None or status == 500:
            return self._failed(check, at, is_final=status == 500)
        years = {one.period.end[:4] for one in filed.accounts}
        state = AccountsState.OK if years else AccountsState.NONE
        done = replace(check, state=state, checked_at=at, tries=0)
        if check.wanted in years or (years and check.wanted is None):
            return replace(done, next_at=self._reread(check.company, at))
        if check.tries < len(_WAITS):
            return replace(done, next_at=at + _WAITS[check.tries], tries=check.tries + 1)
        # Of a company without accounts only another year is a sign.
        return replace(done, next_at=self._reread(check.company, at) if years else None)

    def _failed(self, check: AccountsCheck, at: datetime, *, is_final: bool) -> AccountsCheck:
        if check.tries < len(_FAULT_WAITS):
            next_at = at + _FAULT_WAITS[check.tries]
            return replace(check, checked_at=at, next_at=next_at, tries=check.tries + 1)
        done = replace(check, checked_at=at, next_at=None, tries=0)
        if is_final:
            return replace(done, state=AccountsState.UNAVAILABLE)
        return replace(done, next_at=self._reread(check.company, at))

    def _reread(self, company: CompanyKey, at: datetime) -> datetime:
        """Spreads what a first load asked within a day over a sixth of the time."""
        share = 1 - crc32(company.encode()) % 1000 / 6000
        return at + self.reread * share


def of_answer(key: CompanyKey, body: bytes, *, base: str, tally: Tally) -> FiledAccounts | None:
    """Returns the accounts of an answer; an unreadable element is noted and passed.

    None if nothing of the answer is readable, which is no fact about the company.

    Raises RegisterUnavailable if the answer asks for fewer requests.
    """
    found = []
    try:
        elements: Sequence[Any] = decoded(body)
    except TooManyRequests:
        raise RegisterUnavailable("too many requests", retry_after=timedelta(minutes=1)) from None
    except RecordRejected as refusal:
        _refuse(key, str(refusal), tally)
        return None
    for number, one in enumerate(elements):
        try:
            if not isinstance(one, dict) or number_of(one) != key.number:
                raise RecordRejected("accounts of another company, or none")
            found.append(annual_accounts(one, base=base))
        except RecordRejected as refusal:
            _refuse(key, f"{number}: {refusal}", tally)
    return None if elements and not found else FiledAccounts(key, found)


def _refuse(key: CompanyKey, reason: str, tally: Tally) -> None:
    tally.refused(reason)
    log.warning("accounts.unreadable", company=key, reason=reason)


@dataclass(frozen=True, slots=True)
class SyncNorwegianAccounts:
    """Asks for the accounts of the companies whose turn it is."""

    client: RegisterClient
    base: str
    checks: StoredChecks
    apply: ApplyAccounts
    stores: Stores
    schedule: Schedule
    #: Seconds between two requests.
    pace: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: new signs, and the companies that are due.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        name, begun_at = NO_ACCOUNTS.name, self.stores.now()
        if unstored := await waits_for(NO_ENTITIES.name, self.stores, source=name):
            return unstored
        cursor = await self.stores.cursors.read(name)
        if cursor is None:
            # A first load that was killed begins here again; those that were asked are not due.
            await self.stores.states.begin(name, at=begun_at)
            await self._compare(begun_at)
            await self._drain(begun_at, tally, publish_events=False)
            counts = {"read": tally.read}
            await self.stores.states.finish(name, at=self.stores.now(), counts=counts)
            cursor = Cursor(Position(begun_at), until=begun_at, reconciled_at=begun_at)
        elif is_due(cursor.reconciled_at, _COMPARED_EVERY, begun_at):
            await self._compare(begun_at)
            cursor = replace(cursor, reconciled_at=begun_at)
        await self._drain(cursor.position.at, tally, publish_events=True)
        done_at = self.stores.now()
        moved = replace(cursor, position=Position(done_at), until=done_at)
        return await self.stores.cursors.move(name, moved)

    async def _compare(self, at: datetime) -> None:
        """Has all companies asked whose year the queue does not know."""
        async for years in self.checks.years(Country.NO):
            left_out = {
                each.company
                for each in years
                if each.is_sole_proprietor and not self.apply.sole_proprietors
            }
            wanted = {each.company: each.year for each in years if each.company not in left_out}
            await self.checks.want(wanted, at)
            await self.checks.leave_out(left_out, at)

    async def _drain(self, since: datetime, tally: Tally, *, publish_events: bool) -> None:
        """Asks until nothing is due; what changes meanwhile is seen too."""
        while True:
            now = self.stores.now()
            changed = await self.checks.changed(Country.NO, since - _OVERLAP)
            await self.checks.want(changed, now + _AFTER_SIGN)
            since = now
            due = await self.checks.due(Country.NO, now, _BATCH)
            if not due:
                return
            await self._ask(due, tally, publish_events=publish_events)

    async def _ask(
        self, due: Sequence[AccountsCheck], tally: Tally, *, publish_events: bool
    ) -> None:
        at = self.stores.now()
        answers = [await self._one(check.company) for check in due]
        if len(due) >= _ALL_FAIL and all(answer.status == 500 for answer in answers):
            await self._check_answers()
        filed = []
        for check, answer in zip(due, answers, strict=True):
            tally.read += 1
            body = answer.content if answer.status == 200 else b"[]"
            told = of_answer(check.company, body, base=self.base, tally=tally)
            known = self.schedule.after(check, told, at, status=answer.status)
            accounts = () if told is None else told.accounts
            filed.append(FiledAccounts(check.company, accounts, known))
        verdicts = await self.apply(filed, publish_events=publish_events)
        tally.results.update(verdict.value for verdict in verdicts)
        for check, verdict in zip(due, verdicts, strict=True):
            if verdict in (Verdict.REMOVED, Verdict.UNKNOWN):
                await self.checks.forget(check.company)

    async def _check_answers(self) -> None:
        """Raises RegisterUnavailable if no company is answered: that is no fact about any."""
        other = await self.checks.answering(Country.NO)
        if other is None or (await self._one(other)).status != 200:
            raise RegisterUnavailable("status 500 for every company")

    async def _one(self, company: CompanyKey) -> Answer:
        # A number that the register refuses has no accounts.
        accepted = (200, 400, 404, 500)
        url = self.client.url(company.number)
        headers = {"Accept": "application/json"}
        call = Call("GET", url, headers=headers, accepted=accepted)
        asking = self.client.fetch(call, limit=_MAX_ANSWER, timeout=_MAX_WAIT)
        answer, _ = await asyncio.gather(asking, self.sleep(self.pace))
        return answer


def follow(
    _source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncNorwegianAccounts:
    """Returns the pass over the companies whose accounts are due."""
    settings = dependencies.settings_of(BrregAccountsSettings)
    return SyncNorwegianAccounts(
        client=dependencies.client_of(settings.brreg_accounts_url, "brreg-accounts"),
        base=str(settings.brreg_accounts_url).rstrip("/"),
        checks=StoredChecks(dependencies.database),
        apply=dependencies.apply_accounts,
        stores=dependencies.stores,
        schedule=Schedule(settings.brreg_accounts_reread),
        pace=1 / settings.brreg_accounts_rate,
    )


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """Reads lines of a file: the elements of an answer, or a number with a status."""

    now: Callable[[], datetime] = utc_now
    base: str = _DEFAULT_URL
    schedule: Schedule = Schedule(timedelta(days=90))

    async def __call__(self, raw: Raw) -> FiledAccounts:
        """Returns what a record tells of its company; raises RecordRejected."""
        number = raw.get("organisasjonsnummer") if "status" in raw else number_of(raw)
        if not isinstance(number, str) or not number.isdecimal():
            raise RecordRejected("no organisasjonsnummer")
        key, at = CompanyKey(Country.NO, number), self.now()
        if "status" in raw:
            states = {404: AccountsState.NONE, 500: AccountsState.UNAVAILABLE}
            state = states.get(raw["status"]) if isinstance(raw["status"], int) else None
            if state is None:
                raise RecordRejected("status: neither 404 nor 500")
            return FiledAccounts(key, (), AccountsCheck(key, state, at))
        accounts = annual_accounts(raw, base=self.base)
        check = AccountsCheck(key, AccountsState.UNKNOWN, wanted=accounts.period.end[:4])
        filed = FiledAccounts(key, (accounts,))
        return replace(filed, check=self.schedule.after(check, filed, at, status=200))


def from_files(documents: object) -> ReadAnswers:
    """Returns the reader of files of answers; raises ValueError for a folder of documents."""
    if documents is not None:
        raise ValueError(f"--documents: {NO_ACCOUNTS} has none")
    return ReadAnswers()
