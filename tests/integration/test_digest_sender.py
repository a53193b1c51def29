"""News by e-mail over MongoDB, the stored events and a real mail server with STARTTLS."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from email.headerregistry import Address
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from common.contracts.events import FeedPage, FeedRequest
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.watchlists import DigestEnd, DigestState, LinkAction, LinkReply, LinkRequest
from common.contracts.webhook_api import Operation
from common.mongo import Database
from tests.builders.outbox import Outbox
from tests.builders.webhooks import OTHER_OWNER, OWNER, secret_keys
from tests.fakes.webhook_registry import World
from tests.mail_server import (
    HANG,
    HANG_UP,
    PASSWORD,
    USER,
    MailServer,
    certificate_in,
    link_in,
    mail_server,
    text_of,
)
from webhook_registry.digest_messages import MAX_LISTED, Messages
from webhook_registry.digest_sender import ReadChanges, Schedule, SendDigests
from webhook_registry.digests import AnswerLinks
from webhook_registry.mailer import Mailer, TlsMode
from webhook_registry.mailer import MailServer as Address_
from webhook_store.collections import ASKED_ADDRESSES, DIGESTS
from webhook_store.digests import Digests, DueDigests, reseal_tokens, token_hash
from webhook_store.watchlists import Members, Watchlists

pytestmark = pytest.mark.integration

COMPANY, OTHER = "dk:12345674", "no:123456785"
ADDRESS = "officer@example.com"
#: Of the outbox of tests; in Copenhagen it is 13:00.
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
NEXT_DAY = datetime(2026, 3, 5, 5, 0, tzinfo=UTC)


class Feed:
    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.fault: Exception | None = None
        self.reads = 0

    async def page(self, request: FeedRequest) -> FeedPage:
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        return await self.outbox.feed.read(request)


class News:
    """The registry's operations and its senders, with a clock that the test moves."""

    def __init__(self, world: World, outbox: Outbox, server: MailServer, authority: Path) -> None:
        self.world, self.outbox, self.server, self.authority = world, outbox, server, authority
        self.feed = Feed(outbox)
        self.database = world.database
        self.claims = count(1)
        self.events = count(1)
        self.sender = self.new_sender()
        self.links = AnswerLinks(
            Watchlists(self.database), Digests(self.database), now=lambda: self.now
        )
        self.at(NOON)

    @property
    def now(self) -> datetime:
        return self.outbox.now

    def at(self, now: datetime) -> None:
        self.outbox.now = self.world.now = now

    def later(self, **span: float) -> None:
        self.at(self.now + timedelta(**span))

    def new_sender(self, **server: Any) -> SendDigests:
        """A further process."""
        given = Address_(
            **{
                "host": "127.0.0.1",
                "port": self.server.port,
                "tls": TlsMode.STARTTLS,
                "username": USER,
                "password": SecretStr(PASSWORD),
                "timeout": timedelta(seconds=5),
                "accept_timeout": timedelta(seconds=5),
                "ca_file": str(self.authority),
                **server,
            }
        )
        return SendDigests(
            DueDigests(self.database),
            Watchlists(self.database),
            ReadChanges(self.feed, Members(self.database)),
            secret_keys(),
            Mailer(given, given.trust(), "news@example.com"),
            Messages(
                Address("Registry", addr_spec="news@example.com"),
                "https://registry.example.com",
                "https://portal.example.com",
            ),
            Schedule(time(6), ZoneInfo("Europe/Copenhagen"), timedelta(seconds=30)),
            now=lambda: self.now,
            new_claim=lambda: f"claim{next(self.claims)}",
        )

    async def watchlist(self, *companies: str, owner: str = OWNER, name: str = "Kunder") -> str:
        made = await self.world.do(
            Operation.CREATE_WATCHLIST, owner=owner, body=orjson.dumps({"name": name})
        )
        watchlist_id = str(orjson.loads(made.body)["id"])
        await self.world.do(
            Operation.CHANGE_WATCHED,
            owner=owner,
            watchlist_id=watchlist_id,
            body=orjson.dumps({"add": companies or (COMPANY,)}),
        )
        return watchlist_id

    async def add(
        self, watchlist_id: str, *, address: str = ADDRESS, owner: str = OWNER, **fields: str
    ) -> str:
        """The id of a digest, which may have been there."""
        body = orjson.dumps({"address": address, **fields})
        made = await self.world.do(
            Operation.ADD_DIGEST, owner=owner, watchlist_id=watchlist_id, body=body
        )
        return str(orjson.loads(made.body)["id"])

    async def shown(self, watchlist_id: str, owner: str = OWNER) -> list[dict[str, Any]]:
        answer = await self.world.do(Operation.LIST_DIGESTS, owner=owner, watchlist_id=watchlist_id)
        digests: list[dict[str, Any]] = orjson.loads(answer.body)["digests"]
        return digests

    async def use(self, link: str, action: LinkAction) -> LinkReply | Failure:
        path, _, token = link.partition("?token=")
        digest_id = path.split("/")[3]
        request = LinkRequest(digest_id=digest_id, token_hash=token_hash(token), action=action)
        [reply] = await self.links([request])
        return reply

    async def confirmed(self, period: str = "immediate", **fields: Any) -> str:
        """The id of a new list whose address has confirmed; that message is forgotten."""
        watchlist_id = await self.watchlist(*fields.pop("companies", ()))
        await self.add(watchlist_id, period=period, **fields)
        await self.sender.work()
        await self.use(link_in(self.server.messages[-1], "confirm"), LinkAction.CONFIRM)
        self.server.accepted.clear()
        await self.sender.work()
        return watchlist_id

    async def happened(self, company: str = COMPANY, number: int = 1, **fields: Any) -> None:
        """Publishes events about a company."""
        country, _, vat = company.partition(":")
        for one in [next(self.events) for _ in range(number)]:
            event_id = f"00000000-0000-5000-8000-{one:012d}"
            body = {
                "id": event_id,
                "type": "company.updated",
                "occurred_at": "2026-03-04T12:00:00Z",
                "country": country,
                "vat": vat,
                "revision": one,
                "data": {
                    "company": {"name": fields.get("name", "Prøve ApS")},
                    "changes": [{"field": "name", "old": None, "new": f"Nyt {one}"}],
                },
            }
            await self.outbox.store(
                event_id, company=company, body=orjson.dumps(body), revision=one
            )
        await self.outbox.publisher()()

    async def stored(self) -> dict[str, Any]:
        [document] = await self.world.stored(DIGESTS)
        return document


