"""Divisions of industry codes (NACE) in words: both registers' codes begin with their digits."""

from typing import Final

from common.domain.code_texts import DIVISIONS as _DIVISIONS

#: By the first two digits of a code.
DIVISIONS: Final = {code: division.text for code, division in _DIVISIONS.items()}


def industry(code: str) -> str:
    """Returns the division of a code or of its beginning in words; empty for an unknown one."""
    return DIVISIONS.get(code[:2], "")
