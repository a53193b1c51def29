"""Uploads of the portal: bounded and fair by key, and gone when the browser is."""

import asyncio
import gc
import io
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO

import pytest
from aiohttp import FormData

from portal.adapters import reading
from portal.adapters.http import forms
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


async def test_a_full_disk_refuses_a_file_and_nothing_else(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row of the table of faults: the disk is full during an upload."""
    token = await portal.token()
    with monkeypatch.context() as full:
        full.setattr(forms, "TemporaryFile", partial(open, "/dev/full", "w+b"))
        form = FormData({"csrf": token})
        form.add_field("file", ROWS, filename="a.csv")
        response = await portal.client.post("/customers/upload", data=form)
        shown = (await portal.get("/key")).status
    form = FormData({"csrf": token})
    form.add_field("file", b"name\nPr\xc3\xb8ve ApS\n", filename="a.csv")
    later = await portal.client.post("/customers/upload", data=form, allow_redirects=False)

    assert (response.status, shown, later.status) == (503, 200, 303)
    assert "There is no room for files now" in await response.text()


async def test_a_form_with_a_file_has_few_parts_heads_and_fields(portal: Portal) -> None:
    token = await portal.token()
    csrf = f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{token}\r\n'
    field = '--x\r\nContent-Disposition: form-data; name="a{}"\r\n\r\n{}\r\n'
    of_parts = "multipart/form-data; boundary=x"
    forms = {
        "parts": (of_parts, csrf + "".join(field.format(n, "") for n in range(3_000)), 400),
        "parts of one name": (of_parts, csrf + field.format("", "") * 10, 400),
        "a part without a name": (of_parts, f"{csrf}--x\r\nA: b\r\n\r\n\r\n--x--\r\n", 400),
        "lines before the parts": (of_parts, f"{chr(10) * 100_000}{csrf}--x--\r\n", 400),
        "heads": (of_parts, f"{csrf}--x\r\n" + "A: b\r\n" * 100 + "\r\n--x--\r\n", 400),
        "a long field": (of_parts, csrf + field.format("b", "c" * 10_000) + "--x--\r\n", 413),
        "parts in a part": (
            of_parts,
            f"{csrf}--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n",
            400,
        ),
        "another type": ("application/x-www-form-urlencoded", f"csrf={token}", 415),
    }
    for name, (content_type, body, status) in forms.items():
        headers = {"Content-Type": content_type}
        response = await portal.client.post("/customers/upload", data=body, headers=headers)
        assert (name, response.status) == (name, status)


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
