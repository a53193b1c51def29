"""Gateway and webhook registry respond as the OpenAPI document describes.

The registry's operations run in this process, over MongoDB and a fake of its broker.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.customer_files import MAX_DECISIONS
from common.contracts.watchlists import MAX_CHANGED
from common.contracts.webhook_api import Operation
from common.mongo import Database
from gateway.problems import PROBLEMS
from tests.builders.openapi import DOCUMENT, assert_response, example
from tests.builders.webhooks import NOON, OWNER
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar
from webhook_registry.customer_files import FileLimits
from webhook_registry.urls import MAX_URL_LENGTH
from webhook_registry.watchlists.digest_operations import DigestLimits, NewDigest
from webhook_registry.watchlists.watchlist_bodies import (
    MAX_NAME_LENGTH,
    ListChanges,
    NewList,
    read_watched,
    read_watched_changes,
)
from webhook_registry.webhook_bodies import (
    MAX_COMPANIES,
    MAX_DESCRIPTION_LENGTH,
    PATTERNS,
    NewWebhook,
    WebhookChanges,
    Window,
)
from webhook_registry.webhooks import stopped_by_operator

pytestmark = pytest.mark.integration

NEW_WEBHOOK = example("NewWebhook")
[ATTEMPT] = example("AttemptList")["deliveries"]
DELIVERY_ID = ATTEMPT["delivery_id"]
SCHEMAS = DOCUMENT["components"]["schemas"]
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Service:
    gateway: Gateway
    registrar: Registrar

    async def send(self, method: str, path: str, **options: Any) -> ClientResponse:
        headers = {**self.gateway.issue(owner=OWNER), **JSON, **options.pop("headers", {})}
        return await self.gateway.client.request(method, path, headers=headers, **options)

    async def created(self) -> str:
        """The id of a new webhook."""
        answer = await self.send("POST", "/api/webhooks", data=orjson.dumps(NEW_WEBHOOK))
        document: dict[str, Any] = await answer.json()
        return str(document["id"])

    async def disabled(self) -> str:
        """The id of a new webhook that its owner has disabled."""
        webhook_id = await self.created()
        await self.send("PATCH", f"/api/webhooks/{webhook_id}", data=b'{"status":"disabled"}')
        return webhook_id


@pytest.fixture(name="service")
async def _service(empty_webhooks_db: Database) -> AsyncIterator[Service]:
    registrar = Registrar(World(empty_webhooks_db))
    async with a_gateway(registrar=registrar) as gateway:
        yield Service(gateway, registrar)


Story = Callable[[Service], Awaitable[ClientResponse]]


def _under_one_key(*descriptions: str) -> Story:
    """Creations with the same idempotency key; the answer is the last one's."""

    async def story(service: Service) -> ClientResponse:
        for description in descriptions:
            body = orjson.dumps({**NEW_WEBHOOK, "description": description})
            answer = await service.send("POST", HOOKS, data=body, headers={"Idempotency-Key": "k"})
        is_replay = answer.status == 201
        assert answer.headers.get("Idempotency-Replayed") == ("true" if is_replay else None)
        return answer

    return story


async def _full(service: Service) -> ClientResponse:
    for _ in range(51):
        answer = await service.send("POST", HOOKS, data=orjson.dumps(NEW_WEBHOOK))
    return answer


def _ask(
    method: str,
    path: str,
    *,
    disabled: bool = False,
    delivery: Mapping[str, Any] | None = None,
    **options: Any,
) -> Story:
    """A request; `{id}` in its path is a new webhook, with this delivery."""

    async def story(service: Service) -> ClientResponse:
        webhook_id = ""
        if "{id}" in path:
            webhook_id = await (service.disabled() if disabled else service.created())
        if delivery is not None:
            world = service.registrar.world
            await world.keep_delivery(webhook_id, DELIVERY_ID, **delivery)
            await world.keep_attempt(webhook_id, ATTEMPT)
        return await service.send(method, path.format(id=webhook_id), **options)

    return story


