"""The registers' clients keep their retry policy, against a server with the real interfaces."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path

import pytest
import trustme
from yarl import URL

from ingest.changes.unit_plans import Ended
from ingest.following.dependencies import DownloadedFile
from ingest.following.register_client import (
    Call,
    Proxies,
    RegisterClient,
    RegisterFault,
    RegisterUnavailable,
    RetryPolicy,
    http_date,
    retry_after,
    sessions,
)
from ingest.loading.stores import Position
from ingest.records.records import SourceVersion
from ingest.registers.brreg.api import (
    FILES,
    Absent,
    BrregEntities,
    Present,
    Unusable,
    UpdateFeed,
)
from ingest.registers.brreg.sync import NO_ENTITIES
from register_samples.server import (
    BrokenOff,
    Failure,
    Registers,
    Served,
    Slow,
    TooManyRequests,
    serving,
)
from register_samples.server.serving import Fault
from tests.builders.companies import TODAY

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
ENTITY = "/enheter/310345679"


@dataclass
class Register:
    """A served register, a client of it, and how long that has waited between its tries."""

    served: Served
    client: RegisterClient
    waited: list[float] = field(default_factory=list)

    def ask(self, path: str = "enheter/310345679", *, repeatable: bool = True) -> Call:
        return Call("GET", self.client.url(path), repeatable=repeatable)


def retry_policy(
    waited: list[float], *, timeout: timedelta = timedelta(seconds=30), max_attempts: int = 3
) -> RetryPolicy:
    async def wait(seconds: float) -> None:
        waited.append(seconds)

    def waits() -> Iterator[float]:
        return repeat(0.5)

    return RetryPolicy(
        "company-registry-lookup/0.1 (data@example.com)",
        waits,
        timeout=timeout,
        max_attempts=max_attempts,
        patience=timedelta(minutes=1),
        sleep=wait,
    )


@pytest.fixture
async def register() -> AsyncIterator[Register]:
    waited: list[float] = []
    async with (
        serving(Registers(companies=12)) as served,
        sessions(retry_policy(waited)) as session,
    ):
        client = RegisterClient(
            session, served.brreg, register="brreg", retry_policy=retry_policy(waited)
        )
        yield Register(served, client, waited)


async def test_requests_to_a_register_have_a_user_agent(register: Register) -> None:
    await register.client.ask(register.ask())

    assert register.served.agents == ["company-registry-lookup/0.1 (data@example.com)"]


@pytest.mark.parametrize(
    "fault",
    [TooManyRequests(), Failure(500), Failure(503), BrokenOff(), BrokenOff(told=True)],
)
async def test_a_transient_failure_is_retried(register: Register, fault: Fault) -> None:
    register.served.faults.plan(ENTITY, fault)

    answer = await register.client.ask(register.ask())

    assert answer.content["organisasjonsnummer"] == "310345679"
    assert register.waited == [0.5]


async def test_a_request_that_is_not_answered_in_time_is_repeated(register: Register) -> None:
    register.served.faults.plan(ENTITY, Slow(1.0))
    # On a busy machine further requests may be too slow, too.
    impatient = retry_policy(
        register.waited, timeout=timedelta(milliseconds=300), max_attempts=1000
    )

    async with sessions(impatient) as session:
        client = RegisterClient(
            session, register.served.brreg, register="brreg", retry_policy=impatient
        )
        answer = await client.ask(register.ask())

    assert answer.content["organisasjonsnummer"] == "310345679"
    assert register.waited


async def test_the_wait_that_a_register_asks_for_is_kept(register: Register) -> None:
    register.served.faults.plan(ENTITY, TooManyRequests(retry_after=7))

    await register.client.ask(register.ask())

    assert register.waited == [7.0]


async def test_a_long_retry_after_ends_the_retries(
    register: Register,
) -> None:
    register.served.faults.plan(ENTITY, TooManyRequests(retry_after=3600))

    with pytest.raises(RegisterUnavailable) as away:
        await register.client.ask(register.ask())

    assert away.value.retry_after == timedelta(hours=1)
    assert register.waited == []


async def test_a_register_that_keeps_failing_is_given_up(register: Register) -> None:
    register.served.faults.plan(ENTITY, *[Failure(502)] * 3)

    with pytest.raises(RegisterUnavailable, match="status 502"):
        await register.client.ask(register.ask())

    assert len(register.served.requests) == 3


async def test_an_unrepeatable_request_is_retried_only_if_it_was_not_processed(
    register: Register,
) -> None:
    register.served.faults.plan(ENTITY, TooManyRequests(), Failure(500))

    with pytest.raises(RegisterUnavailable):
        await register.client.ask(register.ask(repeatable=False))

    assert len(register.served.requests) == 2


async def test_a_request_that_is_refused_is_not_made_again(register: Register) -> None:
    with pytest.raises(RegisterFault, match="status 400"):
        await register.client.ask(register.ask("enheter/12"))

    assert len(register.served.requests) == 1


async def test_a_register_that_refuses_connections_is_unavailable(register: Register) -> None:
    async with sessions(retry_policy([])) as session:
        nowhere = RegisterClient(
            session, URL("http://127.0.0.1:1"), register="brreg", retry_policy=retry_policy([])
        )

        with pytest.raises(RegisterUnavailable, match="no connection"):
            await nowhere.ask(Call("GET", nowhere.url("enheter")))


async def test_a_connection_that_is_not_made_names_another_way() -> None:
    policy = retry_policy([], timeout=timedelta(seconds=0.2))
    silent = socket.create_server(("127.0.0.1", 0))  # Nothing accepts, so there is no handshake.
    port = silent.getsockname()[1]
    async with sessions(policy) as session:
        for base in ("https://127.0.0.1:1", f"https://127.0.0.1:{port}"):
            client = RegisterClient(
                session, URL(base), register="cvr", retry_policy=policy, unreached="; try port 80"
            )

            with pytest.raises(RegisterUnavailable, match=r"no connection.*; try port 80"):
                await client.ask(Call("GET", client.url("virksomhed")))
    silent.close()


async def test_numbers_that_a_list_leaves_out_are_fetched_one_by_one(
    register: Register,
) -> None:
    entities = register.served.registers.no.entities
    entities.remove("310345717")
    wanted = ["310345679", "310345717", "310345792", "987654321"]

    answers = await BrregEntities(register.client, NO_ENTITIES, lambda: TODAY).fetch(wanted)

    assert isinstance(answers["310345679"], Present)
    assert answers["310345717"] == Absent.REMOVED
    ended = answers["310345792"]
    assert isinstance(ended, Ended)
    assert ended.on == "2023-11-27"
    assert answers["987654321"] == Absent.UNKNOWN
    assert len(register.served.requests) == 4


async def test_of_a_list_that_is_refused_each_number_is_fetched_by_itself(
    register: Register,
) -> None:
    register.served.registers.no.entities.refused.add("987654321")
    wanted = ["310345679", "987654321", "310345806"]

    answers = await BrregEntities(register.client, NO_ENTITIES, lambda: TODAY).fetch(wanted)

    assert isinstance(answers["310345679"], Present)
    assert isinstance(answers["310345806"], Present)
    assert isinstance(answers["987654321"], Unusable)


async def test_a_feed_page_begins_after_the_last_entry_that_was_read(register: Register) -> None:
    entities = register.served.registers.no.entities
    for turn in range(5):
        entities.change("310345679", {"hjemmeside": f"www{turn}.example.com"})
    feed = UpdateFeed(register.client, NO_ENTITIES.part, page_size=3)

    first = await feed.page(Position(NOON - timedelta(days=9999)))
    second = await feed.page(first.position)
    third = await feed.page(second.position)

    ids = [update["oppdateringsid"] for update in entities.updates]
    assert [m.sequence for page in (first, second, third) for m in page.notices] == ids
    assert (first.is_last, second.is_last) == (False, True)
    assert third.position == second.position


async def test_requests_of_one_client_are_made_one_at_a_time(register: Register) -> None:
    await asyncio.gather(*(register.client.ask(register.ask()) for _ in range(5)))

    assert register.served.most_at_once == 1


async def test_a_download_leaves_nothing_behind_however_its_reader_ends(
    register: Register, tmp_path: Path
) -> None:
    # The second try overwrites the file of the first.
    register.served.faults.plan("/enheter/lastned", BrokenOff(told=True))
    path = FILES[NO_ENTITIES.part]
    whole = DownloadedFile(register.client, NO_ENTITIES, path, folder=tmp_path, now=lambda: NOON)

    async with whole.newest() as file:
        assert file is not None
        in_folder = await asyncio.to_thread(os.listdir, tmp_path)
        read = [list(file.documents()) for _ in range(2)]

    assert in_folder == [], "so that nothing is left where the process is killed here"
    assert read[0] == read[1]
    assert len(read[0]) >= 9


async def test_a_download_that_the_disk_has_no_room_for_ends_its_pass_alone(
    register: Register,
) -> None:
    call = register.ask("enheter/lastned")

    with pytest.raises(RegisterUnavailable, match="No space left"):
        await register.client.download(call, Path("/dev/full"))

    assert register.waited == []


async def test_a_certificate_counts_only_where_its_authority_is_trusted(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    async with serving(Registers(companies=1), tls=context) as served:
        statuses = []
        for ca_file in (None, trusted):
            async with sessions(retry_policy([]), ca_file=ca_file) as session:
                client = RegisterClient(
                    session, served.brreg, register="brreg", retry_policy=retry_policy([])
                )
                call = Call("GET", client.url("enheter"))
                try:
                    statuses.append(str((await client.ask(call)).status))
                except RegisterFault as fault:
                    statuses.append(str(fault).partition(":")[0])

    assert statuses == ["untrusted certificate", "200"]


class Proxy:
    """A proxy that opens tunnels (CONNECT), and records to where and for whom."""

    def __init__(self, status: str = "200 OK") -> None:
        self.status = status
        self.url = ""
        self.asked: list[tuple[str, str | None]] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._tunnel, "127.0.0.1")
        async with server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split()
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        self.asked.append((f"{method} {target}", headers.get("proxy-authorization")))
        writer.write(f"HTTP/1.1 {self.status}\r\n\r\n".encode())
        if self.status.startswith("200"):
            host, port = target.split(":")
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            await asyncio.gather(_copied(reader, far_writer), _copied(far_reader, writer))
        writer.close()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65_536):
        writer.write(part)
    writer.close()


@dataclass
class Secured:
    """A register with a certificate of a private authority, and its file."""

    served: Served
    ca_file: Path

    @asynccontextmanager
    async def client(self, proxies: Proxies) -> AsyncIterator[RegisterClient]:
        policy = replace(retry_policy([], max_attempts=2), proxies=proxies)
        async with sessions(policy, ca_file=self.ca_file) as session:
            yield RegisterClient(session, self.served.brreg, register="brreg", retry_policy=policy)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    ca_file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    async with serving(Registers(companies=1), tls=context) as served:
        yield Secured(served, ca_file)


@pytest.mark.parametrize("no_proxy", ["", "example.com, localhost"])
async def test_requests_are_sent_through_the_proxy_of_their_scheme(
    secured: Secured, no_proxy: str
) -> None:
    async with Proxy().running() as proxy:
        with_password = proxy.url.replace("://", "://user:secret@")
        proxies = Proxies({"https": with_password, "http": "http://unused.invalid"}, no_proxy)
        async with secured.client(proxies) as client:
            answer = await client.ask(Call("GET", client.url("enheter")))

    assert answer.status == 200
    port = secured.served.url.port
    assert proxy.asked == [(f"CONNECT 127.0.0.1:{port}", "basic dxnlcjpzzwnyzxq=")]


@pytest.mark.parametrize("no_proxy", ["127.0.0.1", "a.example.com,127.0.0.1", "*"])
async def test_a_host_of_no_proxy_is_reached_directly(secured: Secured, no_proxy: str) -> None:
    proxy = Proxy()
    async with (
        proxy.running(),
        secured.client(Proxies({"https": proxy.url}, no_proxy)) as client,
    ):
        answer = await client.ask(Call("GET", client.url("enheter")))

    assert (answer.status, proxy.asked) == (200, [])


@pytest.mark.parametrize(
    "url,no_proxy,is_direct",
    [
        ("https://data.brreg.no/a", "brreg.no", True),
        ("https://data.brreg.no/a", ".brreg.no", True),
        ("https://data.brreg.no/a", "*.BRREG.no , example.com", True),
        ("https://data.brreg.no/a", "data.brreg.no:443", True),
        ("https://data.brreg.no/a", "data.brreg.no:8443", False),
        ("https://data.brreg.no/a", "reg.no,brreg.com,,", False),
        ("https://data.brreg.no/a", "", False),
        ("https://data.brreg.no/a", "*", True),
        ("http://data.brreg.no/a", "", True),
    ],
)
def test_names_of_no_proxy_are_hosts_and_domains(url: str, no_proxy: str, is_direct: bool) -> None:  # noqa: FBT001 (a table)
    proxies = Proxies({"https": "http://proxy.example.com"}, no_proxy)

    assert (proxies.of(URL(url)) is None) is is_direct


async def test_a_proxy_that_refuses_is_no_connection_and_its_password_is_not_told(
    secured: Secured,
) -> None:
    async with Proxy("407 Proxy Authentication Required").running() as proxy:
        with_password = proxy.url.replace("://", "://user:secret@")
        async with secured.client(Proxies({"https": with_password})) as client:
            with pytest.raises(RegisterUnavailable) as failed:
                await client.ask(Call("GET", client.url("enheter")))

    assert "the proxy answered 407" in str(failed.value)
    assert "secret" not in str(failed.value)
    assert len(proxy.asked) == 2


@pytest.mark.parametrize(
    "text,wait",
    [
        ("120", timedelta(minutes=2)),
        ("Mon, 02 Nov 2026 12:05:00 GMT", timedelta(minutes=5)),
        ("Mon, 02 Nov 2026 11:00:00 GMT", timedelta()),
        ("86401", timedelta(days=1)),
        ("99999999999999", timedelta(days=1)),
        ("9" * 5000, timedelta(days=1)),
        ("Mon, 02 Nov 2226 12:05:00 GMT", timedelta(days=1)),
        ("Mon, 02 Nov 99999999999999 12:05:00 GMT", None),
        ("soon", None),
        (None, None),
    ],
)
def test_the_wait_of_a_header_is_in_seconds_or_until_a_time(
    text: str | None, wait: timedelta | None
) -> None:
    assert retry_after(text, NOON) == wait


def test_a_time_without_a_zone_is_in_utc_wherever_the_process_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "EST5")
        time.tzset()
        read = http_date("Mon, 02 Nov 2026 12:05:00 -0000")
    time.tzset()

    assert read == NOON + timedelta(minutes=5)


async def test_a_file_of_the_future_is_as_new_as_the_request_for_it(
    register: Register, tmp_path: Path
) -> None:
    register.served.registers.no.publish()
    path = FILES[NO_ENTITIES.part]
    long_ago = datetime(2001, 1, 1, tzinfo=UTC)
    whole = DownloadedFile(
        register.client, NO_ENTITIES, path, folder=tmp_path, now=lambda: long_ago
    )

    async with whole.newest() as file:
        assert file is not None
        assert file.version == SourceVersion(long_ago)
