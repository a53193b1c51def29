"""Groups of Norwegian companies: their settings, their source, and a pass over them.

The register has no list of groups and no feed of them. A group is asked for by one of its
companies, at a pace of its own, and its answer has all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Final

from pydantic import Field

from common.contracts.company import CompanyKey, Country
from common.domain.countries import FORMATS
from common.runtime.settings import Duration, duration
from ingest.changes.states import Verdict
from ingest.changes.stored_groups import StoredGroups
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import (
    PAGE,
    Call,
    RegisterClient,
    RegisterFault,
    RegisterUnavailable,
)
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position, Stores, is_due
from ingest.records.files import encode
from ingest.records.records import (
    GroupRecord,
    RecordRejected,
    SourceVersion,
    to_milliseconds,
)
from ingest.records.source import Part, RegisterSource, digest_of, parse
from ingest.registers.brreg.groups import SOURCE, group_record
from ingest.registers.brreg.sync import NO_ENTITIES, BrregSettings, key_of_document
from register_store.documents import BEGINNING


class GroupSettings(BrregSettings):
    """The settings of Norway's groups."""

    group_refresh: Duration = duration("P30D", "time after which a Norwegian group is read again")
    group_requests_per_second: float = Field(
        default=2.0, gt=0, le=50, description="maximum requests for Norwegian groups in a second"
    )


NO_GROUPS: Final = RegisterSource(
    name=SOURCE, part=Part.GROUP, country=Country.NO, parse=group_record, key=key_of_document
)

SOURCES: Final = (NO_GROUPS,)

#: Companies whose flags are read at once, and groups that are taken from the due ones at once.
_BATCH: Final = 500
_DUE: Final = 100
#: An unreadable group is asked for again after this time.
_RETRY: Final = timedelta(days=1)
#: And one for which the register was unavailable.
_RETRY_UNAVAILABLE: Final = timedelta(hours=1)
#: Unreadable answers in a row after which a pass ends: the register has a fault.
_MAX_FAULTS: Final = 10


@dataclass(frozen=True, slots=True)
class BrregGroups:
    """The register's answers about groups. Raises RegisterUnavailable and RegisterFault."""

    client: RegisterClient
    today: Callable[[], date]

    async def fetch(self, number: str) -> GroupRecord:
        """Returns the group of a company, or that it is in none.

        Raises RecordRejected for an answer about this company that cannot be used.
        """
        url = self.client.url(f"konsernstruktur/{number}")
        answer = await self.client.ask(Call("GET", url, accepted=(200, 400, 404), limit=PAGE))
        if answer.status == 400:
            raise RecordRejected("the register refuses the number")
        content: Any = answer.content
        if answer.status == 404:
            if content is not None:
                # The register's own has no body; that of a wrong address or a gateway says nothing
                # about the company.
                raise RegisterFault(f"{url.path}: status 404 with a body")
            content = {"organisasjonsnummer": number, "status": 404}
        if not isinstance(content, dict):
            raise RecordRejected("the response is not an object")
        record = parse(group_record, content, self.today())
        if not isinstance(record, GroupRecord):
            raise RecordRejected("not a group")
        if CompanyKey(Country.NO, number) not in record.members:
            raise RecordRejected("the group lacks the company that was asked for")
        return replace(record, digest=digest_of(encode(content)))