async def _enable_what_the_operator_disabled(service: Service) -> ClientResponse:
    webhook_id = await service.created()
    await service.registrar.world.registrations.change(
        OWNER, webhook_id, lambda webhook: stopped_by_operator(webhook, at=NOON)
    )
    return await service.send("PATCH", f"{HOOKS}/{webhook_id}", data=b'{"status": "enabled"}')


async def _rotate_twice(service: Service) -> ClientResponse:
    path = f"{HOOKS}/{await service.created()}/rotate-secret"
    await service.send("POST", path)
    answer = await service.send("POST", path)
    assert (await answer.json(content_type=None))["possible_from"] == "2026-03-03T12:00:00Z"
    return answer


def _list(method: str, path: str, *, used: bool = False, **options: Any) -> Story:
    """A request; `{list}` in its path is a new watchlist, which a webhook may use."""

    async def story(service: Service) -> ClientResponse:
        made = await service.send("POST", LISTS, data=orjson.dumps(example("NewWatchlist")))
        watchlist_id = (await made.json())["id"]
        if used:
            body = {**NEW_WEBHOOK, "filter": {"watchlists": [watchlist_id]}}
            await service.send("POST", HOOKS, data=orjson.dumps(body))
        return await service.send(method, path.format(list=watchlist_id), **options)

    return story


def _digest(
    method: str, path: str, *, added: bool = False, data: bytes | None = None, **limits: Any
) -> Story:
    """A request; `{list}` is a new watchlist, which may have one digest, `{digest}`."""

    async def story(service: Service) -> ClientResponse:
        service.registrar.world = World(service.registrar.world.database, **limits)
        made = await service.send("POST", LISTS, data=orjson.dumps(example("NewWatchlist")))
        names = {"list": (await made.json())["id"], "digest": ""}
        if added:
            new = await service.send("POST", DIGESTS.format(**names), data=DIGEST)
            names["digest"] = (await new.json())["id"]
        return await service.send(method, path.format(**names), data=data)

    return story


def _list_twice(first: str, second: str) -> Story:
    """Two changes of companies with the same idempotency key."""

    async def story(service: Service) -> ClientResponse:
        made = await service.send("POST", LISTS, data=orjson.dumps(example("NewWatchlist")))
        path = f"{LISTS}/{(await made.json())['id']}/companies"
        for company in (first, second):
            body = orjson.dumps({"add": [company]})
            answer = await service.send("PATCH", path, data=body, headers={"Idempotency-Key": "k"})
        return answer

    return story


def _full_lists(method: str, path: str, **limits: Any) -> Story:
    async def story(service: Service) -> ClientResponse:
        world = World(service.registrar.world.database, **limits)
        service.registrar.world = world
        return await _list(method, path, data=orjson.dumps(BODIES[method]))(service)

    return story


def _file(method: str, path: str, *, has_part: bool = False, data: bytes | None = None) -> Story:
    """A request; `{file}` in its path is a new file of customers."""

    async def story(service: Service) -> ClientResponse:
        made = await service.send("POST", FILES, data=orjson.dumps(example("NewCustomerFile")))
        path_of_file = path.format(file=(await made.json())["id"])
        if has_part:
            await service.send("PUT", path_of_file, data=b'{"rows": []}')
        return await service.send(method, path_of_file, data=data)

    return story


async def _many_decisions(service: Service) -> ClientResponse:
    made = await service.send("POST", FILES, data=orjson.dumps(example("NewCustomerFile")))
    file_id = (await made.json())["id"]
    files = service.registrar.world.database["customer_files"]
    await files.update_one({"_id": file_id}, {"$set": {"decisions": MAX_DECISIONS}})
    return await service.send("POST", f"{FILES}/{file_id}/decisions", data=b"{}")


def _full_files(path: str, method: str, data: bytes, *, files: int, size: int) -> Story:
    async def story(service: Service) -> ClientResponse:
        limits = FileLimits(timedelta(days=30), files=files, size=size)
        service.registrar.world = World(service.registrar.world.database, file_limits=limits)
        return await _file(method, path, data=data)(service)

    return story


#: Rows of a delivery: one that failed, one that was cancelled, one whose attempt is in flight.
FAILED = {"state": "failed", "attempts": ATTEMPT["attempt"]}
CANCELLED = {"state": "cancelled", "reason": "webhook_disabled"}
IN_FLIGHT = {"claim": "token", "lease_until": NOON + timedelta(seconds=30)}

