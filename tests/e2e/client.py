"""The operations of a webhook owner, over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.delivery.receiver import Receiver
from tests.delivery.waiting import SOON, eventually

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    #: None where there is no body.
    body: Json | None

    @property
    def code(self) -> str | None:
        """The problem's, if it is one."""
        return None if self.body is None else self.body.get("code")


@dataclass(frozen=True, slots=True)
class Client:
    """A client with a key."""

    session: aiohttp.ClientSession

    async def ask(
        self,
        method: str,
        path: str = "",
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """`path` is below `/api/webhooks`."""
        async with self.session.request(
            method, f"/api/webhooks{path}", json=body, headers=headers
        ) as answer:
            content = await answer.json(content_type=None) if await answer.read() else None
            return Answer(answer.status, answer.headers, content)

    async def demand(self, method: str, path: str = "", body: Json | None = None) -> Json:
        """The body of an answer that is no problem."""
        answer = await self.ask(method, path, body)
        assert answer.status < 300, answer.body
        return answer.body or {}

    async def create(self, url: str, **fields: Any) -> Json:
        """The webhook with its secret; of every event unless `events` says otherwise."""
        return await self.demand("POST", body={"url": url, "events": ["*"], **fields})

    async def subscribe(self, receiver: Receiver, path: str, **fields: Any) -> Json:
        """A new webhook at one of the receiver's paths, which knows its secret."""
        webhook = await self.create(receiver.url(path), **fields)
        receiver.trust(path, webhook["secret"])
        return webhook

    async def test(self, webhook: Json) -> str:
        """The id of the delivery."""
        delivery_id: str = (await self.demand("POST", f"/{webhook['id']}/test"))["delivery_id"]
        return delivery_id

    async def webhook(self, webhook: Json) -> Json:
        """As it is now."""
        return await self.demand("GET", f"/{webhook['id']}")

    async def deliveries(self, webhook: Json, query: str = "") -> list[Json]:
        listed: list[Json] = (await self.demand("GET", f"/{webhook['id']}/deliveries{query}"))[
            "deliveries"
        ]
        return listed

    async def until_listed(self, webhook: Json, count: int, query: str = "") -> list[Json]:
        """The deliveries, newest first, once there are that many."""
        return await eventually(
            lambda: self.deliveries(webhook, query), lambda listed: len(listed) >= count
        )

    async def until_finished(self, webhook: Json, delivery_id: str) -> None:
        """An attempt is listed a moment before its delivery is settled and can be retried."""
        await eventually(
            lambda: self.demand("GET", f"/{webhook['id']}/deliveries/{delivery_id}"),
            lambda delivery: delivery["status"] != "pending",
        )

    async def until_webhook(self, webhook: Json, **fields: Any) -> Json:
        """The webhook as soon as these fields have these values."""
        return await eventually(
            lambda: self.webhook(webhook), lambda now: now.items() >= fields.items()
        )


@asynccontextmanager
async def client_with(key: str, base_url: str) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(
        base_url, headers={"X-API-Key": key}, timeout=aiohttp.ClientTimeout(total=SOON)
    ) as session:
        yield Client(session)
