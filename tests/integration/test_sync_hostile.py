"""Every source while its register answers nonsense, slowly, without an end, or leads elsewhere.

A pass ends within bounds and says why. What is stored stays, and the next pass goes on.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from ingest.following import register_client
from ingest.following.passes import Outcome
from ingest.registers import table
from register_samples.server.serving import Fault, Slow
from tests.conftest import DatabaseNames
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

SOURCES = tuple(table.sources().values())
#: More than a pass makes.
ALWAYS = 1_000


@dataclass(frozen=True)
class Says:
    """A body that no register sends, with the status of a right answer."""

    body: bytes
    content_type: str = "application/json"

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        return web.Response(body=self.body, content_type=self.content_type)


@dataclass(frozen=True)
class Leads:
    """A redirect."""

    target: str

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": self.target})


@dataclass(frozen=True)
class Endless:
    """A body without an end, as fast as it is taken, or a byte now and then."""

    part: bytes
    pause: float = 0.0

    async def answer(self, request: web.Request, _handler: Handler) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(self.part)
            await asyncio.sleep(self.pause)


FAULTS: dict[str, Fault] = {
    "a page": Says(b"<html><body>Logg inn</body></html>", "text/html"),
    "nothing": Says(b""),
    "a number": Says(b"42"),
    "null": Says(b"null"),
    "an empty object": Says(b"{}"),
    "a list of nonsense": Says(b'[1, null, {"a": []}, "x"]'),
    "deeply nested": Says(b"[" * 100_000),
    "half an object": Says(b'{"_embedded": {"oppdaterteEnheter": [{"oppdateringsid": 1'),
    "an object of other types": Says(b'{"_embedded": 1, "hits": [], "_scroll_id": 7, "page": "x"}'),
    "no text": Says(bytes(range(256)) * 40),
    "slowly": Slow(2.0),
    "a circle of redirects": Leads("?again"),
    "another host": Leads("http://198.51.100.7/file"),
    "a file of this machine": Leads("file:///etc/passwd"),
    "without an end": Endless(b'{"a": "' + b"x" * 65_000),
    "blanks without an end": Endless(b" " * 65_000),
    "a byte now and then": Endless(b"[", pause=0.1),
}


#: Sources that ask about stored companies whose time has come: here about none. Their own tests
#: have their faults (test_sync_groups.py, test_sync_norwegian_accounts.py).
OF_COMPANIES = {"no-konsern", "no-regnskap"}
#: The sources that wait until the companies of their register are loaded.
BEFORE_COMPANIES = OF_COMPANIES | {"dk-regnskab"}


@pytest.fixture
async def world(mongo_url: str, database_names: DatabaseNames) -> AsyncIterator[World]:
    settings = {"register_timeout": timedelta(seconds=0.2), "register_max_attempts": 2}
    async with a_world(mongo_url, database_names.register, companies=5, **settings) as world:
        yield world


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_hostile_answer_ends_a_pass_changes_nothing_and_is_recovered_from(
    world: World, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(register_client, "MAX_FILE", 1 << 20)
    monkeypatch.setattr(register_client, "_MAX_DOWNLOAD", timedelta(seconds=2))

    async def hostile_passes() -> dict[str, Outcome]:
        world.served.faults.plan("", *[fault] * ALWAYS)
        async with asyncio.timeout(30):
            outcomes = await asyncio.gather(*map(world.outcomes, SOURCES))
        world.served.faults.clear()
        return {source.name: one for source, [one] in zip(SOURCES, outcomes, strict=True)}

    at_first = await hostile_passes()
    nothing = await world.contents()
    loaded = await world.outcomes(*SOURCES)
    before = await world.contents()
    world.clock.advance(timedelta(days=2))
    world.rename("310345679", "NYTT NAVN AS")
    later = await hostile_passes()
    after = await world.contents()
    recovered = await world.outcomes(*SOURCES)

    allowed = {Outcome.REGISTER_FAULT, Outcome.REGISTER_UNAVAILABLE, Outcome.REFUSED}
    for outcomes, silent in ((at_first, BEFORE_COMPANIES), (later, OF_COMPANIES)):
        asked_nothing = {name for name, outcome in outcomes.items() if outcome is Outcome.DONE}
        assert asked_nothing <= silent
        assert {outcomes[name] for name in outcomes.keys() - asked_nothing} <= allowed
    assert all(not documents for documents in nothing.values())
    assert loaded == recovered == [Outcome.DONE] * len(SOURCES)
    assert after == before
    assert await world.name_of("310345679") == "NYTT NAVN AS"
