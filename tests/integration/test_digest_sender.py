"""News by e-mail over MongoDB, the stored events and a real mail server with STARTTLS."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from email.headerregistry import Address
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pymongo.errors
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from common.contracts.events import FeedPage, FeedRequest
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.watchlists import DigestEnd, DigestState, LinkAction, LinkReply, LinkRequest
from common.contracts.webhook_api import Operation, WebhookReply
from common.mongo import Database, translated_errors
from tests.builders.outbox import Outbox
from tests.builders.webhooks import OTHER_OWNER, OWNER, a_request, secret_keys
from tests.fakes.webhook_registry import DIGEST_LIMITS, World
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
from webhook_registry.watchlists.digest_messages import MAX_LISTED, Messages
from webhook_registry.watchlists.digest_operations import AnswerLinks
from webhook_registry.watchlists.digest_sender import CLAIM, ReadChanges, Schedule, SendDigests
from webhook_registry.watchlists.mailer import Mailer, TlsMode
from webhook_registry.watchlists.mailer import MailServer as Address_
from webhook_store.collections import ASKED_ADDRESSES, DIGESTS
from webhook_store.digests import Digests, DueDigests, reseal_tokens, token_hash
from webhook_store.recipients import ConfirmationRequests, Recipients
from webhook_store.watchlists import Members, Watchlists

pytestmark = pytest.mark.integration

COMPANY, OTHER = "dk:12345674", "no:123456785"
ADDRESS = "officer@example.com"
#: Of the outbox of tests; in Copenhagen it is 13:00.
MAX_REQUESTS = 20
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
            Watchlists(self.database),
            Digests(self.database),
            Recipients(self.database),
            now=lambda: self.now,
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
            ConfirmationRequests(self.database),
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
            max_requests=MAX_REQUESTS,
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
        token = token.partition("&")[0]
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

    async def of_link(self, link: str) -> str | None:
        """The list of a link's digest."""
        stored = await self.database[DIGESTS].find_one({"_id": link.split("/")[3]})
        return None if stored is None else stored["watchlist_id"]

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
    # The request to confirm is no message with changes.
    assert digest["asked_at"] is not None
    assert digest["sent_at"] is None


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


async def test_variants_of_an_address_are_one_mailbox_whoever_adds_and_deletes_them(
    news: News,
) -> None:
    watchlist_id = await news.watchlist()
    for address in ("o.fficer@gmail.com", "of.ficer+a@googlemail.com", "officer@gmail.com"):
        digest_id = await news.add(watchlist_id, address=address)
        await news.sender.work()
        await news.world.do(Operation.DELETE_DIGEST, watchlist_id=watchlist_id, digest_id=digest_id)

    assert [one.rcpt_tos for one in news.server.accepted] == [["o.fficer@gmail.com"]]


async def test_an_owner_sends_so_many_requests_a_day_and_deletions_return_none(
    news: News,
) -> None:
    sender = replace(news.sender, max_requests=3)
    watchlist_id = await news.watchlist()
    for number in range(5):
        digest_id = await news.add(watchlist_id, address=f"officer{number}@example.com")
        await sender.work()
        if number < 3:
            await news.world.do(
                Operation.DELETE_DIGEST, watchlist_id=watchlist_id, digest_id=digest_id
            )
    of_other = await news.watchlist(owner=OTHER_OWNER)
    await news.add(of_other, address="officer4@example.com", owner=OTHER_OWNER)
    await sender.work()
    that_day = [one.rcpt_tos[0] for one in news.server.accepted]
    news.later(days=1)
    await sender.work()

    # A waiting request reserves no mailbox: another owner's request to it is sent.
    assert that_day == [f"officer{number}@example.com" for number in (0, 1, 2, 4)]
    assert {one.rcpt_tos[0] for one in news.server.accepted[4:]} == {
        f"officer{number}@example.com" for number in (3, 4)
    }
    counted = str(await news.world.stored(ASKED_ADDRESSES))
    assert OWNER not in counted
    assert "officer" not in counted


