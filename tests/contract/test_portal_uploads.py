"""Uploads of the portal: bounded and fair by key, and gone when the browser is."""

import asyncio
import gc
import io
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import pytest

from portal.adapters import reading
from portal.adapters.reading import Choice, Reader, TooManyFiles, TooManyFilesOfKey
from portal.domain.customers import Table
from portal.domain.wording import LimitReached
from tests.delivery.waiting import eventually
from tests.fakes.portal import KEY, OTHER_KEY, Portal
from tests.fakes.portal import portal as a_portal

MIB = 2**20
ROWS = b"a;b\n" * (MIB // 4)


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        await portal.sign_in()
        yield portal


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No collection of cycles, which may come hours after a request."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def begin_upload(portal: Portal, megabytes: int) -> asyncio.StreamWriter:
    """A connection with an upload of 19 MiB, of which so much has been sent."""
    start = (
        '--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n'
        f"{await portal.token()}\r\n--x\r\n"
        'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    ).encode()
    [cookie] = portal.client.session.cookie_jar
    head = (
        f"POST /customers/upload HTTP/1.1\r\nHost: x\r\nCookie: {cookie.key}={cookie.value}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n"
        f"Content-Length: {len(start) + 19 * MIB}\r\n\r\n"
    ).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", portal.client.port)
    writer.write(head + start)
    for _ in range(megabytes):
        writer.write(ROWS)
        await writer.drain()
    return writer


def nameless_files() -> int:
    """The open files of this process that have no name any more."""
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            count += "(deleted)" in os.readlink(each)
    return count


async def test_the_file_of_an_upload_is_closed_when_the_browser_has_gone(
    portal: Portal, uncollected: None
) -> None:
    before = nameless_files()
    writer = await begin_upload(portal, 3)
    await eventually(lambda: portal.get("/key"), lambda _: nameless_files() > before)

    writer.transport.abort()

    await eventually(lambda: portal.get("/key"), lambda _: nameless_files() == before)


async def test_unfinished_uploads_of_a_key_leave_those_of_others_alone(portal: Portal) -> None:
    # Together they have more than all unfinished requests may hold.
    writers = [await begin_upload(portal, 12) for _ in range(3)]
    refused = await portal.upload("Navn\nPrøve\n")
    await portal.sign_in(OTHER_KEY)
    taken = await portal.upload("Navn\nPrøve\n")

    assert refused.status == 429
    assert "3 files at a time" in await refused.text()
    assert taken.status == 303
    assert not any(writer.is_closing() for writer in writers)
    for writer in writers:
        writer.transport.abort()


@pytest.mark.parametrize(
    "keys, error",
    [
        ([KEY] * 4, TooManyFilesOfKey),
        ([f"{number // 3}.secret" for number in range(11)], TooManyFiles),
    ],
)
def test_uploads_in_progress_are_bounded_by_key_and_in_all(
    keys: list[str], error: type[LimitReached]
) -> None:
    reader = Reader(lambda: 0.0)

    with ExitStack() as stack:
        for key in keys[:-1]:
            stack.enter_context(reader.receiving(key))
        with pytest.raises(error):
            stack.enter_context(reader.receiving(keys[-1]))
    with reader.receiving(keys[-1]):
        pass


def test_uploads_count_against_a_rate_of_their_key() -> None:
    now = 0.0
    reader = Reader(lambda: now)
    for _ in range(20):
        reader.count(KEY)

    with pytest.raises(TooManyFilesOfKey), reader.receiving(KEY):
        pass
    reader.count(OTHER_KEY)
    now = 600.0
    reader.count(KEY)


async def test_keys_take_turns_at_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[IO[bytes]] = []
    turn = asyncio.Semaphore(0)

    async def read_slowly(file: IO[bytes], _choice: Choice) -> Table:
        read.append(file)
        await turn.acquire()
        return Table(rows=[], header=[], header_row=1, sheet="", sheets=(), description="")

    async def release_all() -> None:
        for _ in files:
            turn.release()

    monkeypatch.setattr(reading, "_read", read_slowly)
    reader = Reader(lambda: 0.0)
    files: list[IO[bytes]] = [io.BytesIO() for _ in range(4)]
    async with asyncio.TaskGroup() as tasks:
        for key, file in zip([KEY, KEY, KEY, OTHER_KEY], files, strict=True):
            tasks.create_task(reader.read(key, file))
        tasks.create_task(release_all())

    assert [*map(files.index, read)] == [0, 3, 1, 2]