@pytest.fixture(scope="module", name="certificate")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    return certificate_in(tmp_path_factory.mktemp("mail"))


@pytest.fixture(name="news")
async def _news(
    outbox: Outbox, empty_webhooks_db: Database, certificate: tuple[Any, Path]
) -> AsyncIterator[News]:
    context, authority = certificate
    async with mail_server(context) as server:
        yield News(World(empty_webhooks_db), outbox, server, authority)


async def test_an_address_receives_nothing_before_it_confirms(news: News) -> None:
    watchlist_id = await news.watchlist()
    await news.add(watchlist_id, period="immediate")
    await news.happened()
    await news.sender.work()
    news.later(days=2)
    await news.happened()
    await news.sender.work()

    [request] = news.server.messages
    assert request["To"] == ADDRESS
    assert request["From"] == "Registry <news@example.com>"
    assert "Kunder" not in request.as_string()
    [digest] = await news.shown(watchlist_id)
    assert (digest["state"], digest["address"]) == ("unconfirmed", ADDRESS)


async def test_a_link_is_shown_without_an_effect_and_confirms_once_posted(news: News) -> None:
    first, second = await news.watchlist(), await news.watchlist(name="Andre")
    await news.add(first)
    await news.add(second)
    await news.sender.work()

    [message] = news.server.messages
    link = link_in(message, "confirm")
    seen = await news.use(link, LinkAction.SHOW)
    after_show = [each["state"] for each in await news.shown(first)]
    done = await news.use(link, LinkAction.CONFIRM)
    again = await news.use(link, LinkAction.CONFIRM)

    assert isinstance(seen, LinkReply)
    assert sorted(seen.watchlists) == ["Andre", "Kunder"]
    assert after_show == ["unconfirmed"]
    assert isinstance(done, LinkReply)
    assert done.state is DigestState.CONFIRMED
    assert isinstance(again, LinkReply)
    assert again.state is DigestState.CONFIRMED
    assert [each["state"] for each in await news.shown(second)] == ["confirmed"]
    third = await news.watchlist(name="Flere")
    await news.add(third)
    assert [each["state"] for each in await news.shown(third)] == ["confirmed"]