async def test_an_owner_adds_so_many_addresses_a_day_and_deletions_return_none(
    news: News,
) -> None:
    news.world = World(
        news.database, digest_limits=dataclasses.replace(DIGEST_LIMITS, new_in_day=3)
    )
    news.at(NOON)
    watchlist_id = await news.watchlist()

    async def added(number: int) -> WebhookReply | Failure:
        body = orjson.dumps({"address": f"officer{number}@example.com"})
        fields: dict[str, Any] = {"watchlist_id": watchlist_id, "body": body}
        return await news.world.ask(a_request(Operation.ADD_DIGEST, **fields))

    for number in (0, 1, 2):
        [*_, digest] = (await added(number), (await news.shown(watchlist_id))[0])
        await news.world.do(
            Operation.DELETE_DIGEST, watchlist_id=watchlist_id, digest_id=digest["id"]
        )
    refused, again = await added(3), await added(0)
    news.later(days=1)
    next_day = await added(3)

    assert isinstance(refused, Failure)
    assert (refused.code, refused.detail) == (
        FailureCode.WATCHLIST_LIMIT_REACHED,
        "you have added 3 new recipients within a day, which is the maximum; add more from "
        "2026-03-05T12:00:00Z on",
    )
    # Not a new one.
    assert isinstance(again, WebhookReply)
    assert isinstance(next_day, WebhookReply)


async def test_a_recipients_no_holds_until_the_recipient_confirms_again(news: News) -> None:
    first = await news.confirmed()
    second = await news.watchlist(name="Andre")
    await news.add(second, period="immediate")
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()
    link = link_in(news.server.messages[0], "unsubscribe")
    ended = [one for one in (first, second) if str(await news.of_link(link)) == one]
    await news.use(link, LinkAction.UNSUBSCRIBE)

    # Neither deletion, nor another list or tag, makes it a yes.
    await news.world.do(
        Operation.DELETE_DIGEST, watchlist_id=ended[0], digest_id=link.split("/")[3]
    )
    third = await news.watchlist(name="Flere")
    await news.add(ended[0])
    await news.add(third)
    [again], [more] = await news.shown(ended[0]), await news.shown(third)
    assert (again["state"], more["state"]) == ("unconfirmed", "unconfirmed")
    # The other list goes on.
    [kept] = await news.shown(second if ended[0] == first else first)
    assert kept["state"] == "confirmed"

    news.server.accepted.clear()
    news.later(days=1)
    await news.sender.work()
    await news.use(link_in(news.server.messages[0], "confirm"), LinkAction.CONFIRM)
    fourth = await news.watchlist(name="Sidste")
    await news.add(fourth)
    shown = [(await news.shown(one))[0]["state"] for one in (ended[0], third, fourth)]
    assert shown == ["confirmed"] * 3


async def test_a_no_while_the_owner_adds_the_address_makes_it_unconfirmed(news: News) -> None:
    watchlist_id = await news.confirmed()
    [confirmed] = await Digests(news.database).of_list(OWNER, watchlist_id)
    recipients = news.world.recipients

    class Refusing(Digests):
        async def add(self, *args: Any, **fields: Any) -> Any:
            made = await super().add(*args, **fields)
            await recipients.refuse(OWNER, confirmed.address, at=news.now)
            return made

    news.world = World(news.database, digest_store=Refusing)
    news.at(news.now)
    other = await news.watchlist(name="Andre")
    await news.add(other)

    assert [one["state"] for one in await news.shown(other)] == ["unconfirmed"]


async def test_everything_of_an_owner_is_ended_by_one_link(news: News) -> None:
    first = await news.confirmed()
    second = await news.watchlist(name="Andre")
    await news.add(second)
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()
    message = news.server.messages[0]
    assert "&everything=true" in text_of(message)
    assert "everything" not in message["List-Unsubscribe"]
    reply = await news.use(link_in(message, "unsubscribe"), LinkAction.REFUSE)

    assert isinstance(reply, LinkReply)
    assert (reply.state, reply.owner) == (DigestState.ENDED, OWNER)
    states = [(await news.shown(one))[0]["state"] for one in (first, second)]
    assert states == ["ended", "ended"]
    # Over another owner it says nothing.
    of_other = await news.watchlist(owner=OTHER_OWNER)
    await news.add(of_other, owner=OTHER_OWNER)
    news.later(days=1)
    news.server.accepted.clear()
    await news.sender.work()
    assert OTHER_OWNER in text_of(news.server.messages[0])


