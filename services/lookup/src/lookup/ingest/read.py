"""Parses the documents of a file, except unchanged ones."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lookup.ingest.digests import Part
from lookup.ingest.records import RawDocument, Record, Rejected
from lookup.ingest.register_source import Parser, RegisterSource


class StoredDigests(Protocol):
    """Stored digests of documents."""

    async def of(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        """The digests stored under these keys, None where absent. May raise `Unavailable`."""


class Reader(Protocol):
    """Parses documents."""

    async def __call__(
        self, parser: Parser, documents: Sequence[RawDocument], /
    ) -> Sequence[Record | Rejected]:
        """The record of each document, or the reason why it cannot be used."""


@dataclass(frozen=True, slots=True)
class UnchangedDocument:
    """An unchanged document; parsing it would give the stored record."""

    key: str


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    digests: StoredDigests
    reader: Reader

    async def __call__(
        self, source: RegisterSource, documents: Sequence[RawDocument | Rejected]
    ) -> Sequence[Record | UnchangedDocument | Rejected]:
        """Returns a result for each document, in order. May raise `Unavailable`."""
        keys = [
            one.key for one in documents if isinstance(one, RawDocument) and one.key is not None
        ]
        stored = await self.digests.of(source.part, keys) if keys else {}
        found = [
            _known(one, stored.get(one.key or "")) if isinstance(one, RawDocument) else one
            for one in documents
        ]
        unread = [one for one in found if isinstance(one, RawDocument)]
        read = iter(await self.reader(source.parse, unread) if unread else ())
        return [next(read) if isinstance(one, RawDocument) else one for one in found]


def _known(document: RawDocument, stored: bytes | None) -> RawDocument | UnchangedDocument:
    if document.key is None or stored is None or stored != document.digest:
        return document
    return UnchangedDocument(document.key)
