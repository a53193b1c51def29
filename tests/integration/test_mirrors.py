"""Mirrors in SQLite, by real processes that are killed while the register changes."""

import asyncio
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import orjson
import pytest

from common.contracts.accounts import AccountsBasis, AnnualAccounts
from common.contracts.company import CompanyKey, Country, Include, LegalForm
from common.contracts.events import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.find import ExportPage, ExportRequest
from common.contracts.lookup import LookupReply, LookupRequest
from common.domain.limited import hash_of_name
from common.leases import StoredLeases
from common.mongo import Database, Reads
from common.runtime.public_port.rates import Rate
from company_registry.mirror_history import mirrored_history
from gateway.access.clients import Caller
from gateway.access.keys import Scope
from gateway.http.responses import refusals
from gateway.routes import application
from gateway.settings import Policy
from ingest.changes.accounts import ApplyAccounts, FiledAccounts
from ingest.records.records import CompanyRecord, SourceVersion
from lookup.answers.exports import AnswerExports
from lookup.answers.lookups import AnswerLookups
from register_store.history import StoredHistory
from register_store.reads import StoredCopies, StoredRegister
from tests.builders.accounts import accounts_of
from tests.builders.companies import MONDAY, a_company, a_company_record, an_owner
from tests.builders.loading import NOON, Loader
from tests.builders.outbox import Outbox
from tests.delivery.waiting import SOON
from tests.fakes.gateway import Gateway
from tests.fakes.lookup import FakeSearches
from tests.fakes.public_server import PublicServer

pytestmark = pytest.mark.integration

COMPANIES = 1_000
KILLS = 8
RATE = Rate(100_000, 60)


def number(place: int) -> str:
    return f"{10_000_000 + place:08d}"


def a_record(place: int, version: int = 0) -> CompanyRecord:
    at = SourceVersion(MONDAY.at + timedelta(minutes=version))
    company = a_company(vat=number(place), name=f"Prøve {place}-{version} ApS")
    return a_company_record(company, version=at)


@dataclass
class Direct:
    """`Exports`, `Events` and `Lookups` of the stores themselves, in small and slow pages."""

    answers: AnswerExports
    lookups: AnswerLookups
    outbox: Outbox
    asked: int = 0
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self) -> None:
        self.asked += 1
        self.was_asked.set()

    async def export(self, request: ExportRequest, *, caller: Caller) -> ExportPage:  # noqa: ARG002
        self.count()
        await asyncio.sleep(0.02)  # so that processes are killed within a copy
        [page] = await self.answers([request.model_copy(update={"limit": 40})])
        assert isinstance(page, ExportPage)
        return page

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:  # noqa: ARG002
        self.count()
        return await self.outbox.feed.read(request)

    async def look_up(
        self,
        request: LookupRequest,
        *,
        caller: Caller,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
    ) -> LookupReply:
        [reply] = await self.lookups([request])
        assert isinstance(reply, LookupReply)
        return reply

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        raise NotImplementedError


