"""Dated values of CVR documents and their past, and the words of their status and industries."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from common.contracts.company import Status
from ingest.records.fields import Day, Document, LastDay
from ingest.registers.cvr.codes import STATUSES


class Period(Document):
    """The first and the last day of a value; a current one may have no last day."""

    gyldig_fra: Day = None
    gyldig_til: LastDay = None


class Dated(Document):
    """A value with the period in which it holds."""

    periode: Period | None = None
    #: When the register recorded it, as written: only values that begin on one day need the time.
    sidst_opdateret: object = None

    @property
    def since(self) -> str | None:
        """The first day of the value; None if unknown."""
        return None if self.periode is None else self.periode.gyldig_fra

    @property
    def until(self) -> str | None:
        """The last day of the value; None if it has none."""
        return None if self.periode is None else self.periode.gyldig_til


Value = TypeVar("Value", bound=Dated)

_NEVER_RECORDED: Final = datetime.min.replace(tzinfo=UTC)


def recorded_at(value: Dated) -> datetime:
    """Returns when the register recorded a value; the first time of all if it does not say."""
    given = value.sidst_opdateret
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else _NEVER_RECORDED
    except ValueError:
        return _NEVER_RECORDED
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class AsOf:
    """The day as of which a document is read, and the next day on which it reads differently.

    Each value that is looked at may bring that day nearer.
    """

    def __init__(self, today: date) -> None:
        self.today = today.isoformat()
        self._next: str | None = None

    @property
    def next_day(self) -> date | None:
        """The first later day on which a value that was looked at begins or is over."""
        return None if self._next is None else date.fromisoformat(self._next)

    def has_begun(self, value: Dated) -> bool:
        """Returns True unless the value begins later."""
        since = value.since
        if since is None or since <= self.today:
            return True
        self._notice(since)
        return False

    def is_current(self, value: Dated) -> bool:
        """Returns True if the value has begun and is not over."""
        period = value.periode
        if period is None:
            return True
        since, until = period.gyldig_fra, period.gyldig_til
        if since is not None and since > self.today:
            self._notice(since)
            return False
        if until is None:
            return True
        if until < self.today:
            return False
        self._notice(day_after(until))
        return True

    def is_alive(self, life: Dated) -> bool:
        """Returns True if a life has begun and has not ended: its last day is its end."""
        until = life.until
        if not self.has_begun(life) or (until is not None and until <= self.today):
            return False
        if until is not None:
            self._notice(until)
        return True

    def current(self, values: Sequence[Value], newest: Value | None = None) -> list[Value]:
        """Returns the current values, the newest first.

        Of values that begin on one day the one that was recorded last is the newest; recorded at
        one time, the one that the register's summary gives.
        """
        is_current = self.is_current
        found = [value for value in values if is_current(value)]
        # Most fields have one value, here and below.
        if len(found) > 1:
            found.sort(key=lambda value: value.since or "", reverse=True)
            if found[0].since == found[1].since:
                found.sort(key=lambda value: _order(value, newest), reverse=True)
        return found

    def past(self, values: Sequence[Value]) -> list[Value]:
        """Returns the values that are over, the last ones first."""
        found = [value for value in values if value.until is not None and value.until < self.today]
        found.sort(key=lambda value: (value.until or "", *_order(value, None)), reverse=True)
        return found

    def latest(self, values: Sequence[Value], newest: Value | None = None) -> Value | None:
        """Returns the current value, or else the last one, or else the first to come.

        See `current` for `newest`.
        """
        if len(values) < 2:
            for value in values:
                self.is_current(value)
                return value
            return None
        found = self.current(values, newest) or self.past(values)
        return found[0] if found else min(values, key=lambda value: value.since or "")

    def _notice(self, day: str | None) -> None:
        if day is not None and (self._next is None or day < self._next):
            self._next = day


def _order(value: Value, newest: Value | None) -> tuple[str, datetime, bool]:
    return value.since or "", recorded_at(value), value == newest


def day_after(day: str) -> str | None:
    """Returns the day after; None after the last day of the calendar."""
    given = date.fromisoformat(day)
    return None if given == date.max else (given + timedelta(days=1)).isoformat()


def day_before(day: str) -> str:
    """Returns the day before; the first day of the calendar has none before it."""
    given = date.fromisoformat(day)
    return day if given == date.min else (given - timedelta(days=1)).isoformat()


def follows(since: str, until: str | None) -> bool:
    """Returns True if a value that begins on a day leaves no day out after another's last."""
    after = None if until is None else day_after(until)
    return after is None or since <= after


def held_on(values: Sequence[Value], day: str) -> Value | None:
    """Returns the value that holds on a day; of several the newest, then the last recorded."""
    held = [one for one in values if (one.since or "") <= day <= (one.until or day)]
    return max(held, key=lambda one: (one.since or "", recorded_at(one)), default=None)