async def test_an_address_with_a_tag_confirms_for_itself(news: News) -> None:
    # To some mail servers it is another mailbox.
    watchlist_id = await news.confirmed()
    tagged = ADDRESS.replace("@", "+sales@")
    await news.add(watchlist_id, address=tagged)
    await news.sender.work()

    shown = {each["address"]: each["state"] for each in await news.shown(watchlist_id)}
    assert shown == {ADDRESS: "confirmed", tagged: "unconfirmed"}
    assert news.server.messages == []


async def test_another_token_is_no_link(news: News) -> None:
    await news.add(await news.watchlist())
    await news.sender.work()
    link = link_in(news.server.messages[0], "confirm")

    for wrong in (f"{link}x", link.replace("dg_", "dg_0"), link.partition("?")[0]):
        found = await news.use(wrong, LinkAction.CONFIRM)
        assert isinstance(found, Failure)
        assert found.code is FailureCode.DIGEST_NOT_FOUND


async def test_an_address_is_asked_once_a_day_over_all_owners(news: News) -> None:
    of_owner = await news.watchlist()
    of_other = await news.watchlist(owner=OTHER_OWNER)
    await news.add(of_owner, address="Officer+a@Example.com")
    await news.sender.work()
    await news.add(of_other, address="officer@example.com", owner=OTHER_OWNER)
    await news.sender.work()
    news.later(hours=23)
    await news.sender.work()
    before = len(news.server.accepted)
    news.later(hours=1)
    await news.sender.work()

    assert (before, len(news.server.accepted)) == (1, 2)
    assert OTHER_OWNER in text_of(news.server.messages[1])
    assert ADDRESS not in str(await news.world.stored(ASKED_ADDRESSES))


async def test_changes_are_sent_within_a_minute_and_together(news: News) -> None:
    await news.confirmed()
    await news.happened(number=2)
    await news.happened(OTHER)
    news.later(seconds=30)
    await news.sender.work()
    news.later(seconds=30)
    await news.sender.work()

    [message] = news.server.messages
    text = text_of(message)
    assert message["Subject"] == "Kunder: 2 changes"
    assert text.count("Prøve ApS has changed") == 2
    assert "name: none → Nyt 1" in text
    assert "https://portal.example.com/companies/dk/12345674" in text
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    unsubscribe = link_in(message, "unsubscribe")
    assert message["List-Unsubscribe"] == f"<https://registry.example.com{unsubscribe}>"
    assert message["Date"] is not None
    [envelope] = news.server.accepted
    assert envelope.mail_from == "news@example.com"


