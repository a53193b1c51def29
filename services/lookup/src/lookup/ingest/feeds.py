"""How far a register's feed was read, and what its entries and answers mean for what is stored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from common.contracts.company import (
    Company,
    CompanyKey,
    ProductionUnit,
    Status,
    UnitKey,
)
from lookup.ingest.digests import Part
from lookup.ingest.planning.states import CompanyState, Known, UnitState
from lookup.ingest.records import CompanyRecord, OwnersRecord, SourceVersion, UnitRecord
from lookup.store.canonical_json import dump

#: Before anything that a register has.
BEGINNING = datetime(1900, 1, 1, tzinfo=UTC)

_DAY = timedelta(days=1)
#: So many may always leave.
_FEW = 100
#: After a download that failed, the next one is made this part of the usual interval later.
_SOONER = 3


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a feed, as the feed itself counts."""

    #: The register's time of the last entry read; where to begin, when none was read yet.
    at: datetime
    #: Norway's `oppdateringsid` of the last entry read; 0 before the first.
    sequence: int = 0
    #: The ids of the entries of the time `at`, where a feed can be asked by time alone.
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source was read: everything before it is stored."""

    position: Position
    #: What the register had told by then is stored. UTC.
    until: datetime
    #: When all that is stored was last compared with the register's whole file.
    reconciled_at: datetime | None = None
    #: The whole file that was read last.
    etag: str | None = None
    #: When whole files were asked for, in the last 24 hours, where that is limited.
    downloads: tuple[datetime, ...] = ()
    #: Of the stored cursor; two copies of a sync cannot both move it.
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """An entry of a Norwegian feed: it tells that something happened, and hardly what."""

    number: str
    sequence: int = 0
    #: The register's time of what happened; None where it gives none.
    at: datetime | None = None
    #: The register orders it removed (`Fjernet`).
    removed: bool = False


@dataclass(frozen=True, slots=True)
class FeedPage:
    notices: tuple[ChangeNotice, ...]
    #: Where the feed goes on.
    position: Position
    #: Whether the feed had no more than this.
    is_last: bool
    #: Why entries could not be read.
    faults: tuple[str, ...] = ()
    #: How many unreadable entries the feed ends with: the position is before them.
    standing: int = 0


@dataclass(frozen=True, slots=True)
class Present:
    """What the register has of it now."""

    record: CompanyRecord | UnitRecord | OwnersRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """The register has deleted it after its end."""

    #: The last day.
    on: str
    #: What the answer tells beside that; mostly too little for a record.
    record: CompanyRecord | UnitRecord | None = None
    #: The register's word for it.
    word: str = "Slettet"


@dataclass(frozen=True, slots=True)
class Gone:
    """The register has removed it for legal reasons, and whoever has a copy removes that too."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The register has no such number."""


@dataclass(frozen=True, slots=True)
class Unusable:
    reason: str


Answer = Present | Ended | Gone | Unknown | Unusable


def sorted_out(notices: Iterable[ChangeNotice]) -> tuple[list[str], list[ChangeNotice]]:
    """What to remove, and the last mention of each that is to be fetched."""
    removed: dict[str, None] = {}
    changed: dict[str, ChangeNotice] = {}
    for mention in notices:
        if mention.removed:
            removed[mention.number] = None
        elif mention.sequence >= changed.get(mention.number, mention).sequence:
            changed[mention.number] = mention
    return list(removed), [m for m in changed.values() if m.number not in removed]


def ended_record(
    part: Part, key: CompanyKey | UnitKey, ended: Ended, known: Known
) -> CompanyRecord | UnitRecord | None:
    """What was known of it last, with its end; None where nothing is known.

    The answer itself has little more than the date, and a lookup wants the name and the address.
    """
    if part is Part.COMPANY:
        company = known.companies.get(CompanyKey(key))
        if company is not None and company.core is not None:
            return _ended_company(company, company.core, ended)
    elif part is Part.UNIT:
        unit = known.units.get(UnitKey(key))
        if unit is not None:
            return _ended_unit(UnitKey(key), unit, ended.on)
    return ended.record


def mistaken_record(
    part: Part, key: CompanyKey | UnitKey, version: SourceVersion, known: Known
) -> CompanyRecord | UnitRecord | None:
    """Something that is stored has ended if the register calls it a mistake of its own.

    It is not purged: a mistake may be taken back, and its revisions have to go on then.
    """
    ended = Ended(version.at.date().isoformat(), word="FEJLREGISTRERET")
    record = ended_record(part, key, ended, known)
    return None if record is None else replace(record, version=version)


def _ended_company(state: CompanyState, core: bytes, ended: Ended) -> CompanyRecord:
    last = Company.model_validate_json(core)
    end = {"status": Status.ENDED, "status_text": ended.word, "ended": last.ended or ended.on}
    return CompanyRecord.of(
        last.model_copy(update=end),
        phones=state.phones,
        units=state.units,
        owners=None,
        version=None,
    )


def _ended_unit(key: UnitKey, state: UnitState, on: str) -> UnitRecord:
    last = ProductionUnit.model_validate_json(state.core)
    # A unit that was closed before it was deleted keeps the day on which it closed.
    end = {"status": Status.ENDED, "ended": last.ended or on}
    return UnitRecord(
        key, state.company, dump(last.model_copy(update=end)), state.phones, version=None
    )


def is_over(key: CompanyKey | UnitKey, known: Known) -> bool:
    """Whether what is stored has ended, so that a register's file need not have it."""
    company = known.companies.get(CompanyKey(key))
    if company is not None and company.core is not None:
        return Company.model_validate_json(company.core).status is Status.ENDED
    unit = known.units.get(UnitKey(key))
    return unit is not None and (
        ProductionUnit.model_validate_json(unit.core).status is Status.ENDED
    )


def is_due(last: datetime | None, every: timedelta, now: datetime) -> bool:
    return last is None or now - last >= every


def download_is_due(cursor: Cursor, now: datetime, *, every: timedelta, most: int) -> bool:
    """Whether a whole file may be asked for again: not too soon, and not too often in a day."""
    made = recent(cursor.downloads, now)
    if len(made) >= most:
        return False
    last_try = max(made, default=None)
    return is_due(cursor.reconciled_at, every, now) and is_due(last_try, every / _SOONER, now)


def are_credible(*, missing: int, stored: int) -> bool:
    """Whether so many may have left since the last export; else that is no whole one."""
    return missing <= max(stored // 2, _FEW)


def recent(downloads: Sequence[datetime], now: datetime) -> tuple[datetime, ...]:
    """Those of the last 24 hours."""
    return tuple(made for made in downloads if now - made < _DAY)


def after_page(cursor: Cursor, page: FeedPage, asked_at: datetime) -> Cursor:
    """The cursor once a page is stored; `asked_at` is when the page was asked for."""
    reached_end = page.is_last and not page.standing
    until = asked_at if reached_end else max(cursor.until, min(page.position.at, asked_at))
    return replace(cursor, position=page.position, until=until)
