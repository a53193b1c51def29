"""A world of its own for a test: registers over HTTP, a database, the real sync between them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from pydantic import SecretStr

from common.mongo import Database
from ingest.app import connect
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import Outcome, Result
from ingest.loading.stores import Cursor, Position
from ingest.records.source import RegisterSource
from ingest.registers import table
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.settings import RegisterSettings, SyncSettings
from register_samples.server import Registers, Served, serving
from register_samples.server.changing import Changes
from register_store.indexes import make_indexes

NORWAY = (NO_ENTITIES, NO_UNITS, NO_ROLES)
DENMARK = (DK_COMPANIES, DK_UNITS)

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


class Clock:
    """Goes on by itself a little at each look, so that nothing happens at the same time."""

    def __init__(self) -> None:
        self._now = START

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=7)
        return self._now

    def advance(self, span: timedelta) -> None:
        self._now += span

    def set(self, moment: datetime) -> None:
        self._now = moment


@dataclass
class World:
    """Registers over HTTP, and the sync that follows them into a database."""

    served: Served
    wiring: SyncDependencies
    clock: Clock

    @property
    def registers(self) -> Registers:
        return self.served.registers

    async def sync(self, *kinds: RegisterSource) -> list[Result]:
        return [await table.passes(self.wiring, kind).once() for kind in kinds]

    async def outcomes(self, *kinds: RegisterSource) -> list[Outcome]:
        """The same, of which only the outcomes matter."""
        return [result.outcome for result in await self.sync(*kinds)]

    async def is_loaded(self, kind: RegisterSource) -> bool:
        return await self.wiring.stores.states.is_loaded(kind.name)

    def rename(self, number: str, name: str) -> None:
        """Of a Norwegian company."""
        self.registers.no.entities.change(number, {"navn": name})

    def publish_a_week_later(self) -> None:
        """New files of all registers."""
        self.clock.advance(timedelta(days=7))
        self.registers.publish()

    async def cursor(self, kind: RegisterSource) -> Cursor:
        found = await self.wiring.stores.cursors.read(kind.name)
        assert found is not None
        return found

    async def rewind(self, kind: RegisterSource) -> None:
        """The cursor stands where the feed was begun with."""
        cursor = await self.cursor(kind)
        start = Position(START - timedelta(days=1))
        await self.wiring.stores.cursors.move(kind.name, replace(cursor, position=start))

    async def reconcile_next_time(self, *kinds: RegisterSource) -> None:
        for kind in kinds:
            cursor = await self.cursor(kind)
            await self.wiring.stores.cursors.move(
                kind.name, replace(cursor, reconciled_at=None, etag=None)
            )

    async def reconciled_just_now(self, *kinds: RegisterSource) -> None:
        for kind in kinds:
            moved = replace(await self.cursor(kind), reconciled_at=self.clock())
            await self.wiring.stores.cursors.move(kind.name, moved)

    def change_a_lot(self) -> None:
        """Two days of changes in the registers."""
        changes = Changes(self.registers)
        for _ in range(34):
            changes.make()

    def forget_feeds(self) -> None:
        """Drops the entries so far from the feeds."""
        for section in (self.registers.no.entities, self.registers.no.units):
            section.updates.clear()
        self.registers.no.role_events.clear()

    @property
    def database(self) -> Database:
        return self.wiring.database

    async def found(self, collection: str, key: str) -> dict[str, Any] | None:
        row: dict[str, Any] | None = await self.database[collection].find_one({"_id": key})
        return row

    async def stored_company(self, number: str, *, country: str = "no") -> dict[str, Any]:
        """The public record as stored."""
        return await self._core("companies", f"{country}:{number}")

    async def stored_unit(self, number: str, *, country: str = "no") -> dict[str, Any]:
        return await self._core("production_units", f"{country}:{number}")

    async def _core(self, collection: str, key: str) -> dict[str, Any]:
        row = await self.found(collection, key)
        assert row is not None
        core: dict[str, Any] = orjson.loads(row["core"])
        return core

    async def name_of(self, number: str, *, country: str = "no") -> str:
        return str((await self.stored_company(number, country=country))["name"])

    async def rewind_to_the_file(self, kind: RegisterSource) -> None:
        """Restarts the source: its whole file is read again."""
        await self.database["cursors"].delete_one({"_id": kind.name})

    async def contents(self) -> dict[str, Any]:
        """All that is stored of the registers, for comparing."""
        names = ("companies", "production_units", "participants", "tombstones", "outbox", "groups")
        return {
            name: await self.database[name].find().sort("_id", 1).to_list(None) for name in names
        }

    async def told(self) -> list[dict[str, Any]]:
        """The events themselves, in the same order as `events`."""
        found = await self.database["outbox"].find().sort("$natural", 1).to_list(None)
        return [orjson.loads(event["body"]) for event in found]

    async def events(self) -> list[tuple[str, str]]:
        """Type and company of each stored event, in order."""
        found = await self.database["outbox"].find().sort("$natural", 1).to_list(None)
        return [(event["type"], event["company"]) for event in found]

    async def events_of(self, key: str) -> list[str]:
        """The types of a company's events, in order."""
        return [kind for kind, company in await self.events() if company == key]


@asynccontextmanager
async def a_world(
    mongo_url: str, register_db: str, *, companies: int = 25, **settings: Any
) -> AsyncIterator[World]:
    clock = Clock()
    registers = Registers(companies=companies, now=clock)
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(registers))
        wiring = await connect(
            *sync_settings(mongo_url, register_db, served, **settings),
            stack,
            holder="test",
            now=clock,
        )
        await make_indexes(wiring.database)
        yield World(served, wiring, clock)


def sync_settings(
    mongo_url: str, register_db: str, served: Served, **settings: Any
) -> tuple[SyncSettings, dict[type[RegisterSettings], RegisterSettings]]:
    fields = {
        "mongo_url": SecretStr(mongo_url),
        "register_db": register_db,
        "brreg_url": str(served.brreg),
        "brreg_accounts_url": str(served.norwegian_accounts),
        "brreg_accounts_rate": 1000,
        "cvr_url": str(served.cvr_permanent),
        "cvr_user": "sample",
        "cvr_password": SecretStr("sample"),
        "cvr_allow_plaintext": True,
        "cvr_filings_url": str(served.filings),
        "cvr_filings_interval": timedelta(),
        "cvr_documents_url": str(served.documents),
        "peppol_url": str(served.url),
        "register_retry_delay": timedelta(milliseconds=1),
        "sync_page_size": 10,
        "group_requests_per_second": 50.0,
        **settings,
    }
    kinds = {register.settings for register in table.REGISTERS}
    return SyncSettings(**fields), {kind: kind(**fields) for kind in kinds}