@dataclass
class Register:
    """A register that changes, and is served."""

    store: Loader
    outbox: Outbox
    direct: Direct
    url: str
    key: str
    path: Path
    random: Random = field(default_factory=lambda: Random(21))
    version: int = 0

    async def change(self) -> None:
        """Some companies change, some come, and some go."""
        self.version += 1
        places = self.random.sample(range(COMPANIES + 50), 10)
        await self.store.load(*(a_record(place, self.version) for place in places))
        gone = number(self.random.randrange(COMPANIES))
        await self.store.remove(f"dk:{gone}", publish_events=True)
        await self.publish()

    async def publish(self) -> None:
        while await self.outbox.publisher()():
            pass

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Changes the register after each request; the last change is whole, and so is its event.

        A page has more events than a change: however slow the machine, a reader reaches the end.
        """
        is_over = False

        async def keep_changing() -> None:
            while True:
                await self.direct.was_asked.wait()
                self.direct.was_asked.clear()
                if is_over:
                    return
                await self.change()

        async with asyncio.TaskGroup() as group:
            group.create_task(keep_changing())
            try:
                yield
            finally:
                is_over = True
                self.direct.was_asked.set()

    async def started(self, *options: str, out: int = DEVNULL, settle: float = 20.0) -> Process:
        """`company-registry mirror` as a process of its own, with `_SETTLE` in seconds."""
        command = (
            f"from company_registry import cli, mirrors; mirrors._SETTLE = {settle}; cli.main()"
        )
        where = ("--url", self.url, "--key", self.key, "--country", "dk", "--to", str(self.path))
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", command, "mirror", *where, *options, stdout=out, stderr=out
        )

    async def run(self, *options: str, settle: float = 20.0) -> tuple[int | None, str]:
        """Status and output of a run."""
        process = await self.started(*options, out=PIPE, settle=settle)
        async with asyncio.timeout(SOON):
            out, err = await process.communicate()
        return process.returncode, (out + err).decode()

    async def stored(self) -> dict[str, Any]:
        """Each company as events and exports have it."""
        keys = [CompanyKey(Country.DK, number(place)) for place in range(COMPANIES + 50)]
        rows = await StoredRegister(Reads(self.outbox.register)).companies(keys)
        return {
            key.vat: {**orjson.loads(row.core), "revision": row.revision}
            for key, row in rows.items()
        }

    async def file(
        self,
        place: int,
        *accounts: AnnualAccounts,
        publish_events: bool = True,
        sole_proprietors: bool = False,
    ) -> None:
        """A company files accounts."""
        apply = ApplyAccounts(self.store.stores.writer, lambda: NOON, sole_proprietors)
        filed = FiledAccounts(CompanyKey(Country.DK, number(place)), accounts)
        await apply([filed], publish_events=publish_events)
        await self.publish()

    async def exported_accounts(self) -> set[tuple[str, bytes]]:
        """The accounts in an export, byte for byte but the order of the members."""
        request = ExportRequest(country=Country.DK, include=(Include.ANNUAL_ACCOUNTS,))
        found: set[tuple[str, bytes]] = set()
        last: str | None = ""
        while last is not None:
            page = await self.direct.answers([request.model_copy(update={"after": last})])
            assert isinstance(page[0], ExportPage)
            for company in map(orjson.loads, page[0].lines.splitlines()):
                found |= {(company["vat"], _sorted(one)) for one in company["annual_accounts"]}
            last = page[0].last
        return found

    def mirrored_accounts(self) -> set[tuple[str, bytes]]:
        with closing(sqlite3.connect(self.path)) as database:
            rows = database.execute("SELECT vat, body FROM accounts WHERE country = 'dk'")
            return {(vat, body.encode()) for vat, body in rows}

    def mirrored(self) -> dict[str, Any]:
        with closing(sqlite3.connect(self.path)) as database:
            rows = database.execute("SELECT vat, body FROM companies WHERE country = 'dk'")
            return {vat: orjson.loads(body) for vat, body in rows}


def _sorted(document: Any) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


@asynccontextmanager
async def serving(direct: Direct, register_db: Database) -> AsyncIterator[tuple[str, str]]:
    """URL and key of a gateway over the stores."""
    gateway = Gateway()
    dependencies = replace(
        gateway.dependencies(),
        exports=direct,
        events=direct,
        lookups=direct,
        new_lease=lambda: StoredLeases(register_db, holder=uuid4().hex),
    )
    app = application(dependencies, Policy(anonymous_rate=RATE, key_rate=RATE))
    async with PublicServer(app, refusals(lambda: "unread")) as server:
        key = gateway.issue(scopes=frozenset({Scope.EXPORT, Scope.EVENTS, Scope.LOOKUP}))
        yield str(server.make_url("")).rstrip("/"), key["X-API-Key"]


@pytest.fixture
def companies() -> int:
    return COMPANIES


@pytest.fixture
async def register(
    store: Loader, outbox: Outbox, register_db: Database, tmp_path: Path, companies: int
) -> AsyncIterator[Register]:
    await store.load(*map(a_record, range(companies)))
    # Without filters, an export needs no index.
    stored = StoredRegister(Reads(register_db))
    answers = AnswerExports(
        StoredCopies(register_db),
        outbox.feed,
        None,  # type: ignore[arg-type]
        stored,
        None,  # type: ignore[arg-type]
    )
    direct = Direct(answers, AnswerLookups(stored, FakeSearches()), outbox)
    async with serving(direct, register_db) as (url, key):
        yield Register(store, outbox, direct, url, key, tmp_path / "registry.sqlite")


async def kill_soon(register: Register) -> bool:
    """Starts a mirror and kills it at some moment; returns whether it still ran."""
    asked = register.direct.asked
    process = await register.started("--follow")
    while register.direct.asked == asked:  # noqa: ASYNC110 (started, and connected)
        await asyncio.sleep(0.01)
    with suppress(TimeoutError):
        async with asyncio.timeout(register.random.uniform(0.0, 0.8)):
            await process.wait()
    was_running = process.returncode is None
    if was_running:
        process.kill()
    await process.wait()
    return was_running


async def test_a_mirror_that_is_killed_again_and_again_equals_the_register_that_changed_meanwhile(
    register: Register,
) -> None:
    async with register.changing():
        killed = [await kill_soon(register) for _ in range(KILLS // 2)]
        assert (await register.run())[0] == 0
        # The events after its place expire while it does not run: it copies again by itself.
        register.outbox.now += timedelta(days=31)
        killed += [await kill_soon(register) for _ in range(KILLS // 2)]
    assert killed == [True] * KILLS
    await register.publish()

    status, _ = await register.run()

    assert status == 0
    assert register.mirrored() == await register.stored()


async def test_a_mirror_that_is_killed_has_the_history_that_the_service_has(
    register: Register,
) -> None:
    assert (await register.run())[0] == 0
    async with register.changing():
        for _ in range(KILLS // 2):
            await kill_soon(register)
    await register.publish()

    assert (await register.run())[0] == 0

    stored = StoredHistory(Reads(register.outbox.register))
    known = 0
    for vat in register.mirrored():
        page = mirrored_history(register.path, "dk", vat)
        expected = await stored.page(CompanyKey(Country.DK, vat), limit=100)
        assert page is not None
        assert page.model_dump(mode="json", exclude_unset=True)["history"] == expected.entries
        known += len(expected.entries)
    assert known >= KILLS


async def test_a_mirror_is_verified_against_the_register(register: Register) -> None:
    async with register.changing():
        status, shown = await register.run("--verify", "--json")
    found = orjson.loads(shown.splitlines()[0])
    with closing(sqlite3.connect(register.path)) as database:
        database.execute("UPDATE companies SET body = json_set(body, '$.phone', '1') WHERE vat = ?",
                         (number(1),))  # fmt: skip
        database.commit()

    unequal, said = await register.run("--verify", settle=0.0)

    assert (status, found["equal"]) == (0, True)
    assert found["mirror"] == found["register"]
    assert (unequal, "--start-over" in said) == (1, True)
    assert (await register.run("--start-over"))[0] == 0
    assert register.mirrored() == await register.stored()


#: Accounts are read company by company.
few_companies = pytest.mark.parametrize("companies", [60])


@few_companies
async def test_a_mirror_made_with_accounts_equals_the_export_byte_for_byte(
    register: Register,
) -> None:
    await register.file(1, accounts_of(2023, "a", equity="7"), publish_events=False)
    await register.file(2, accounts_of(2024, "b"), accounts_of(2024, "b", scope="group"))
    assert (await register.run("--accounts"))[0] == 0
    assert register.mirrored_accounts() == await register.exported_accounts()

    before = accounts_of(2024, "c", equity="5", basis=AccountsBasis.COMPARATIVE)
    await register.file(1, accounts_of(2025, "c", revenue="1200", published="2026-05-30T12:00:00Z"),
                        before)  # fmt: skip
    await register.file(2, accounts_of(2024, "d", profit="-3", warnings=("conflict:profit",)))
    await register.file(3, *(accounts_of(year, f"e{year}") for year in range(2014, 2026)))
    await register.store.remove(f"dk:{number(2)}", publish_events=True)
    await register.publish()

    assert (await register.run())[0] == 0

    assert register.mirrored_accounts() == await register.exported_accounts()
    assert len(register.mirrored_accounts()) == 3 + 10
    with closing(sqlite3.connect(register.path)) as database:
        read = "SELECT revenue, currency FROM accounts WHERE vat = ? AND revenue > 1000"
        assert database.execute(read, (number(1),)).fetchall() == [(1200, "NOK")]


@few_companies
async def test_the_accounts_of_a_mirror_are_verified(register: Register) -> None:
    await register.file(1, accounts_of(2024, "a", equity="7"))
    assert (await register.run("--accounts"))[0] == 0
    await register.file(1, accounts_of(2025, "b"))

    status, shown = await register.run("--verify", "--json")
    found = orjson.loads(shown.splitlines()[0])
    with closing(sqlite3.connect(register.path)) as database:
        database.execute("UPDATE accounts SET body = json_set(body, '$.figures.equity', '8')"
                         " WHERE period_end = '2024-12-31'")  # fmt: skip
        database.commit()
    unequal, _ = await register.run("--verify", settle=0.0)

    assert (status, found["equal"], found["mirror"]["accounts"]) == (0, True, 2)
    assert unequal == 1


@few_companies
async def test_accounts_without_events_leave_a_mirror_of_companies_equal(
    register: Register,
) -> None:
    assert (await register.run())[0] == 0
    await register.file(1, accounts_of(2024, "a"), publish_events=False)

    status, shown = await register.run("--verify", "--json", settle=0.0)

    assert (status, orjson.loads(shown.splitlines()[0])["equal"]) == (0, True)
    assert register.mirrored_accounts() == set()


@few_companies
async def test_a_mirror_loses_the_accounts_of_a_person_who_is_left_out(register: Register) -> None:
    company = a_company(vat=number(1), name="Prøve 1", form=LegalForm(code="10"))
    at = SourceVersion(MONDAY.at + timedelta(minutes=1))
    await register.store.load(a_company_record(company, version=at, owners=(an_owner(),)))
    await register.file(1, accounts_of(2024, "a"), sole_proprietors=True)
    assert (await register.run("--accounts"))[0] == 0
    assert len(register.mirrored_accounts()) == 1

    key = CompanyKey(Country.DK, number(1))
    limited = hash_of_name(key, "Anna Testesen")
    await register.store.stores.writer.limit(key, limited, at=NOON, publish_events=True)
    await register.publish()

    assert (await register.run())[0] == 0
    assert register.mirrored_accounts() == set()