async def test_a_request_to_confirm_can_be_refused_and_is_repeated_once_a_month(
    news: News,
) -> None:
    watchlist_id = await news.watchlist()
    digest_id = await news.add(watchlist_id)
    await news.sender.work()
    assert "&everything=true" in text_of(news.server.messages[0])
    await news.use(link_in(news.server.messages[0], "unsubscribe"), LinkAction.REFUSE)
    [refused] = await news.shown(watchlist_id)
    days = []
    for day in range(1, 62):
        await news.world.do(Operation.DELETE_DIGEST, watchlist_id=watchlist_id, digest_id=digest_id)
        digest_id = await news.add(watchlist_id)
        news.later(days=1)
        before = len(news.server.accepted)
        await news.sender.work()
        if len(news.server.accepted) > before:
            days.append(day)

    assert refused["state"] == "ended"
    assert days == [1, 31, 61]


async def test_the_link_of_an_older_message_ends_what_has_taken_its_place(news: News) -> None:
    watchlist_id = await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    await news.sender.work()
    link = link_in(news.server.messages[0], "unsubscribe")
    await news.use(link, LinkAction.UNSUBSCRIBE)
    news.later(days=1)
    await news.add(watchlist_id)
    news.server.accepted.clear()
    await news.sender.work()
    await news.use(link_in(news.server.messages[0], "confirm"), LinkAction.CONFIRM)
    seen = await news.use(link, LinkAction.SHOW)
    await news.use(link, LinkAction.UNSUBSCRIBE)

    assert isinstance(seen, LinkReply)
    assert seen.state is DigestState.CONFIRMED
    assert {one["state"] for one in await news.shown(watchlist_id)} == {"ended"}


async def test_the_names_of_lists_on_a_page_lead_nowhere(news: News) -> None:
    names = [
        "Vind på bit.example/x nu",
        "Skriv til anna@example.com",
        "http://198.51.100.7 198.51.100.7",
        "\u202ekcilc\u202c www.example",
        "A.P. Prøve A/S, nr. 1.2",
        "lang " * 15,
    ]
    for name in [*names, *(f"Liste {number}" for number in range(6))]:
        await news.add(await news.watchlist(name=name))
        news.later(seconds=1)
    await news.sender.work()
    seen = await news.use(link_in(news.server.messages[0], "confirm"), LinkAction.SHOW)

    assert isinstance(seen, LinkReply)
    assert seen.watchlists[:5] == (
        "Vind på … nu",
        "Skriv til …",
        "… …",
        "kcilc …",
        "A.P. Prøve A/S, nr. 1.2",
    )
    assert len(seen.watchlists[5]) == 60
    assert (len(seen.watchlists), seen.more) == (10, 2)


async def test_a_message_of_a_process_that_was_killed_is_sent_within_the_minute(
    news: News,
) -> None:
    await news.confirmed()
    await news.happened()
    news.later(seconds=30)
    due = DueDigests(news.database)
    assert await due.claim("killed", at=news.now, until=news.now + CLAIM) is not None
    news.later(seconds=23)
    await news.sender.work()
    before = len(news.server.accepted)
    news.later(seconds=2)
    await news.sender.work()

    assert (before, len(news.server.accepted)) == (0, 1)


@pytest.mark.parametrize("period", ["immediate", "daily"])
@pytest.mark.parametrize("days", [0.1, 400])
async def test_a_clock_that_was_fast_delays_messages_by_a_day_at_most(
    news: News, period: str, days: float
) -> None:
    """Row of the table of faults: the database's clock jumps, and is set right again."""
    watchlist_id = await news.confirmed(period)
    await news.add(watchlist_id, address="other@example.com")
    news.later(days=days)
    await news.sender.work()
    asked_at_jump = [one.rcpt_tos[0] for one in news.server.accepted]
    assert await DueDigests(news.database).claim("died", at=news.now, until=news.now + CLAIM) or 1
    news.later(days=-days)
    await news.happened()
    for _ in range(15):
        news.later(hours=2)
        await news.sender.work()
    await news.add(watchlist_id, address="third@example.com")
    await news.sender.work()

    assert "other@example.com" in asked_at_jump
    assert sum("Nyt 1" in text_of(message) for message in news.server.messages) == 1
    assert news.server.accepted[-1].rcpt_tos == ["third@example.com"]


