"""CVR's words for the status of a company, and their meaning."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from common.contracts.company import Status

#: By folded word without spaces and without a leading UNDER; a word may begin with one of them.
_MEANING: Final = {
    "NORMAL": Status.ACTIVE,
    "AKTIV": Status.ACTIVE,
    "REASSUMERING": Status.ACTIVE,
    "REASUMMERING": Status.ACTIVE,
    "REASUMERING": Status.ACTIVE,
    "FREMTID": Status.ACTIVE,
    "TVANGSOPLOSNING": Status.UNDER_LIQUIDATION,
    "FRIVILLIGLIKVIDATION": Status.UNDER_LIQUIDATION,
    "LIKVIDATION": Status.UNDER_LIQUIDATION,
    "REKONSTRUKTION": Status.UNDER_RECONSTRUCTION,
    "TVANGSAKKORD": Status.UNDER_RECONSTRUCTION,
    "KONKURS": Status.BANKRUPT,
    "OPHORT": Status.ENDED,
    "OPLOST": Status.ENDED,
    "TVANGSOPLOST": Status.ENDED,
    "SLETTET": Status.ENDED,
    "LUKKET": Status.ENDED,
    "UDENRETSVIRKNING": Status.ENDED,
}

#: By the code of a decree (`kreditoplysningkode`).
_DECREES: Final = {"1": Status.BANKRUPT, "3": Status.UNDER_RECONSTRUCTION}

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
    for beginning, status in _MEANING.items():
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


def state_by_decree(code: str | None, text: str | None, since: str | None) -> State | None:
    """Returns the status by the code of a decree and its text; None if it has neither."""
    status = _DECREES.get(code or "") or meaning_of(text or "")
    if status is None:
        if text is None:
            return None
        return State(Status.ACTIVE, text, since, "status.kreditoplysningkode")
    return State(status, text, since)
