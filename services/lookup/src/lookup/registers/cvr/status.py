"""CVR's words for the status of a company, and their meaning."""

import re
import unicodedata
from typing import Final

from common.contracts.company import Status

#: By folded word, without a leading UNDER; a word may begin with one of them.
_MEANING: Final = {
    "NORMAL": Status.ACTIVE,
    "AKTIV": Status.ACTIVE,
    "REASSUMERING": Status.ACTIVE,
    "FREMTID": Status.ACTIVE,
    "TVANGSOPLOSNING": Status.UNDER_LIQUIDATION,
    "FRIVILLIG LIKVIDATION": Status.UNDER_LIQUIDATION,
    "LIKVIDATION": Status.UNDER_LIQUIDATION,
    "REKONSTRUKTION": Status.UNDER_RECONSTRUCTION,
    "KONKURS": Status.BANKRUPT,
    "OPHORT": Status.ENDED,
    "OPLOST": Status.ENDED,
    "TVANGSOPLOST": Status.ENDED,
    "SLETTET": Status.ENDED,
    "LUKKET": Status.ENDED,
    "UDEN RETSVIRKNING": Status.ENDED,
}

_NOT_A_LETTER = re.compile(r"[^A-Z]+")


def fold_word(word: str) -> str:
    """Returns one spelling for `UNDER_TVANGSOPLØSNING`, `Under tvangsoploesning` and the like."""
    letters = unicodedata.normalize("NFC", word).upper()
    for letter, plain in (("Ø", "O"), ("OE", "O"), ("Æ", "AE"), ("Å", "AA")):
        letters = letters.replace(letter, plain)
    return _NOT_A_LETTER.sub(" ", letters).strip()


def meaning_of(word: str) -> Status | None:
    """Returns the meaning of a register's word; None for an unknown one."""
    folded = fold_word(word).removeprefix("UNDER ")
    for beginning, status in _MEANING.items():
        if folded.startswith(beginning):
            return status
    return None


def status_of(*words: str | None, ended: bool) -> tuple[Status, str | None]:
    """Returns the status and the register's word: the first that is consistent with the period.

    An end date takes precedence over an outdated status.
    """
    known = [(meaning_of(word), word) for word in words if word]
    for status, word in known:
        if status is not None and (status is Status.ENDED or not ended):
            return status, word
    if ended:
        return Status.ENDED, None
    return Status.ACTIVE, known[0][1] if known else None
