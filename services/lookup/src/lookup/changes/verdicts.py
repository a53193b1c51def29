"""Verdicts on records, by comparison with what is stored."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from lookup.changes.states import DigestUpdate, K, PartWrite, S, Verdict
from lookup.records.digests import Part
from lookup.records.records import SourceVersion

W = TypeVar("W")

#: The verdict on a record, and what is written: of an unchanged record its document's new digest.
Decision = tuple[Verdict, W | DigestUpdate | None]


def judge(
    *,
    same: bool,
    stored: SourceVersion | None,
    read: SourceVersion,
    outdated: bool = False,
) -> Verdict:
    """Returns the verdict on a record that is already stored.

    A record of an earlier release (`outdated`) is updated from a document of the same version.
    """
    if same:
        return Verdict.UNCHANGED
    if stored is not None and (read < stored or (read == stored and not outdated)):
        return Verdict.STALE
    return Verdict.CHANGED


def renewal(
    part: Part, key: str, revision: int, *, stored: bytes | None, read: bytes | None
) -> DigestUpdate | None:
    """Returns the update for an unchanged record: none, or its document's new digest."""
    return None if read is None or read == stored else DigestUpdate(part, key, revision, read)


def decide(part: Part, key: K, stored: S | None, read: S) -> Decision[PartWrite[K, S]]:
    """Returns the decision on a unit or an identifier."""
    if stored is None:
        return Verdict.NEW, PartWrite(key, None, read)
    verdict = judge(same=read.content == stored.content, stored=stored.version, read=read.version)
    if verdict is Verdict.UNCHANGED:
        return verdict, renewal(part, key, stored.revision, stored=stored.digest, read=read.digest)
    if verdict is Verdict.STALE:
        return verdict, None
    revision = stored.revision + 1
    return verdict, PartWrite(key, stored.revision, replace(read, revision=revision))


def sorted_out(
    decisions: Sequence[Decision[W]],
) -> tuple[tuple[Verdict, ...], tuple[W, ...], tuple[DigestUpdate, ...]]:
    """Returns the verdicts, the writes and the new digests."""
    written = [write for _, write in decisions if write is not None]
    return (
        tuple(verdict for verdict, _ in decisions),
        tuple(write for write in written if not isinstance(write, DigestUpdate)),
        tuple(write for write in written if isinstance(write, DigestUpdate)),
    )
