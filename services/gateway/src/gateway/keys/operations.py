"""The keys of an owner over HTTP: listed with their use, created, replaced and ended (ADR 0151).

Each change has a log line with the key that made it; the stored keys name it, too.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final, Protocol

import orjson
import structlog
from aiohttp import web

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.events import rfc3339
from common.contracts.failures import Unavailable
from common.runtime.public_port.rates import Rate
from gateway.access.keys import ApiKey, PresentedKey, Scope, write_key
from gateway.access.requests import MAX_REQUESTS, KeyRequests, selected
from gateway.access.usage import DayUse
from gateway.http.middleware import REQUEST_CONTEXT, RequestContext, parameters_of
from gateway.http.parameters import Invalid, Query, Text, number, once
from gateway.http.responses import NO_STORE, json_body, json_object, json_response
from gateway.keys.issuing import (
    check_rights,
    created,
    new_secret,
    read_new_key,
    read_overlap,
    replaced,
)
from gateway.problems import Forbidden, KeyLimitReached, KeyNotFound, ServiceUnavailable

KEYS_PATH: Final = "/api/keys"
KEY_PATH: Final = f"{KEYS_PATH}/{{key_id}}"
ROTATE_PATH: Final = f"{KEY_PATH}/rotate"
REQUESTS_PATH: Final = f"{KEY_PATH}/requests"

#: Requests of a page, unless `limit` is given.
DEFAULT_REQUESTS: Final = 100

#: Days of use that are shown, with today.
SHOWN_DAYS: Final = 30
#: Seconds for an operation, as for a lookup.
_TIMEOUT: Final = 1.8

log = structlog.get_logger()


class OwnedKeys(Protocol):
    """The keys of each owner; each method raises Unavailable."""

    async def of_owner(self, owner: str, *, at: datetime) -> Sequence[ApiKey]:
        """Returns the keys, newest first, with those that ended in the last 30 days."""

    async def add_within(self, key: ApiKey, maximum: int, *, at: datetime) -> bool:
        """Stores a new key; False if its owner has too many then."""

    async def end(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        """Ends a key; False if the owner has none with this id."""

    async def expire(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        """Lets a key expire, unless it does earlier; False if the owner has none with this id."""


class DailyUse(Protocol):
    """The use of keys by day."""

    async def by_key(self, owner: str, *, since: date) -> dict[str, list[DayUse]]:
        """Returns the use of an owner's keys since a day, by their ids; raises Unavailable."""


