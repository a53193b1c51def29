"""A register, or a proxy in front of it, that sends more than it should or leads elsewhere."""

import gzip
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from ingest.following import register_client as bodies
from ingest.following.register_client import (
    ENTITY,
    BodyLimit,
    Call,
    RegisterClient,
    RegisterFault,
    RegisterUnavailable,
    RetryPolicy,
    sessions,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Hostile:
    """The next response of the register, and the requests it received."""

    url: URL = field(default_factory=URL)
    answer: Handler | None = None
    asked: list[web.Request] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        assert self.answer is not None
        return await self.answer(request)

    def gives(self, body: bytes, **headers: str) -> None:
        async def answer(_request: web.Request) -> web.Response:
            return web.Response(body=body, headers=headers)

        self.answer = answer

    def redirects(self, target: URL | str, *, times: int = 1) -> None:
        async def answer(_request: web.Request) -> web.Response:
            if len(self.asked) > times:
                return web.Response(body=b"[]")
            return web.Response(status=302, headers={"Location": str(target)})

        self.answer = answer


@asynccontextmanager
async def hosting(tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[Hostile]:
    hostile = Hostile()
    app = web.Application()
    app.router.add_get("/{path:.*}", hostile.handle)
    server = TestServer(app, scheme="https" if tls else "http", **options)
    await server.start_server(ssl=tls)
    hostile.url = server.make_url("/api")
    try:
        yield hostile
    finally:
        await server.close()


@pytest.fixture
async def hostile() -> AsyncIterator[Hostile]:
    async with hosting() as hostile:
        yield hostile


async def no_sleep(_seconds: float) -> None:
    """Tries again at once."""


MANNERS = RetryPolicy(
    "test", lambda: repeat(0.0), timedelta(seconds=5), max_attempts=2, sleep=no_sleep
)


@asynccontextmanager
async def client_of(
    base: URL, *, file_hosts: tuple[str, ...] = (), ca_file: Path | None = None
) -> AsyncIterator[RegisterClient]:
    retry_policy = replace(MANNERS, file_hosts=file_hosts)
    async with sessions(retry_policy, ca_file=ca_file) as session:
        yield RegisterClient(
            session,
            base,
            register="brreg",
            retry_policy=retry_policy,
            headers={"Authorization": "secret"},
        )


async def asked_of(hostile: Hostile, *, limit: BodyLimit = ENTITY) -> Any:
    async with client_of(hostile.url) as client:
        return (await client.ask(Call("GET", client.url("one"), limit=limit))).content


async def downloaded(hostile: Hostile, target: Path, *file_hosts: str) -> bytes:
    async with client_of(hostile.url, file_hosts=file_hosts) as client:
        await client.download(Call("GET", client.url("file")), target)
    return target.read_bytes()  # noqa: ASYNC240 (a few bytes)


async def test_a_packed_answer_is_unpacked_up_to_its_limit_alone(hostile: Hostile) -> None:
    bomb = gzip.compress(b'{"a":"' + b"x" * (50 << 20) + b'"}', compresslevel=1)
    hostile.gives(bomb, **{"Content-Encoding": "gzip"})

    tracemalloc.start()
    with pytest.raises(RegisterFault, match="larger than 4,194,304 bytes"):
        await asked_of(hostile)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(hostile.asked) == 1, "another try would not mend it"
    assert peak < 5 * ENTITY.size


async def test_an_answer_of_more_values_than_fit_is_not_parsed(hostile: Hostile) -> None:
    hostile.gives(b"[" + b"{}," * 300_000 + b"{}]")

    with pytest.raises(RegisterFault, match="more than 200,000 values"):
        await asked_of(hostile)


async def test_an_answer_without_an_end_is_a_fault(hostile: Hostile) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)

    hostile.answer = endless

    with pytest.raises(RegisterFault, match="larger than"):
        await asked_of(hostile)


async def test_packed_answers_are_read(hostile: Hostile) -> None:
    hostile.gives(gzip.compress(b'{"a":1}'), **{"Content-Encoding": "gzip"})

    assert await asked_of(hostile) == {"a": 1}
    assert hostile.asked[0].headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    "body", [gzip.compress(b'{"a":1}', mtime=0)[:-9], b"no gzip", b"\x1f\x8b" * 9]
)
async def test_a_packed_answer_that_is_cut_off_is_requested_again(
    hostile: Hostile, body: bytes
) -> None:
    hostile.gives(body, **{"Content-Encoding": "gzip"})

    with pytest.raises(RegisterUnavailable):
        await asked_of(hostile)

    assert len(hostile.asked) == 2


async def test_a_coding_that_was_not_asked_for_is_a_fault(hostile: Hostile) -> None:
    hostile.gives(b"{}", **{"Content-Encoding": "br"})

    with pytest.raises(RegisterFault, match="content coding br"):
        await asked_of(hostile)


async def test_a_file_is_written_up_to_its_limit_alone(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_FILE", 1000)
    hostile.gives(b"x" * 1001)

    with pytest.raises(RegisterFault, match="the file is larger than 1,000 bytes"):
        await downloaded(hostile, tmp_path / "file")


async def test_a_file_may_be_redirected_on_its_host(hostile: Hostile, tmp_path: Path) -> None:
    hostile.redirects("/elsewhere")

    assert await downloaded(hostile, tmp_path / "file") == b"[]"
    assert hostile.asked[1].path == "/elsewhere"


async def test_a_file_is_fetched_from_no_other_host_unless_that_is_allowed(
    hostile: Hostile, tmp_path: Path
) -> None:
    async with hosting(host="localhost") as other:
        other.gives(b"[1]")
        target = other.url.with_host("localhost")

        hostile.redirects(target)
        with pytest.raises(RegisterFault, match="redirect to localhost"):
            await downloaded(hostile, tmp_path / "refused")
        refused = len(other.asked)
        hostile.asked.clear()
        allowed = await downloaded(hostile, tmp_path / "allowed", "localhost")

    assert (refused, allowed) == (0, b"[1]")
    assert "Authorization" in hostile.asked[0].headers
    assert "Authorization" not in other.asked[0].headers


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/file", "file:///etc/passwd", "http://[", ""])
async def test_a_redirect_to_no_web_address_is_a_fault(
    hostile: Hostile, tmp_path: Path, target: str
) -> None:
    hostile.redirects(target, times=9)

    with pytest.raises(RegisterFault):
        await downloaded(hostile, tmp_path / "file")


async def test_redirects_have_an_end(hostile: Hostile, tmp_path: Path) -> None:
    hostile.redirects("/again", times=99)

    with pytest.raises(RegisterFault, match="more than 5 redirects"):
        await downloaded(hostile, tmp_path / "file")

    assert len(hostile.asked) == 6


async def test_an_answer_that_is_no_file_is_not_redirected(hostile: Hostile) -> None:
    hostile.redirects("/elsewhere")

    with pytest.raises(RegisterFault, match="status 302"):
        await asked_of(hostile)


async def test_a_redirect_from_https_to_http_is_not_followed(
    hostile: Hostile, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    async with hosting(context) as secure, client_of(secure.url, ca_file=trusted) as client:
        secure.redirects(hostile.url)

        with pytest.raises(RegisterFault, match="from HTTPS to http"):
            await client.download(Call("GET", client.url("file")), tmp_path / "file")

    assert hostile.asked == []