def unbroken_since(values: Sequence[Dated], last: Dated) -> str | None:
    """Returns the first day from which some values, one after the other, lead to the last one."""
    since = last.since
    if len(values) < 2 or since is None:
        return since
    earlier = [one for one in values if one.since is not None and one.since < since]
    earlier.sort(key=lambda one: one.until or _END, reverse=True)
    for value in earlier:
        if not follows(since, value.until):
            break
        since = min(since, value.since or since)
    return since


#: A day, a field of `Company`, and the value as JSON that it had from then on.
Past = tuple[str, str, Any]

#: Later than any day of a period.
_END: Final = "9999-12-31"


def past_values(  # noqa: PLR0913 (the parts of a field)
    field: str,
    given: Sequence[Value],
    value_of: Callable[[Value], Any],
    as_of: AsOf,
    begins: str | None = None,
    present: Value | None = None,
) -> Iterator[Past]:
    """Yields the values of a field in their order; none if it never changed (`changes_of`).

    Of values that begin
    on one day the one counts that holds for longest, then the present one, then the last recorded.
    """
    if len(given) < 2 and not (given and _is_late(given[0].since, begins)):
        return
    begun = [one for one in given if one.since is not None and as_of.has_begun(one)]
    begun.sort(
        key=lambda one: (one.since or "", one.until or _END, one == present, recorded_at(one))
    )
    yield from changes_of(
        field,
        [(one.since or "", value) for one in begun if (value := value_of(one)) is not None],
        begins=begins,
    )


def changes_of(
    field: str, values: Sequence[tuple[str, Any]], *, begins: str | None
) -> Iterator[Past]:
    """Yields the values of a field by day, of each day the last one; none without a change.

    The one value that a field has had since the company began is in the company's own record.
    """
    by_day = dict(values)
    entries: list[Past] = []
    for day in sorted(by_day):
        # Two periods of one value are one.
        if not entries or entries[-1][2] != by_day[day]:
            entries.append((day, field, by_day[day]))
    if len(entries) > 1 or (entries and _is_late(entries[0][0], begins)):
        yield from entries


def _is_late(since: str | None, begins: str | None) -> bool:
    return begins is not None and since is not None and since > begins


_NOT_A_LETTER = re.compile(r"[^A-Z]+")


class Word(NamedTuple):
    """A word of the register for a status, the field that has it, and since when it holds."""

    text: str | None
    field: str
    since: str | None = None


class State(NamedTuple):
    """A public status, the register's own word for it, and since when it holds."""

    status: Status
    text: str | None = None
    since: str | None = None
    #: The field of a word that nobody knows.
    odd: str | None = None


@lru_cache(maxsize=4096)
def fold_word(word: str) -> str:
    """Returns one spelling for `UNDER_TVANGSOPLØSNING`, `Under tvangsoploesning` and the like."""
    letters = unicodedata.normalize("NFC", word).upper()
    for letter, plain in (("Ø", "O"), ("OE", "O"), ("Æ", "AE"), ("Å", "AA")):
        letters = letters.replace(letter, plain)
    return _NOT_A_LETTER.sub(" ", letters).strip()


@lru_cache(maxsize=4096)
def meaning_of(word: str) -> Status | None:
    """Returns the meaning of a register's word, with spaces or without; None for an unknown one."""
    folded = fold_word(word).replace(" ", "").removeprefix("UNDER")
    for beginning, status in STATUSES.items():
        if folded.startswith(beginning):
            return status
    return None


def state_of(words: Sequence[Word], *, ended: str | None, living_since: str | None) -> State:
    """Returns the status by the first word that is consistent with the life, or by the life.

    An end takes precedence over an outdated word. A first word that nobody knows is shown, with
    the status that the others say.
    """
    given = [word for word in words if word.text]
    strange = next((word for word in given[:1] if meaning_of(word.text or "") is None), None)
    text, odd = (None, None) if strange is None else (strange.text, strange.field)
    for word in given:
        status = meaning_of(word.text or "")
        if status is None or (ended is not None and status is not Status.ENDED):
            continue
        since = ended or word.since or (living_since if status is Status.ACTIVE else None)
        return State(status, text or word.text, since, odd)
    if ended is not None:
        return State(Status.ENDED, text, ended, odd)
    return State(Status.ACTIVE, text, (strange and strange.since) or living_since, odd)


#: Divisions and classes of DB07 (NACE Rev. 2) that DB25 (NACE Rev. 2.1) no longer has.
_RETIRED: Final = (
    *("4110", "4120", "4329", "4339", "4399", "45", "4719", "4729", "4741", "4742", "4743"),
    *("4789", "4799", "5229", "5610", "5629", "6130", "6201", "6202", "6203", "6209", "6311"),
    *("6312", "6420", "6430", "6810", "7021", "7022", "7211", "7219", "7410", "7490", "8211"),
    *("8219", "8560", "8690", "9001", "9002", "9003", "9004", "9101", "9102", "9103", "9104"),
    *("9511", "9512", "9601", "9602", "9603", "9604", "9609"),
)


def is_retired(code: str | None) -> bool:
    """Returns True for a code of DB07 that is not one of DB25."""
    return code is None or code.startswith(_RETIRED)