HOOKS, ONE, NONE = "/api/webhooks", "/api/webhooks/{id}", "/api/webhooks/wh_unknown"
RETRY = f"{ONE}/deliveries/{DELIVERY_ID}/retry"
LISTS, LIST, NO_LIST = "/api/watchlists", "/api/watchlists/{list}", "/api/watchlists/wl_unknown"
WATCHED = f"{LIST}/companies"
FILES, FILE, NO_FILE = (
    "/api/customer-files",
    "/api/customer-files/{file}",
    "/api/customer-files/cf_1",
)
NEW_FILE = orjson.dumps(example("NewCustomerFile"))
DIGESTS = f"{LIST}/digests"
DIGEST = b'{"address": "news@example.com"}'
#: The body of a request about companies, or of a new list, by its method.
BODIES = {
    "POST": example("NewWatchlist"),
    "PATCH": example("WatchedChanges"),
    "PUT": example("Watched"),
}
WINDOW = b'{"since": "2026-03-01T00:00:00Z"}'
LARGE = b" " * (64 * 1024 + 1)
COMPRESSED: dict[str, Any] = {"headers": {"Content-Encoding": "gzip"}, "data": b"{}"}
TEXT: dict[str, Any] = {"headers": {"Content-Type": "text/plain"}, "data": b"text"}

