"""Applies what was upcoming when its day has come (ADR 0068)."""

from ingest.changes.states import Verdict
from ingest.loading.batches import BATCH
from ingest.loading.stores import Stores
from ingest.records.digests import Part
from ingest.records.records import SourceVersion
from ingest.records.source import RegisterSource


async def apply_due(
    source: RegisterSource, stores: Stores, *, publish_events: bool | None = None
) -> list[Verdict]:
    """Stores the source's records whose day has come, with their events; returns the verdicts.

    `publish_events` as in a load. Raises `Unavailable` and Conflict.
    """
    if source.part not in (Part.COMPANY, Part.UNIT):
        return []
    if publish_events is None:
        publish_events = await stores.states.is_loaded(source.name)
    verdicts: list[Verdict] = []
    after, today = "", stores.today()
    while due := await stores.writer.due(
        source.country, source.part, today, after=after, limit=BATCH
    ):
        # Each record has the version of its document.
        now = SourceVersion(stores.now())
        batch = await stores.apply(due, now, publish_events=publish_events)
        for record, verdict in zip(due, batch, strict=True):
            if verdict in (Verdict.STALE, Verdict.REMOVED):
                await stores.writer.forget_due(record.key, today)
        verdicts += batch
        after = due[-1].key
    return verdicts
