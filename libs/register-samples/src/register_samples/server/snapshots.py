"""Whole files as the registers offer them: made now and then, and older than the register."""

import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import orjson

from register_samples.facts import Document


@dataclass(frozen=True, slots=True)
class Snapshot:
    body: bytes
    modified: datetime
    content_type: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'


def gzipped_array(documents: Iterable[Document], modified: datetime) -> Snapshot:
    """A JSON array, gzipped, as the Norwegian register offers its files."""
    lines = b",\n".join(orjson.dumps(document) for document in documents)
    body = gzip.compress(b"[\n" + lines + b"\n]\n", compresslevel=1, mtime=0)
    return Snapshot(body, modified, "application/gzip")