async def test_a_daily_digest_is_sent_at_its_time_once(news: News) -> None:
    await news.confirmed("daily")
    await news.happened()
    news.later(hours=3)
    await news.sender.work()
    before = len(news.server.accepted)
    for _ in range(2):
        news.at(NEXT_DAY)
        await news.sender.work()
    at_six = len(news.server.accepted)
    await news.happened()
    news.at(NEXT_DAY + timedelta(hours=23, minutes=59))
    await news.sender.work()
    before_next = len(news.server.accepted)
    news.later(minutes=1)
    await news.sender.work()

    assert (before, at_six, before_next, len(news.server.accepted)) == (0, 1, 1, 2)


async def test_a_change_of_the_period_applies_at_once(news: News) -> None:
    watchlist_id = await news.confirmed("daily")
    await news.happened()
    await news.add(watchlist_id, period="immediate")
    await news.sender.work()

    assert len(news.server.accepted) == 1


async def test_no_message_is_sent_without_changes(news: News) -> None:
    await news.confirmed()
    for _ in range(3):
        await news.happened(OTHER)
        news.later(seconds=30)
        await news.sender.work()

    assert news.server.accepted == []
    assert (await news.stored())["position"] == 3


async def test_changes_between_confirmation_and_the_first_read_are_sent(news: News) -> None:
    await news.happened()
    news.later(minutes=1)
    await news.add(await news.watchlist(), period="immediate")
    await news.sender.work()
    link = link_in(news.server.messages[0], "confirm")
    await news.use(link, LinkAction.CONFIRM)
    news.later(minutes=5)
    await news.happened()
    await news.sender.work()

    assert news.server.messages[-1]["Subject"] == "Kunder: 1 change"
    assert "Nyt 2" in text_of(news.server.messages[-1])


async def test_a_large_list_is_compared_with_the_events(news: News) -> None:
    await news.confirmed(companies=[f"no:{number}" for number in range(800_000_000, 800_000_250)])
    await news.happened("no:800000007", 3)
    await news.happened(OTHER, 3)
    news.later(minutes=1)
    await news.sender.work()

    [message] = news.server.messages
    assert message["Subject"] == "Kunder: 3 changes"
    assert "NO 800000007" in text_of(message)
    assert "NO 123456785" not in text_of(message)


async def test_a_message_lists_the_first_changes_and_counts_the_others(news: News) -> None:
    await news.confirmed()
    await news.happened(number=MAX_LISTED + 5)
    news.later(minutes=1)
    await news.sender.work()

    [message] = news.server.messages
    text = text_of(message)
    assert message["Subject"] == "Kunder: 205 changes"
    assert text.count("has changed") == MAX_LISTED
    assert "and 5 more" in text
    assert f"https://portal.example.com/watchlists/{(await news.stored())['watchlist_id']}" in text


