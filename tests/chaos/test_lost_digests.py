"""News by e-mail while the broker is emptied and every process on its way is killed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

from common.contracts.events import Change, EventCompany, EventData
from common.contracts.watchlists import Digest, DigestId, DigestState, Period, WatchlistId
from common.contracts.webhook_api import Operation
from common.mongo import Database
from local_stack.management import Management
from local_stack.system import Service
from tests.builders.companies import a_company
from tests.builders.webhooks import OWNER, secret_keys
from tests.chaos.test_lost_events import Outbox, replace_the_broker
from tests.delivery.pipeline import COMPANY, Pipeline, an_event
from tests.delivery.waiting import eventually
from tests.fakes.webhook_registry import World
from tests.mail_server import PASSWORD, USER, MailServer, certificate_in, mail_server, text_of
from webhook_store.digests import Digests

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Interval, claim, and the time that a process takes to start.
WITHIN = 60.0


class News:
    """A list with a confirmed address, and the processes between a change and its message."""

    def __init__(self, pipe: Pipeline, register: Database, server: MailServer, ca: Path) -> None:
        self.pipe, self.register, self.server, self.ca = pipe, register, server, ca
        self.outbox = Outbox(register)
        self.revision = 0

    async def subscribe(self) -> None:
        webhooks, now = self.pipe.webhooks_db, datetime.now(UTC)
        registry = World(webhooks)
        made = await registry.do(Operation.CREATE_WATCHLIST, body=b'{"name": "Kunder"}')
        watchlist = WatchlistId(orjson.loads(made.body)["id"])
        body = orjson.dumps({"add": [f"dk:{COMPANY}"]})
        await registry.do(Operation.CHANGE_WATCHED, watchlist_id=watchlist, body=body)
        digest = Digest(
            id=DigestId(f"dg_{uuid4().hex}"),
            owner=OWNER,
            watchlist_id=watchlist,
            address="officer@example.com",
            period=Period.IMMEDIATE,
            state=DigestState.CONFIRMED,
            created_at=now,
            confirmed_at=now,
        )
        await Digests(webhooks).add(digest, token="invented", keys=secret_keys())

    async def start(self, *modules: str) -> list[Service]:
        settings = {"register_db": self.register.name}
        started = []
        for module in modules:
            if module == "digests":
                service = self.pipe.system.start(
                    "webhook_registry",
                    name=f"digests-{uuid4().hex[:8]}",
                    command=("digests",),
                    smtp_host="127.0.0.1",
                    smtp_port=str(self.server.port),
                    smtp_username=USER,
                    smtp_password=PASSWORD,
                    smtp_ca_file=str(self.ca),
                    mail_from="Registry <news@example.com>",
                    public_url="https://registry.example.com",
                    digest_interval="PT0.2S",
                )
            else:
                folder = {"index_dir": str(self.pipe.system.folder / uuid4().hex)}
                service = self.pipe.system.start(
                    module, **settings, **(folder if module == "lookup" else {})
                )
            started.append(service)
        for service in started:
            await asyncio.to_thread(service.wait_until_ready)
        return started

    async def happens(self) -> None:
        self.revision += 1
        change = Change(field="name", old=None, new=f"Nyt {self.revision}.")
        company = {**a_company(vat=COMPANY).model_dump(), "revision": self.revision}
        data = EventData(company=EventCompany.model_validate(company), changes=(change,))
        await self.outbox.add([an_event(self.revision, data=data)])

    async def arrives(self) -> None:
        """Waits for the message about the last change."""

        async def texts() -> str:
            return "".join(text_of(message) for message in self.server.messages)

        await eventually(texts, lambda text: f"Nyt {self.revision}." in text, seconds=WITHIN)


@pytest.fixture
async def news(pipe: Pipeline, register_db: Database, tmp_path: Path) -> AsyncIterator[News]:
    context, authority = certificate_in(tmp_path)
    async with mail_server(context) as server:
        yield News(pipe, register_db, server, authority)


async def test_news_survive_an_emptied_broker_and_kills_of_every_process(
    news: News, broker_management: Management, own_vhost: str
) -> None:
    """Rows of the table of faults: RabbitMQ emptied; lookup, ingest and digests killed."""
    await news.subscribe()
    running = await news.start("lookup", "ingest", "digests")
    await news.happens()
    await news.arrives()

    await asyncio.to_thread(replace_the_broker, broker_management, own_vhost)
    await news.happens()
    await news.arrives()

    for module, service in zip(("lookup", "ingest", "digests"), running, strict=True):
        await news.happens()
        await news.pipe.kill(service)
        await news.start(module)
        await news.arrives()

    sent = [message["Message-ID"] for message in news.server.messages]
    assert len(set(sent)) >= 5
    texts = {message["Message-ID"]: text_of(message) for message in news.server.messages}
    for number in range(1, news.revision + 1):
        assert sum(f"Nyt {number}." in text for text in texts.values()) == 1
