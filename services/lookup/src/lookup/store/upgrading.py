"""Companies that an earlier release stored.

A release may read more of a document than the one before, or read a value differently. The stored
company is updated when its document is next read, with a new revision and without an event, since
the company itself did not change (ADR 0020).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from common.contracts.company import Company
from lookup.store.canonical_json import dump

_FIELDS: Final = tuple(f'"{name}":'.encode() for name in Company.model_fields)


def is_outdated(core: bytes) -> bool:
    """True if an earlier release stored the company: a field of this release is missing."""
    return not all(field in core for field in _FIELDS)


def completed(core: bytes) -> bytes:
    """The stored company with every field of this release; missing ones are null."""
    return dump(Company.model_validate_json(core)) if is_outdated(core) else core


def as_read_now(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The old version as this release would have read it, judged by the new one."""
    if "registered" in old or "registered" not in new:
        return old
    changed: dict[str, Any] = {}
    if new["founded"] is None and old.get("founded") == new["registered"]:
        # Norway's date of registration replaced a missing date of foundation.
        changed["founded"] = None
    if new["advertising_protected"] is None:
        changed["advertising_protected"] = None
    for name in ("address", "postal_address"):
        if _is_the_same_abroad(old.get(name), new[name], home=new["country"].upper()):
            changed[name] = new[name]
    return {**old, **changed}


def _is_the_same_abroad(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, *, home: str
) -> bool:
    """True if a foreign address was only split into fields, and its country named."""
    if not old or not new or new["country"] in (None, home):
        return False
    text: str = new["text"]
    return old["country"] == new["country"] and text.startswith(old["text"])


def completed_owners(owners: bytes) -> bytes:
    """The stored list with every field of this release; earlier ones had no role codes."""
    if b'"role":' not in owners or b'"role_text":' in owners:
        return owners
    return orjson.dumps(owners_as_read_now(orjson.loads(owners), ()))


def owners_as_read_now(
    old: list[dict[str, Any]] | None, new: Sequence[Mapping[str, Any]] | None
) -> list[dict[str, Any]] | None:
    """The old list as this release would have read it: `role` was the register's word."""
    if not old or "role_text" in old[0]:
        return old
    codes = {owner["role_text"]: owner["role"] for owner in new or ()}
    return [
        {**owner, "role": codes.get(owner["role"]), "role_text": owner["role"]} for owner in old
    ]
