"""The last requests of each key, for its owner: what was asked, without values, and the answer.

In MongoDB, database `access`: collection `key_requests` has a document for what a gateway has
answered to a key in five seconds, packed. It is for finding one's faults and no proof: a gateway
that is killed loses five seconds, and one with more requests than it remembers keeps the newest.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

import orjson
from pymongo import DESCENDING, IndexModel, WriteConcern

from common.contracts.company import Country, Include, Status
from common.contracts.find import FindSort
from common.mongo import Database, translated_errors
from common.runtime.tasks import repeat
from gateway.access.keys import ApiKey

#: Requests of a key that are kept, and for how long.
MAX_REQUESTS: Final = 1000
KEPT: Final = timedelta(days=30)
#: Requests that a process remembers between two reports, about 8 MB, and keys that it has trimmed.
_MAX_REMEMBERED: Final = 20_000
_MAX_TRIMMED: Final = 10_000
_REPORT_EVERY: Final = 5.0
#: Requests of a key after which a process deletes those that are too many.
_TRIM_AFTER: Final = 250

_REQUESTS: Final = "key_requests"
REQUEST_INDEXES: Final = {
    _REQUESTS: [
        IndexModel([("key_id", 1), ("at", DESCENDING), ("count", 1)]),
        IndexModel("owner"),
        IndexModel("ends_at", expireAfterSeconds=0),
    ]
}

#: What stands in place of a value.
HIDDEN: Final = "…"
#: The values that are shown, by parameter: words of the API, which name nobody.
_SHOWN: Final[Mapping[str, frozenset[str]]] = {
    "country": frozenset(Country),
    "include": frozenset(Include),
    "status": frozenset(Status),
    "sort": frozenset(FindSort),
    "format": frozenset({"json", "xml"}),
}
_MAX_VALUE: Final = 200


class KeyRequest(NamedTuple):
    """A request of a key, and its answer."""

    #: Unix time in seconds.
    at: float
    method: str
    #: The route with the names of its parameters, see `shown_path`.
    path: str
    status: int
    duration_ms: float
    request_id: str
    #: The code of the problem that it was answered with.
    problem: str | None = None


def shown_path(route: str, query: Iterable[tuple[str, str]], known: Sequence[str]) -> str:
    """Returns a route with its parameters, without values that could name a person.

    Of parameters that the route does not have not even the names are shown.
    """
    parts = [
        f"{name}={value if _is_word(name, value) else HIDDEN}" if name in known else HIDDEN
        for name, value in query
    ]
    return f"{route}?{'&'.join(parts)}" if parts else route


def _is_word(name: str, value: str) -> bool:
    words = _SHOWN.get(name)
    if words is None:
        return name == "limit" and value.isascii() and value.isdecimal() and len(value) < 5
    return len(value) <= _MAX_VALUE and words.issuperset(value.split(","))


class KeyRequests:
    """Remembers the requests of keys, and adds them to the stored ones."""

    def __init__(self, database: Database, *, now: Callable[[], datetime]) -> None:
        # A failover may lose five seconds of requests.
        self._stored = database[_REQUESTS].with_options(write_concern=WriteConcern(w=1))
        self._now = now
        #: By key id and owner.
        self._remembered: dict[tuple[str, str], deque[KeyRequest]] = {}
        self._count = 0
        #: By key id, the requests until the next deletion, the most recently stored last.
        self._until_trim: OrderedDict[str, int] = OrderedDict()

    def add(self, key: ApiKey, request: KeyRequest) -> None:
        """Remembers a request until the next report, if there is room."""
        entry = (key.id, key.owner)
        requests = self._remembered.get(entry)
        if requests is None:
            if self._count >= _MAX_REMEMBERED:
                return
            requests = self._remembered[entry] = deque(maxlen=MAX_REQUESTS)
        if len(requests) < MAX_REQUESTS:
            if self._count >= _MAX_REMEMBERED:
                requests.popleft()
                self._count -= 1
            self._count += 1
        requests.append(request)

    async def run(self) -> None:
        """Reports every 5 s, until cancelled."""
        await repeat(
            self.report,
            every=_REPORT_EVERY,
            unavailable="key_requests.not_reported",
            failed="key_requests.reporting_failed",
        )

    async def report(self) -> None:
        """Stores what is remembered; raises Unavailable, and then what was remembered is lost."""
        remembered, self._remembered, self._count = self._remembered, {}, 0
        if not remembered:
            return
        now = self._now()
        documents = [
            {
                "key_id": key_id,
                "owner": owner,
                "at": now,
                "count": len(requests),
                "ends_at": now + KEPT,
                "requests": orjson.dumps([list(each) for each in requests]),
            }
            for (key_id, owner), requests in remembered.items()
        ]
        with translated_errors():
            await self._stored.insert_many(documents, ordered=False)
            for (key_id, _), requests in remembered.items():
                if self._is_trimmed_now(key_id, len(requests)):
                    await self._trim(key_id)

    async def of_key(self, owner: str, key_id: str) -> list[KeyRequest]:
        """Returns the last requests of a key, the newest first; raises Unavailable."""
        found = list(self._remembered.get((key_id, owner), ()))
        with translated_errors():
            stored = self._stored.find({"key_id": key_id, "owner": owner}).sort("at", DESCENDING)
            async for document in stored.limit(MAX_REQUESTS):
                found += (KeyRequest(*each) for each in orjson.loads(document["requests"]))
                if len(found) >= MAX_REQUESTS:
                    break
        return sorted(found, key=lambda each: -each.at)[:MAX_REQUESTS]

    async def remove_owner(self, owner: str, *, dry_run: bool) -> None:
        """Deletes what is stored of the requests of an owner's keys."""
        if not dry_run:
            with translated_errors():
                await self._stored.delete_many({"owner": owner})

    def _is_trimmed_now(self, key_id: str, count: int) -> bool:
        left = self._until_trim.pop(key_id, 0) - count
        self._until_trim[key_id] = _TRIM_AFTER if left < 0 else left
        if len(self._until_trim) > _MAX_TRIMMED:
            self._until_trim.popitem(last=False)
        return left < 0

    async def _trim(self, key_id: str) -> None:
        # The index has all that is read.
        fields = {"_id": 0, "at": 1, "count": 1}
        found = self._stored.find({"key_id": key_id}, fields).sort("at", DESCENDING)
        total = 0
        async for document in found:
            if total >= MAX_REQUESTS:
                await self._stored.delete_many({"key_id": key_id, "at": {"$lte": document["at"]}})
                return
            total += document["count"]


def selected(
    requests: Iterable[KeyRequest], *, statuses: range, request_id: str, limit: int
) -> list[KeyRequest]:
    """Returns the first requests with one of the statuses and, unless it is empty, this id."""
    found = (
        each for each in requests if each.status in statuses and request_id in ("", each.request_id)
    )
    return list(islice(found, limit))
