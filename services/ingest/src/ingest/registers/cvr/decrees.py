"""Notices of courts (`status`) on the insolvency of a company become procedures over time.

Companies with a capital have a word for their status; sole proprietors and partnerships have these
notices alone. A decree opens a procedure, an annulment or the accounts of the estate end it, and
everything between changes nothing.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from common.contracts.company import Status
from ingest.records.fields import Text
from ingest.registers.cvr.codes import NOTICES, PROCEDURES, Effect
from ingest.registers.cvr.dated_values import (
    AsOf,
    Dated,
    day_after,
    fold_word,
    meaning_of,
    recorded_at,
)


class CourtNotice(Dated):
    """A notice of a court on a company's insolvency, with its period."""

    statuskode: Text = None
    statustekst: Text = None
    kreditoplysningkode: Text = None
    kreditoplysningtekst: Text = None


class Procedure(NamedTuple):
    """A procedure of insolvency: the status it means, its text, and its days."""

    status: Status
    text: str | None
    #: The day on which it was opened.
    since: str | None
    #: The day on which it ended; None while it is in force.
    until: str | None = None
    #: The text of an end whose code and text contradict each other.
    doubt: str | None = None


class _Read(NamedTuple):
    """A notice with its effect, and the status and the text of its procedure."""

    notice: CourtNotice
    effect: Effect
    status: Status
    text: str | None
    #: True if its code and its text contradict each other.
    is_doubtful: bool = False


def procedures(given: Sequence[CourtNotice], as_of: AsOf, odd: list[str]) -> list[Procedure]:
    """Returns the procedures that the notices tell of, in the order in which they were opened."""
    begun = [one for one in given if as_of.has_begun(one)]
    read = [notice for one in begun if (notice := _read(one, odd)) is not None]
    read.sort(
        key=lambda one: (
            one.notice.since or "",
            one.effect is Effect.ENDS,
            recorded_at(one.notice),
        )
    )
    found = [
        procedure
        for status in dict.fromkeys(one.status for one in read)
        for procedure in _of_status([one for one in read if one.status is status], as_of)
    ]
    return sorted(found, key=lambda one: one.since or "")


def _of_status(notices: Sequence[_Read], as_of: AsOf) -> list[Procedure]:
    """Returns the procedures of one kind from its notices in their order."""
    found: list[Procedure] = []
    held: list[CourtNotice] = []
    for one in notices:
        is_open = bool(found) and found[-1].until is None
        since = one.notice.since
        if one.effect is Effect.OPENS and not is_open:
            found.append(Procedure(one.status, one.text, since))
            held = []
        elif one.effect is Effect.ENDS and is_open:
            found[-1] = found[-1]._replace(until=since, doubt=one.text if one.is_doubtful else None)
        if one.effect is not Effect.ENDS:
            held.append(one.notice)
    if found and found[-1].until is None and not any(as_of.is_current(one) for one in held):
        # No notice closed it, but the last of them is over.
        last = max(one.until or "" for one in held)
        found[-1] = found[-1]._replace(until=day_after(last))
    return found


def _read(given: CourtNotice, odd: list[str]) -> _Read | None:
    """Returns a notice with its meaning; None if it names no procedure.

    Of a code and a text that contradict each other the code counts: the text stands in the status,
    and the contradiction is told as odd.
    """
    procedure = _procedure(given, odd)
    if procedure is None:
        return None
    status, text = procedure
    code = given.statuskode
    told = None if given.statustekst is None else fold_word(given.statustekst)
    if code is None:
        code = next((key for key, one in NOTICES.items() if one.text == told), None)
    notice = NOTICES.get(code or "")
    if notice is None:
        # A notice without a code or a text is a decree; a code that nobody knows changes nothing.
        is_bare = given.statuskode is None and told is None
        if not is_bare:
            odd.append("status.statuskode" if given.statuskode else "status.statustekst")
        return _Read(given, Effect.OPENS if is_bare else Effect.NONE, status, text)
    is_doubtful = told is not None and told != notice.text
    if is_doubtful:
        odd.append("status.statustekst")
        text = f"{text}: {given.statustekst}"
    is_meant = notice.procedure in (None, status)
    effect = notice.effect if is_meant else Effect.NONE
    return _Read(given, effect, status, text, is_doubtful)


def _procedure(given: CourtNotice, odd: list[str]) -> tuple[Status, str | None] | None:
    code, text = given.kreditoplysningkode, given.kreditoplysningtekst
    meant = meaning_of(text or "")
    known: Final = PROCEDURES.get(code or "")
    if known is None:
        if code is not None or (text is not None and meant is None):
            odd.append("status.kreditoplysningkode")
        if text is None:
            return None
        return meant or Status.ACTIVE, text
    if text is not None and meant is not known[1]:
        odd.append("status.kreditoplysningtekst")
    return known[1], text or known[0].capitalize()
