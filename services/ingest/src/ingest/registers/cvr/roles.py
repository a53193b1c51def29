"""The codes and the words of roles in Danish companies."""

from functools import lru_cache
from typing import Final

from common.contracts.company import RoleCode
from ingest.registers.cvr.codes import (
    BOARD_AND_DIRECTION,
    BOARD_FUNCTIONS,
    BOARDS,
    BODIES,
    BODY_ENDINGS,
    FUNCTIONS,
    PLAIN_BODIES,
    Kind,
)
from ingest.registers.cvr.dated_values import fold_word

#: More than the bodies and functions that occur often.
_MAX_ROLES: Final = 4096


@lru_cache(_MAX_ROLES)
def role_code(kind: Kind | None, body: str, function: str) -> tuple[RoleCode, str | None]:
    """Returns the code of a role by the folded names of the body and the function.

    Of a body or a kind that nobody knows it is `other`, with the path of what is odd.
    """
    for beginning, code in FUNCTIONS.items():
        if function.startswith(beginning):
            return code, None
    match kind:
        case Kind.AUDIT | Kind.SUSTAINABILITY_AUDIT:
            is_sustainability = "BAEREDYGTIG" in f"{body} {function}"
            if kind is Kind.SUSTAINABILITY_AUDIT or is_sustainability:
                return RoleCode.SUSTAINABILITY_AUDITOR, None
            return RoleCode.AUDITOR, None
        case Kind.SIGNATORIES:
            return RoleCode.SIGNATORY, None
        case Kind.OTHER | Kind.PARENT:
            return RoleCode.OTHER, None
        case Kind.BODY:
            known = _code_in_body(body, function)
            odd = None if known else "deltagerRelation.organisationer.organisationsNavn"
            return known or RoleCode.OTHER, odd
        case _:
            return RoleCode.OTHER, "deltagerRelation.organisationer.hovedtype"


def _code_in_body(body: str, function: str) -> RoleCode | None:
    """Returns the code of a member of a body; None for a body that nobody knows."""
    if body == BOARD_AND_DIRECTION:
        is_director = "DIREKT" in function and "BESTYRELSE" not in function
        return RoleCode.DIRECTOR if is_director else _on_board(function)
    known = _known_body(body)
    return _on_board(function) if known in BOARDS else BODIES.get(known)


def _known_body(body: str) -> str:
    """Returns the name under which a body is known: `Koncernbestyrelsen` is a board."""
    if body in BODIES or body in BOARDS:
        return body
    return next((name for end, name in BODY_ENDINGS.items() if body.endswith(end)), body)


def _on_board(function: str) -> RoleCode:
    found = (code for part, code in BOARD_FUNCTIONS.items() if part in function)
    return next(found, RoleCode.BOARD_MEMBER)


@lru_cache(_MAX_ROLES)
def text_in(body: str | None, function: str) -> str:
    """Returns the register's words: `Repræsentantskab: Formand`."""
    if body is None:
        return function
    folded = fold_word(body)
    if folded in PLAIN_BODIES or fold_word(function).startswith(folded):
        return function
    return f"{body}: {function}"