#: A request for each described response: operation, status or code of the problem, story.
STORIES: list[tuple[str, int | str, Story]] = [
    ("create", 201, _ask("POST", HOOKS, data=orjson.dumps(NEW_WEBHOOK))),
    ("create", 201, _under_one_key("one", "one")),
    ("create", "invalid_body", _ask("POST", HOOKS, data=b"{}")),
    ("create", "idempotency_conflict", _under_one_key("one", "another")),
    ("create", "webhook_limit_reached", _full),
    ("create", "body_too_large", _ask("POST", HOOKS, data=LARGE)),
    ("create", "unsupported_media_type", _ask("POST", HOOKS, **TEXT)),
    ("list", 200, _ask("GET", HOOKS)),
    ("get", 200, _ask("GET", ONE)),
    ("get", "webhook_not_found", _ask("GET", NONE)),
    ("change", 200, _ask("PATCH", ONE, data=b'{"status": "disabled"}')),
    ("change", "invalid_body", _ask("PATCH", ONE, data=b'{"url": "http://a.example"}')),
    ("change", "webhook_not_found", _ask("PATCH", NONE, data=b"{}")),
    ("change", "webhook_disabled", _enable_what_the_operator_disabled),
    ("change", "body_too_large", _ask("PATCH", ONE, data=LARGE)),
    ("change", "unsupported_media_type", _ask("PATCH", ONE, **TEXT)),
    ("delete", 204, _ask("DELETE", ONE)),
    ("delete", "webhook_not_found", _ask("DELETE", NONE)),
    ("rotate_secret", 200, _ask("POST", f"{ONE}/rotate-secret")),
    ("rotate_secret", "rotation_pending", _rotate_twice),
    ("rotate_secret", "webhook_not_found", _ask("POST", f"{NONE}/rotate-secret")),
    ("test", 202, _ask("POST", f"{ONE}/test")),
    ("test", "invalid_parameter", _ask("POST", f"{ONE}/test", headers={"Idempotency-Key": "a b"})),
    ("test", 202, _ask("POST", f"{ONE}/test", data=b'{"type": "owners.changed"}')),
    ("test", "invalid_body", _ask("POST", f"{ONE}/test", data=b'{"type": "owners"}')),
    ("test", "unsupported_media_type", _ask("POST", f"{ONE}/test", **TEXT)),
    ("test", "webhook_not_found", _ask("POST", f"{NONE}/test")),
    ("test", "webhook_disabled", _ask("POST", f"{ONE}/test", disabled=True)),
    ("test", "body_too_large", _ask("POST", f"{ONE}/test", data=LARGE)),
    ("test", "unsupported_media_type", _ask("POST", f"{ONE}/test", **COMPRESSED)),
    ("deliveries", 200, _ask("GET", f"{ONE}/deliveries", delivery=FAILED)),
    (
        "deliveries",
        200,
        _ask("GET", f"{ONE}/deliveries?status=cancelled", delivery=CANCELLED),
    ),
    ("deliveries", "invalid_parameter", _ask("GET", f"{ONE}/deliveries?status=lost")),
    ("deliveries", "webhook_not_found", _ask("GET", f"{NONE}/deliveries")),
    ("delivery", 200, _ask("GET", f"{ONE}/deliveries/{DELIVERY_ID}", delivery=FAILED)),
    ("delivery", "webhook_not_found", _ask("GET", f"{NONE}/deliveries/{DELIVERY_ID}")),
    ("delivery", "delivery_not_found", _ask("GET", f"{ONE}/deliveries/{DELIVERY_ID}")),
    ("retry", 202, _ask("POST", RETRY, delivery=FAILED)),
    ("retry", "delivery_not_found", _ask("POST", RETRY)),
    ("retry", "delivery_pending", _ask("POST", RETRY, delivery=IN_FLIGHT)),
    ("retry", "webhook_disabled", _ask("POST", RETRY, disabled=True)),
    ("recover", 202, _ask("POST", f"{ONE}/recover", data=WINDOW)),
    ("recover", "invalid_body", _ask("POST", f"{ONE}/recover", data=b"{}")),
    ("recover", "webhook_not_found", _ask("POST", f"{NONE}/recover", data=WINDOW)),
    ("recover", "webhook_disabled", _ask("POST", f"{ONE}/recover", disabled=True, data=WINDOW)),
    ("recover", "body_too_large", _ask("POST", f"{ONE}/recover", data=LARGE)),
    ("recover", "unsupported_media_type", _ask("POST", f"{ONE}/recover", **TEXT)),
    ("event_types", 200, _ask("GET", "/api/event-types")),
    ("create_watchlist", 201, _list("POST", LISTS, data=b'{"name": "a"}')),
    ("create_watchlist", "invalid_body", _list("POST", LISTS, data=b"{}")),
    ("create_watchlist", "watchlist_limit_reached", _full_lists("POST", LISTS, max_watchlists=1)),
    ("create_watchlist", "body_too_large", _list("POST", LISTS, data=LARGE)),
    ("create_watchlist", "unsupported_media_type", _list("POST", LISTS, **TEXT)),
    ("list_watchlists", 200, _list("GET", LISTS)),
    ("get_watchlist", 200, _list("GET", LIST)),
    ("get_watchlist", "watchlist_not_found", _list("GET", NO_LIST)),
    ("change_watchlist", 200, _list("PATCH", LIST, data=b'{"name": "b"}')),
    ("change_watchlist", "invalid_body", _list("PATCH", LIST, data=b'{"size": 1}')),
    ("change_watchlist", "watchlist_not_found", _list("PATCH", NO_LIST, data=b"{}")),
    ("change_watchlist", "body_too_large", _list("PATCH", LIST, data=LARGE)),
    ("change_watchlist", "unsupported_media_type", _list("PATCH", LIST, **TEXT)),
    ("delete_watchlist", 204, _list("DELETE", LIST)),
    ("delete_watchlist", "watchlist_not_found", _list("DELETE", NO_LIST)),
    ("delete_watchlist", "watchlist_in_use", _list("DELETE", LIST, used=True)),
    ("list_watched", 200, _list("GET", WATCHED)),
    ("renew_feed", 200, _list("POST", f"{LIST}/feed")),
    ("renew_feed", "watchlist_not_found", _list("POST", f"{NO_LIST}/feed")),
    ("end_feed", 204, _list("DELETE", f"{LIST}/feed")),
    ("end_feed", "watchlist_not_found", _list("DELETE", f"{NO_LIST}/feed")),
    ("add_digest", 201, _digest("POST", DIGESTS, data=DIGEST)),
    ("add_digest", 200, _digest("POST", DIGESTS, added=True, data=DIGEST)),
    ("add_digest", "invalid_body", _list("POST", DIGESTS, data=b'{"address": "a@b"}')),
    ("add_digest", "watchlist_not_found", _list("POST", f"{NO_LIST}/digests", data=DIGEST)),
    ("add_digest", "digests_disabled", _digest("POST", DIGESTS, email_digests=False, data=DIGEST)),
    (
        "add_digest",
        "watchlist_limit_reached",
        _digest("POST", DIGESTS, digest_limits=DigestLimits(0, 0, 0, 0), data=DIGEST),
    ),
    ("add_digest", "body_too_large", _list("POST", DIGESTS, data=LARGE)),
    ("add_digest", "unsupported_media_type", _list("POST", DIGESTS, **TEXT)),
    ("list_digests", 200, _digest("GET", DIGESTS, added=True)),
    ("list_digests", "watchlist_not_found", _list("GET", f"{NO_LIST}/digests")),
    ("delete_digest", 204, _digest("DELETE", f"{DIGESTS}/{{digest}}", added=True)),
    ("delete_digest", "digest_not_found", _list("DELETE", f"{DIGESTS}/dg_1")),
    ("create_file", 201, _file("POST", FILES, data=NEW_FILE)),
    ("create_file", "invalid_body", _file("POST", FILES, data=b'{"name": "a", "rows": "1"}')),
    (
        "create_file",
        "customer_file_limit_reached",
        _full_files(FILES, "POST", NEW_FILE, files=1, size=2**20),
    ),
    ("create_file", "body_too_large", _file("POST", FILES, data=LARGE)),
    ("create_file", "unsupported_media_type", _list("POST", FILES, **TEXT)),
    ("list_files", 200, _file("GET", FILES)),
    ("get_file", 200, _file("GET", FILE)),
    ("get_file", "customer_file_not_found", _file("GET", NO_FILE)),
    ("delete_file", 204, _file("DELETE", FILE)),
    ("delete_file", "customer_file_not_found", _file("DELETE", NO_FILE)),
    ("get_part", 200, _file("GET", f"{FILE}/parts/0", has_part=True)),
    ("get_part", "customer_file_not_found", _file("GET", f"{FILE}/parts/400")),
    ("put_part", 204, _file("PUT", f"{FILE}/parts/0", data=b"{}")),
    ("put_part", "invalid_body", _file("PUT", f"{FILE}/parts/0", data=b"{")),
    ("put_part", "customer_file_not_found", _file("PUT", f"{NO_FILE}/parts/0", data=b"{}")),
    (
        "put_part",
        "customer_file_limit_reached",
        _full_files(f"{FILE}/parts/0", "PUT", b"{}", files=5, size=1),
    ),
    ("put_part", "body_too_large", _file("PUT", f"{FILE}/parts/0", data=LARGE * 4)),
    ("put_part", "unsupported_media_type", _list("PUT", f"{NO_FILE}/parts/0", **TEXT)),
    ("add_decision", 201, _file("POST", f"{FILE}/decisions", data=b'{"row": 1}')),
    ("add_decision", "invalid_body", _file("POST", f"{FILE}/decisions", data=b"[1]")),
    ("add_decision", "customer_file_not_found", _file("POST", f"{NO_FILE}/decisions", data=b"{}")),
    ("add_decision", "customer_file_limit_reached", _many_decisions),
    ("add_decision", "body_too_large", _file("POST", f"{FILE}/decisions", data=LARGE)),
    ("add_decision", "unsupported_media_type", _list("POST", f"{NO_FILE}/decisions", **TEXT)),
    ("list_decisions", 200, _file("GET", f"{FILE}/decisions")),
    ("list_decisions", "invalid_parameter", _file("GET", f"{FILE}/decisions?after=x")),
    ("list_decisions", "customer_file_not_found", _file("GET", f"{NO_FILE}/decisions")),
    ("list_watched", "watchlist_not_found", _list("GET", f"{NO_LIST}/companies")),
    ("change_watched", 200, _list("PATCH", WATCHED, data=orjson.dumps(BODIES["PATCH"]))),
    ("change_watched", 200, _list_twice("dk:12345674", "dk:12345674")),
    ("change_watched", "idempotency_conflict", _list_twice("dk:12345674", "dk:87654325")),
    ("change_watched", "invalid_body", _list("PATCH", WATCHED, data=b'{"add": ["dk:1"]}')),
    ("change_watched", "watchlist_not_found", _list("PATCH", f"{NO_LIST}/companies", data=b"{}")),
    (
        "change_watched",
        "watchlist_limit_reached",
        _full_lists("PATCH", WATCHED, max_companies_in_list=1),
    ),
    ("change_watched", "body_too_large", _list("PATCH", WATCHED, data=LARGE * 4)),
    ("change_watched", "unsupported_media_type", _list("PATCH", WATCHED, **TEXT)),
    ("replace_watched", 200, _list("PUT", WATCHED, data=orjson.dumps(BODIES["PUT"]))),
    ("replace_watched", "invalid_body", _list("PUT", WATCHED, data=b"{}")),
    (
        "replace_watched",
        "watchlist_not_found",
        _list("PUT", f"{NO_LIST}/companies", data=orjson.dumps(BODIES["PUT"])),
    ),
    (
        "replace_watched",
        "watchlist_limit_reached",
        _full_lists("PUT", WATCHED, max_companies_of_owner=1),
    ),
    ("replace_watched", "body_too_large", _list("PUT", WATCHED, data=LARGE * 4)),
    ("replace_watched", "unsupported_media_type", _list("PUT", WATCHED, **TEXT)),
    *(
        (
            operation,
            "invalid_parameter",
            _ask(
                operation.method,
                re.sub("{([a-z]+_id|part)}", "x", operation.path) + "?limits=1",
            ),
        )
        for operation in Operation
    ),
]
#: Statuses with the same cause in every operation: see test_answers.py.
COMMON = {401, 403, 429, 500, 503}