async def test_changes_that_expired_unsent_are_named(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(days=20)
    await news.happened()
    news.later(days=20)
    await news.sender.work()

    [message] = news.server.messages
    assert message["Subject"] == "Kunder: 1 change"
    assert "Earlier changes are not listed" in text_of(message)


async def test_names_in_registers_and_of_lists_are_no_headers(news: News) -> None:
    name = "Evil\r\nBcc: all@example.com\r\n\r\n.\r\nMAIL FROM:<x@example.com> <script>\x1b “A/S”"
    await news.confirmed()
    await news.happened(name=name)
    news.later(minutes=1)
    await news.sender.work()

    [message] = news.server.messages
    page = message.get_body(("html",))
    assert page is not None
    assert message["Bcc"] is None
    assert "Evil Bcc: all@example.com . MAIL FROM:<x@example.com>" in text_of(message)
    assert "<script>" not in page.get_content()
    [envelope] = news.server.accepted
    assert isinstance(envelope.content, bytes)
    assert max(map(len, envelope.content.split(b"\r\n"))) < 998


async def test_two_processes_send_one_message(news: News) -> None:
    lists = [await news.confirmed() for _ in range(1)]
    for number in range(5):
        await news.add(lists[0], address=f"officer{number}@example.com", period="immediate")
    await news.sender.work()
    for message in news.server.messages:
        await news.use(link_in(message, "confirm"), LinkAction.CONFIRM)
    await news.sender.work()
    news.server.accepted.clear()
    await news.happened()
    news.later(minutes=1)

    await asyncio.gather(*(news.new_sender().work() for _ in range(4)))

    recipients = sorted(one.rcpt_tos[0] for one in news.server.accepted)
    assert recipients == sorted([ADDRESS, *(f"officer{n}@example.com" for n in range(5))])


async def test_unsubscribing_ends_a_digest_at_once(news: News) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()
    link = link_in(news.server.messages[0], "unsubscribe")
    seen = await news.use(link, LinkAction.SHOW)
    ended = await news.use(link, LinkAction.UNSUBSCRIBE)
    again = await news.use(link, LinkAction.UNSUBSCRIBE)
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()

    assert isinstance(seen, LinkReply)
    assert seen.state is DigestState.CONFIRMED
    assert isinstance(ended, LinkReply)
    assert isinstance(again, LinkReply)
    assert ended.state is again.state is DigestState.ENDED
    assert len(news.server.accepted) == 1
    [digest] = await news.shown(watchlist_id)
    assert (digest["state"], digest["ended_reason"]) == ("ended", DigestEnd.UNSUBSCRIBED)
    await news.add(watchlist_id)
    assert [one["state"] for one in await news.shown(watchlist_id)] == ["ended", "unconfirmed"]


async def test_a_digest_that_ends_before_the_end_of_its_message_is_not_sent(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)

    class Ending(DueDigests):
        async def offer(self, *args: Any, **fields: Any) -> bool:
            await news.database[DIGESTS].delete_many({})
            return await super().offer(*args, **fields)

    await replace(news.new_sender(), due=Ending(news.database)).work()

    assert news.server.accepted == []


#: A reply at each step of a session that is not the recipient's fault, and its cause.
FAULTS = [
    ({"MAIL": ["451 4.3.0 later"]}, "temporary"),
    ({"MAIL": ["550 5.7.1 sender refused"]}, "sender"),
    ({"MAIL": [HANG]}, "connection"),
    ({"RCPT": ["450 4.2.1 later"]}, "temporary"),
    ({"RCPT": ["421 4.3.2 closing"]}, "temporary"),
    ({"RCPT": ["554 5.7.1 relaying denied"]}, "sender"),
    ({"RCPT": [HANG_UP]}, "connection"),
    ({"DATA": ["451 4.3.0 later"]}, "temporary"),
    ({"DATA": ["554 5.5.1 no"]}, "sender"),
    ({"DATA": [HANG_UP]}, "connection"),
    ({"DATA": [HANG]}, "connection"),
    ({"END": ["452 4.3.1 full"]}, "temporary"),
    ({"END": ["554 5.7.0 spam"]}, "sender"),
]


@pytest.mark.parametrize("replies, reason", FAULTS, ids=[f"{one}" for one, _ in FAULTS])
async def test_a_failure_that_is_not_the_recipients_is_repeated_until_accepted(
    news: News, replies: dict[str, list[str]], reason: str
) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    news.server.replies = replies
    news.sender = news.new_sender(timeout=timedelta(seconds=0.2))
    with capture_logs() as logs:
        for _ in range(8):
            await news.sender.work()
            news.later(hours=1)
    accepted = len(news.server.accepted)
    news.server.replies = {}
    news.sender = news.new_sender()
    await news.sender.work()
    news.later(hours=1)
    await news.sender.work()

    failures = [one for one in logs if one["event"] == "digest.failed"]
    assert accepted == 0
    assert [one["reason"] for one in failures] == [reason] * 8
    assert ADDRESS not in str(logs)
    assert [one["Subject"] for one in news.server.messages] == ["Kunder: 1 change"]
    [digest] = await news.shown(watchlist_id)
    assert (digest["state"], digest["last_error"]) == ("confirmed", None)


async def test_a_failure_delays_the_next_try_more_each_time(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    news.server.replies = {"RCPT": ["450 4.2.1 later"]}

    delays = []
    for _ in range(8):
        await news.sender.work()
        due = (await news.stored())["due_at"]
        delays.append((due - news.now) // timedelta(minutes=1))
        news.at(due)

    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize("needs_login", [True, False], ids=["login", "no login"])
@pytest.mark.parametrize("tls", TlsMode)
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_a_server_takes_messages_over_each_connection(
    news: News, certificate: tuple[Any, Path], *, tls: TlsMode, needs_login: bool
) -> None:
    context = None if tls is TlsMode.NONE else certificate[0]
    async with mail_server(
        context, is_implicit=tls is TlsMode.TLS, needs_login=needs_login
    ) as server:
        login = {} if needs_login else {"username": "", "password": SecretStr("")}
        sender = news.new_sender(port=server.port, tls=tls, **login)
        await news.add(await news.watchlist())
        await sender.work()

    assert [one["To"] for one in server.messages] == [ADDRESS]


@pytest.mark.parametrize("settings", [
    {"port": 1},
    {"ca_file": ""},
    {"password": SecretStr("wrong")},
    {"tls": TlsMode.TLS},
], ids=["refused", "untrusted", "login", "no TLS"])  # fmt: skip
async def test_a_server_that_cannot_be_used_is_no_fault_of_the_recipient(
    news: News, settings: dict[str, Any]
) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    unusable = news.new_sender(**settings)
    with capture_logs() as logs:
        assert not await unusable.once()
    [digest] = await news.shown(watchlist_id)
    news.later(minutes=1)
    await news.sender.work()

    [failure] = [one for one in logs if one["event"] == "digest.failed"]
    assert failure["reason"] == ("login" if "password" in settings else "connection")
    assert PASSWORD not in str(logs)
    assert "wrong" not in str(logs)
    assert digest["state"] == "confirmed"
    assert len(news.server.accepted) == 1


async def test_an_address_that_is_refused_on_three_days_ends_its_digest(news: News) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    news.server.refused = {ADDRESS: "550 5.1.1 no such mailbox"}
    states = []
    for _ in range(4):
        news.later(days=1)
        await news.sender.work()
        states += [one["state"] for one in await news.shown(watchlist_id)]

    assert states == ["confirmed", "confirmed", "ended", "ended"]
    [digest] = await news.shown(watchlist_id)
    assert digest["ended_reason"] == DigestEnd.REFUSED
    assert digest["last_error"] == "550 5.1.1 no such mailbox"


async def test_a_request_to_confirm_that_is_refused_is_not_repeated(news: News) -> None:
    news.server.refused = {ADDRESS: "550 5.1.1 no such mailbox"}
    watchlist_id = await news.watchlist()
    await news.add(watchlist_id)
    await news.sender.work()

    [digest] = await news.shown(watchlist_id)
    assert (digest["state"], digest["ended_reason"]) == ("ended", DigestEnd.REFUSED)


async def test_a_feed_that_cannot_be_read_delays_a_message(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    news.feed.fault = Unavailable("no answer")
    with pytest.raises(Unavailable):
        await news.sender.work()
    since = news.now
    news.later(seconds=30)
    with pytest.raises(Unavailable):
        await news.sender.work()
    news.later(hours=1)
    assert await news.sender.due.oldest_due() == since  # for the alert
    news.feed.fault = None
    await news.sender.work()

    assert len(news.server.accepted) == 1
    assert await news.sender.due.oldest_due() == news.now + timedelta(seconds=30)


@pytest.mark.parametrize("end", [HANG_UP, HANG])
async def test_a_message_whose_acceptance_is_not_known_is_repeated_under_its_id(
    news: News, end: str
) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    news.server.replies = {"END": [end]}
    await news.new_sender(accept_timeout=timedelta(seconds=0.2)).work()
    await news.happened()
    news.server.replies = {}
    news.later(hours=1)
    await news.sender.work()
    news.later(hours=1)
    await news.sender.work()

    first, second, third = news.server.messages
    assert first["Message-ID"] == second["Message-ID"] != third["Message-ID"]
    assert text_of(first) == text_of(second)
    assert "Nyt 2" in text_of(third)
    assert "Nyt 1" not in text_of(third)


async def test_an_acceptance_is_recorded_after_the_election_of_a_primary(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)

    class Electing(DueDigests):
        tries = 0

        async def accepted(self, *args: Any, **fields: Any) -> bool:
            self.tries += 1
            if self.tries < 4:
                raise Unavailable("no primary")
            return await super().accepted(*args, **fields)

    sender = replace(news.new_sender(), due=Electing(news.database), between_records=0)
    await sender.work()
    news.later(minutes=20)
    await news.sender.work()

    assert len(news.server.accepted) == 1


async def test_a_message_whose_acceptance_cannot_be_recorded_is_repeated_under_its_id(
    news: News,
) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)

    class Lost(DueDigests):
        async def accepted(self, *_args: Any, **_fields: Any) -> bool:
            raise Unavailable("no primary")

    sender = replace(news.new_sender(), due=Lost(news.database), between_records=0)
    with pytest.raises(Unavailable):
        await sender.work()
    await news.happened()
    news.later(minutes=20)
    await news.sender.work()

    first, second = news.server.messages
    assert first["Message-ID"] == second["Message-ID"]
    assert text_of(first) == text_of(second)


async def test_a_deleted_list_ends_its_digests_and_deletes_the_addresses(news: News) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    await news.world.do(Operation.DELETE_WATCHLIST, watchlist_id=watchlist_id)
    news.later(minutes=1)
    await news.sender.work()
    await news.world.removing.work()

    assert news.server.accepted == []
    assert await news.world.stored(DIGESTS) == []


async def test_an_owner_sees_and_removes_their_own_digests_alone(news: News) -> None:
    watchlist_id = await news.watchlist()
    digest_id = await news.add(watchlist_id)
    theirs = await news.watchlist(owner=OTHER_OWNER)

    for owner, list_id in ((OTHER_OWNER, watchlist_id), (OTHER_OWNER, theirs)):
        failure = await news.world.refused(
            Operation.DELETE_DIGEST, owner=owner, watchlist_id=list_id, digest_id=digest_id
        )
        assert failure.code.endswith("not_found")
    await news.world.do(Operation.DELETE_DIGEST, watchlist_id=watchlist_id, digest_id=digest_id)
    assert await news.world.stored(DIGESTS) == []


async def test_the_tokens_of_links_are_encrypted_and_sealed_anew(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()
    token = link_in(news.server.messages[0], "unsubscribe").partition("token=")[2]

    stored = str(await news.stored())
    resealed = await reseal_tokens(news.database, secret_keys("k2", "k1"))

    assert token not in stored
    assert resealed == (1, [])
    assert (await news.stored())["token"]["key_id"] == "k2"


BAD_ADDRESSES = [
    "officer", "officer@", "@example.com", "officer@example", "a b@example.com",
    "a@example.com\r\nBcc: b@example.com", "a@example.com,b@example.com", "<a@example.com>",
    "a..b@example.com", "officer@127.0.0.1", "ø@example.com", f"{'a' * 65}@example.com", 1, None,
]  # fmt: skip


@pytest.mark.parametrize("address", BAD_ADDRESSES)
async def test_what_is_no_address_is_refused(news: News, address: object) -> None:
    failure = await news.world.refused(
        Operation.ADD_DIGEST,
        watchlist_id=await news.watchlist(),
        body=orjson.dumps({"address": address}),
    )

    assert failure.code is FailureCode.INVALID_BODY
    assert [one.parameter for one in failure.errors] == ["address"]
