"""The Danish register's distribution (distribution.virk.dk): Elasticsearch, read by scrolling."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from ingest.following.register_client import Call, RegisterClient
from ingest.following.responses import SCROLL, RegisterFault, RegisterUnavailable
from ingest.loading.batches import Item
from ingest.records.digests import Part
from ingest.records.records import Raw, RecordRejected, Rejected
from ingest.records.source import RegisterSource, parse

#: The name of each part in URLs and in documents.
INDEXES: Final = {Part.COMPANY: "virksomhed", Part.UNIT: "produktionsenhed"}
WRAPPINGS: Final = {Part.COMPANY: "Vrvirksomhed", Part.UNIT: "VrproduktionsEnhed"}

#: Maximum documents per page. One has 60 kB and needs several times that once parsed.
MAX_DOCUMENTS: Final = 100

#: Time that the register keeps a scroll between two pages.
_KEPT = "1m"
_SCROLL = "/_search/scroll"


class CvrDocuments:
    """Documents of companies or production units. Raises RegisterUnavailable and RegisterFault."""

    def __init__(
        self,
        client: RegisterClient,
        source: RegisterSource,
        *,
        page_size: int,
        today: Callable[[], date],
    ) -> None:
        self._client = client
        self._today = today
        self._source = source
        #: When the register loaded a document, and when its content last changed.
        self._loaded = f"{WRAPPINGS[source.part]}.sidstIndlaest"
        self._changed = f"{WRAPPINGS[source.part]}.sidstOpdateret"
        self._size = min(page_size, MAX_DOCUMENTS)

    def loaded_since(self, at: datetime) -> AsyncIterator[Sequence[Item]]:
        """Yields pages of every document that was loaded at `at` or later, in that order.

        Some changes do not move the time of the last change, such as new counts of employees.
        """
        return self._pages(_since(self._loaded, at), {self._loaded: "asc"})

    def changed_without_load_time(self, at: datetime) -> AsyncIterator[Sequence[Item]]:
        """Yields pages of the documents without a load time that changed at `at` or later.

        Documents without either time come first.
        """
        missing = {"bool": {"must_not": [{"exists": {"field": self._changed}}]}}
        query = {
            "bool": {
                "must_not": [{"exists": {"field": self._loaded}}],
                "should": [_since(self._changed, at), missing],
                "minimum_should_match": 1,
            }
        }
        return self._pages(query, {self._changed: {"order": "asc", "missing": "_first"}})

    async def _pages(
        self, query: Mapping[str, Any], order: Mapping[str, Any]
    ) -> AsyncIterator[Sequence[Item]]:
        # A repeated scroll request returns the next page, so the documents of a lost answer are
        # lost. Scroll requests are therefore not retried; the next pass restarts from the cursor.
        number = 0
        items, rest = await self._page(self._search(query, order), number)
        while items:
            yield items
            number += len(items)
            items, rest = await self._page(rest, number)

    def _search(self, query: Mapping[str, Any], order: Mapping[str, Any]) -> Call:
        index = INDEXES[self._source.part]
        body = {"query": query, "sort": [order], "size": self._size}
        url = self._client.url(f"{index}/_search", {"scroll": _KEPT})
        return Call("POST", url, json=body, limit=SCROLL)

    def _scroll(self, content: Mapping[str, Any]) -> Call:
        body = {"scroll": _KEPT, "scroll_id": content.get("_scroll_id")}
        return Call("POST", self._client.url(_SCROLL), json=body, repeatable=False, limit=SCROLL)

    async def _page(self, call: Call, before: int) -> tuple[Sequence[Item], Call]:
        """Returns the page of a response, and the call for the next.

        The response itself is released before the next one is fetched.
        """
        content = await self._ask(call)
        hits = enumerate(_hits(content), start=before + 1)
        return [self._read(number, hit) for number, hit in hits], self._scroll(content)

    async def _ask(self, call: Call) -> Mapping[str, Any]:
        """Returns a whole answer; raises RegisterUnavailable for a partial one."""
        content = (await self._client.ask(call)).content
        if not isinstance(content, dict):
            raise RegisterFault("the response is not an object")
        if content.get("timed_out") or _failed_shards(content):
            raise RegisterUnavailable("the response to a search is partial")
        return content

    def _read(self, number: int, hit: Raw) -> Item:
        try:
            return parse(self._source.parse, hit, self._today())
        except RecordRejected as refusal:
            return Rejected(number, f"_id {hit.get('_id')}", str(refusal))


def _since(field: str, at: datetime) -> Mapping[str, Any]:
    return {"range": {field: {"gte": at.astimezone(UTC).isoformat()}}}


def _failed_shards(content: Mapping[str, Any]) -> bool:
    """Returns True if shards failed: Elasticsearch returns 200 with the hits of the others."""
    shards = content.get("_shards")
    return isinstance(shards, dict) and bool(shards.get("failed"))


def _hits(content: Mapping[str, Any]) -> Sequence[Raw]:
    hits = content.get("hits")
    found = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(found, list) or not all(isinstance(hit, dict) for hit in found):
        raise RegisterFault("the response has no list of hits")
    return found