def status_of(outcome: int | str) -> int:
    return outcome if isinstance(outcome, int) else PROBLEMS[outcome].status


@pytest.mark.parametrize(
    "name, outcome, story", STORIES, ids=[f"{name}-{outcome}" for name, outcome, _ in STORIES]
)
async def test_an_operation_responds_as_described(
    service: Service, name: str, outcome: int | str, story: Story
) -> None:
    answer = await story(service)

    await assert_response(answer, Operation[name.upper()].path, status_of(outcome))
    assert isinstance(outcome, int) or (await answer.json(content_type=None))["code"] == outcome


def test_every_described_status_has_a_story() -> None:
    for operation in Operation:
        responses = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
        told = {status_of(outcome) for name, outcome, _ in STORIES if name == operation}
        assert {int(status) for status in responses} - COMMON == told


def test_the_registry_accepts_the_example_bodies() -> None:
    def body(name: str) -> bytes:
        return orjson.dumps(example(name))

    assert NewWebhook.parse(body("NewWebhook")).description == NEW_WEBHOOK["description"]
    assert WebhookChanges.parse(body("WebhookChanges")).model_fields_set == {"status"}
    assert dict(NewList.parse(body("NewWatchlist"))) == example("NewWatchlist")
    assert ListChanges.parse(body("WatchlistChanges")).model_dump(exclude_unset=True) == example(
        "WatchlistChanges"
    )
    assert read_watched_changes(body("WatchedChanges")).add == read_watched(body("Watched"))
    digest = dict(NewDigest.parse(body("NewDigest")))
    lists = {name: list(digest[name]) for name in ("events", "fields")}
    assert {**digest, **lists} == example("NewDigest")
    assert Window.parse(body("RecoverWindow")).until_now(NOON)[1] == NOON


def test_limits_are_those_of_the_registry() -> None:
    fields = SCHEMAS["NewWebhook"]["properties"]

    assert fields["url"]["maxLength"] == MAX_URL_LENGTH
    assert fields["description"]["maxLength"] == MAX_DESCRIPTION_LENGTH
    assert SCHEMAS["NewWebhookFilter"]["properties"]["companies"]["maxItems"] == MAX_COMPANIES
    assert SCHEMAS["NewWatchlist"]["properties"]["name"]["maxLength"] == MAX_NAME_LENGTH
    assert SCHEMAS["Watched"]["properties"]["companies"]["maxItems"] == MAX_CHANGED
    assert set(SCHEMAS["EventPatternInput"]["enum"]) == PATTERNS