async def test_a_fast_clock_uses_up_no_budget_of_later_days(news: News) -> None:
    sender = replace(news.sender, max_requests=1)
    watchlist_id = await news.watchlist()
    news.later(days=400)
    await news.add(watchlist_id)
    await sender.work()
    news.later(days=-400)
    await news.add(watchlist_id, address="other@example.com")
    await sender.work()

    assert [one.rcpt_tos[0] for one in news.server.accepted] == [ADDRESS, "other@example.com"]


async def test_a_database_without_room_delays_a_message_and_repeats_none(news: News) -> None:
    """Row of the table of faults: writes are refused, as on a full disk."""
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)

    class Full(DueDigests):
        async def offer(self, *_args: Any, **_fields: Any) -> bool:
            with translated_errors():
                raise pymongo.errors.OperationFailure("no room", 14031)

    with pytest.raises(Unavailable):
        await replace(news.new_sender(), due=Full(news.database)).work()
    before = len(news.server.accepted)
    news.later(minutes=1)
    await news.sender.work()

    assert (before, len(news.server.accepted)) == (0, 1)


async def test_a_claim_is_renewed_while_the_mail_server_takes_its_time(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(minutes=1)
    renewed = asyncio.Event()

    class Renewing(DueDigests):
        async def renew(self, *args: Any, **fields: Any) -> bool:
            news.later(seconds=20)
            is_held = await super().renew(*args, **fields)
            renewed.set()
            return is_held

        async def accepted(self, *args: Any, **fields: Any) -> bool:
            # The server took more than two claims to accept the message.
            for _ in range(3):
                renewed.clear()
                await renewed.wait()
            await news.sender.work()
            return await super().accepted(*args, **fields)

    slow = replace(news.new_sender(), due=Renewing(news.database), renewal=0.01)
    await slow.work()

    assert len(news.server.accepted) == 1


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
    assert message["Subject"] == "2 changes – Kunder"
    assert text.count("Prøve ApS: name changed") == 2
    assert "Name: Nyt 1" in text
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

    assert news.server.messages[-1]["Subject"] == "1 change – Kunder"
    assert "Nyt 2" in text_of(news.server.messages[-1])


async def test_a_large_list_is_compared_with_the_events(news: News) -> None:
    await news.confirmed(companies=[f"no:{number}" for number in range(800_000_000, 800_000_250)])
    await news.happened("no:800000007", 3)
    await news.happened(OTHER, 3)
    news.later(minutes=1)
    await news.sender.work()

    [message] = news.server.messages
    assert message["Subject"] == "3 changes – Kunder"
    assert "NO 800000007" in text_of(message)
    assert "NO 123456785" not in text_of(message)


async def test_a_message_lists_the_first_changes_and_counts_the_others(news: News) -> None:
    await news.confirmed()
    await news.happened(number=MAX_LISTED + 5)
    news.later(minutes=1)
    await news.sender.work()

    [message] = news.server.messages
    text = text_of(message)
    assert message["Subject"] == "205 changes – Kunder"
    assert text.count("name changed") == MAX_LISTED
    assert "and not 5 more" in text
    assert f"https://portal.example.com/watchlists/{(await news.stored())['watchlist_id']}" in text


async def test_changes_that_expired_unsent_are_named(news: News) -> None:
    await news.confirmed()
    await news.happened()
    news.later(days=20)
    await news.happened()
    news.later(days=20)
    await news.sender.work()

    [message] = news.server.messages
    assert message["Subject"] == "1 change – Kunder"
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
    assert [one["Subject"] for one in news.server.messages] == ["1 change – Kunder"]
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