@dataclass(frozen=True, slots=True)
class KeyOperations:
    """Handlers of the keys of the request's owner."""

    keys: OwnedKeys
    #: None: use is not counted.
    use: DailyUse | None
    #: None: requests are not kept.
    kept: KeyRequests | None
    now: Callable[[], datetime]
    #: The rates of keys, and of visitors of publishable ones, that have none of their own.
    key_rate: Rate
    visitor_rate: Rate
    #: Of an owner, with those that have ended in the last 30 days.
    maximum: int

    async def list(self, request: web.Request) -> web.Response:
        """Handles `GET /api/keys`."""
        owner, now = request[REQUEST_CONTEXT].required_key.owner, self.now()
        since = now.date() - timedelta(days=SHOWN_DAYS - 1)
        async with _bounded():
            keys = await self.keys.of_owner(owner, at=now)
            use = {} if self.use is None else await self.use.by_key(owner, since=since)
        rows = [self._document(key, use.get(key.id, ()), now) for key in keys]
        return json_response(orjson.dumps({"keys": rows, "limit": self.maximum}))

    async def create(self, request: web.Request) -> web.Response:
        """Handles `POST /api/keys`; the answer alone has the new key's secret."""
        context, now = request[REQUEST_CONTEXT], self.now()
        wanted = read_new_key(json_object(await json_body(request)), now=now)
        creator, new = context.required_key, new_secret()
        key = created(wanted, creator, new, now=now)
        await self._add(key, creator, now)
        _record("key.created", context, key, scopes=sorted(key.scopes), origins=len(key.origins))
        return self._issued(key, new, now)

    async def rotate(self, request: web.Request) -> web.Response:
        """Handles `POST /api/keys/{key_id}/rotate`: a new key in the place of another."""
        context, now = request[REQUEST_CONTEXT], self.now()
        body = await json_body(request) if request.body_exists else b""
        overlap = read_overlap(json_object(body) if body else {})
        creator, new = context.required_key, new_secret()
        old = await self._valid(creator.owner, request.match_info["key_id"], now)
        key = replaced(old, creator, new, now=now)
        await self._add(key, creator, now)
        at = now + timedelta(seconds=overlap)
        async with _bounded():
            await self.keys.expire(creator.owner, old.id, at=at, by=creator.id)
        _record("key.rotated", context, key, replaced=old.id, overlap_s=overlap)
        return self._issued(key, new, now)

    async def end(self, request: web.Request) -> web.Response:
        """Handles `DELETE /api/keys/{key_id}`."""
        context, key_id = request[REQUEST_CONTEXT], request.match_info["key_id"]
        actor = context.required_key
        async with _bounded():
            found = await self.keys.end(actor.owner, key_id, at=self.now(), by=actor.id)
        if not found:
            raise KeyNotFound("you have no key with this id")
        log.info("key.ended", **_who(context), subject=key_id)
        return web.Response(status=204, headers={"Cache-Control": NO_STORE})

    async def requests(self, request: web.Request) -> web.Response:
        """Handles `GET /api/keys/{key_id}/requests`: of the request's own key, or of another."""
        query = _RequestsQuery.parse(parameters_of(request))
        key, key_id = request[REQUEST_CONTEXT].required_key, request.match_info["key_id"]
        if key_id != key.id:
            if Scope.KEYS not in key.scopes:
                raise Forbidden(f"the API key lacks the scope {Scope.KEYS}")
            await self._owned(key.owner, key_id)
        async with _bounded():
            found = [] if self.kept is None else await self.kept.of_key(key.owner, key_id)
        chosen = selected(
            found, statuses=query.status, request_id=query.request_id, limit=query.limit
        )
        rows = [
            {**each._asdict(), "at": rfc3339_milliseconds(datetime.fromtimestamp(each.at, UTC))}
            for each in chosen
        ]
        return json_response(orjson.dumps({"requests": rows}))

    async def _owned(self, owner: str, key_id: str) -> ApiKey:
        async with _bounded():
            keys = await self.keys.of_owner(owner, at=self.now())
        for key in keys:
            if key.id == key_id:
                return key
        raise KeyNotFound("you have no key with this id")

    async def _valid(self, owner: str, key_id: str, now: datetime) -> ApiKey:
        key = await self._owned(owner, key_id)
        if not key.is_valid(now):
            raise KeyNotFound("your key with this id is not valid any more")
        return key

    async def _add(self, key: ApiKey, creator: ApiKey, now: datetime) -> None:
        check_rights(key, creator, default=self.key_rate)
        async with _bounded():
            is_added = await self.keys.add_within(key, self.maximum, at=now)
        if not is_added:
            raise KeyLimitReached(
                f"you have {self.maximum} keys, with those that ended in the last 30 days; ask the "
                "operator for more"
            )

    def _issued(self, key: ApiKey, new: PresentedKey, now: datetime) -> web.Response:
        document = {**self._document(key, (), now), "key": write_key(new)}
        response = json_response(orjson.dumps(document))
        response.set_status(201)
        return response

    def _document(self, key: ApiKey, days: Sequence[DayUse], now: datetime) -> dict[str, Any]:
        visitors = (key.visitor_rate or self.visitor_rate) if key.is_publishable else None
        return {
            "key_id": key.id,
            "name": key.name,
            "scopes": sorted(key.scopes),
            "status": status_of(key, now),
            "created_at": rfc3339(key.created_at),
            "created_by": key.created_by,
            "expires_at": _moment(key.expires_at),
            "ended_at": _moment(key.revoked_at),
            "ended_by": key.ended_by,
            "rate": _rate(key.rate or self.key_rate),
            "origins": list(key.origins),
            "visitor_rate": None if visitors is None else _rate(visitors),
            "last_used_at": _moment(days[-1].last_at if days else None),
            "days": [
                {"day": each.day, "requests": each.use.requests, "refused": each.use.refused}
                for each in days
            ],
        }


def _statuses(value: str) -> range:
    if re.fullmatch("[2-5]xx", value):
        return range(int(value[0]) * 100, int(value[0]) * 100 + 100)
    if re.fullmatch("[2-5][0-9]{2}", value):
        return range(int(value), int(value) + 1)
    raise Invalid("must be a status such as 404, or 2xx, 3xx, 4xx or 5xx")


class _RequestsQuery(Query):
    limit: Annotated[int, number(1, MAX_REQUESTS)] = DEFAULT_REQUESTS
    status: Annotated[range, once(_statuses)] = range(1000)
    request_id: Text = ""


def status_of(key: ApiKey, now: datetime) -> str:
    """Returns `active`, `ended` or `expired`."""
    if key.revoked_at is not None:
        return "ended"
    return "active" if key.is_valid(now) else "expired"


@asynccontextmanager
async def _bounded() -> AsyncIterator[None]:
    """Bounds an operation in time; raises ServiceUnavailable when the database does not answer."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            yield
    except (Unavailable, TimeoutError):
        raise ServiceUnavailable("the keys cannot be read or changed now") from None


def _who(context: RequestContext) -> Mapping[str, str]:
    key = context.required_key
    return {"request_id": context.request_id, "key_id": key.id, "owner": key.owner}


def _record(event: str, context: RequestContext, key: ApiKey, **facts: object) -> None:
    log.info(event, **_who(context), subject=key.id, **facts)


def _rate(rate: Rate) -> dict[str, int]:
    return {"count": rate.count, "window_seconds": rate.window}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