@dataclass(slots=True)
class SyncGroups:
    """Reads the groups of companies that are in one, then those that are due."""

    source: RegisterSource
    groups: BrregGroups
    stores: Stores
    refresh: timedelta
    #: Seconds between two requests.
    pause: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _publish_events: bool = field(default=False, init=False)
    #: Unreadable answers in a row.
    _faults: int = field(default=0, init=False)

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass; a killed one goes on where it was.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        begun_at = self.stores.now()
        cursor = await self.stores.cursors.read(self.source.name)
        cursor = cursor or Cursor(Position(BEGINNING), until=BEGINNING)
        if not await self.stores.states.is_loaded(NO_ENTITIES.name):
            # Their flags say for which companies to ask.
            return cursor
        self._publish_events = await self.stores.states.is_loaded(self.source.name)
        if is_due(cursor.reconciled_at, self.refresh, begun_at):
            cursor = await self._ask_companies(cursor, tally)
        while due := await self.stored.due(self.stores.now() - self.refresh, _DUE):
            for key in due:
                await self._read(key, tally)
        return await self.stores.cursors.move(self.source.name, replace(cursor, until=begun_at))

    @property
    def stored(self) -> StoredGroups:
        """The stored groups."""
        return self.stores.writer.groups

    async def _ask_companies(self, cursor: Cursor, tally: Tally) -> Cursor:
        """Asks for the companies that are in a group by their flag and in none that is stored."""
        begun_at, name = self.stores.now(), self.source.name
        await self.stores.states.begin(name, at=begun_at)
        # From now on changed companies are noted.
        cursor = await self.stores.cursors.move(name, cursor)
        while batch := await self.stored.flagged(Country.NO, _after(cursor), _BATCH):
            known = await self.stored.grouped(batch.in_group)
            for key in batch.in_group:
                if key not in known:
                    known.update(await self._read(key, tally))
            position = replace(cursor.position, sequence=int(batch.last.number))
            cursor = await self.stores.cursors.move(name, replace(cursor, position=position))
        await self.stores.states.finish(name, at=self.stores.now(), counts=tally.of_file())
        self._publish_events = True
        done = replace(cursor, position=Position(begun_at), reconciled_at=begun_at)
        return await self.stores.cursors.move(name, done)

    async def _read(self, key: CompanyKey, tally: Tally) -> Sequence[CompanyKey]:
        """Stores the group of a company; returns the companies of which its answer tells."""
        record = await self._fetched(key, tally)
        if record is None:
            return (key,)
        if record.members == (key,):
            await self._read_others(key, tally)
        await self._store(key, record, tally)
        return record.members

    async def _read_others(self, top: CompanyKey, tally: Tally) -> None:
        """Reads the groups of companies whose top company has left.

        Links that another group has are then stored as that group's, and do not end in between.
        """
        asked = {top}
        while True:
            group = (await self.stored.of([top])).get(top)
            other = (
                next((key for key in group.members if key not in asked), None) if group else None
            )
            if other is None:
                return
            asked.add(other)
            if (record := await self._fetched(other, tally)) is not None:
                await self._store(other, record, tally)

    async def _fetched(self, key: CompanyKey, tally: Tally) -> GroupRecord | None:
        """Returns the group of a company; None if its answer is unusable, which is counted."""
        await self.sleep(self.pause)
        tally.read += 1
        at = to_milliseconds(self.stores.now())
        try:
            record = await self.groups.fetch(key.number)
        except RegisterUnavailable:
            # Others come first in the next pass, so that the answer of one does not hold them up.
            await self._put_off(key, _RETRY_UNAVAILABLE)
            raise
        except (RecordRejected, RegisterFault) as fault:
            await self._put_off(key, _RETRY)
            tally.refused(str(fault))
            self._faults += 1
            if self._faults == _MAX_FAULTS:
                raise RegisterFault(f"{_MAX_FAULTS} unusable answers in a row: {fault}") from None
            return None
        self._faults = 0
        return replace(record, version=SourceVersion(at))

    async def _put_off(self, key: CompanyKey, delay: timedelta) -> None:
        at = self.stores.now() - self.refresh + min(delay, self.refresh)
        await self.stored.put_off(key, at)

    async def _store(self, key: CompanyKey, record: GroupRecord, tally: Tally) -> None:
        version = record.version or SourceVersion(self.stores.now())
        if await self.stored.is_unchanged(key, record.key, record.digest, version.at):
            tally.results[Verdict.UNCHANGED.value] += 1
            return
        verdicts = await self.stores.apply([record], version, publish_events=self._publish_events)
        tally.judged([record], verdicts)


def _after(cursor: Cursor) -> str:
    """Returns the number of the company that was looked at last."""
    sequence = cursor.position.sequence
    return f"{sequence:0{FORMATS[Country.NO].vat_digits}}" if sequence else ""


def follow(
    source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncGroups:
    """Returns the pass over the groups."""
    settings = dependencies.settings_of(GroupSettings)
    client = dependencies.client_of(settings.brreg_url, "brreg-groups")
    return SyncGroups(
        source=source,
        groups=BrregGroups(client, dependencies.stores.today),
        stores=dependencies.stores,
        refresh=settings.group_refresh,
        pause=1 / settings.group_requests_per_second,
    )
