"""Canonical JSON of the public models: the bytes that are stored, compared and sent.

A release may read more of a document than the one before. A company that an earlier one stored is
updated when its document is next read, with a new revision and without an event, since the company
itself did not change (ADR 0020).
"""

from collections.abc import Iterable
from typing import Final

from common.contracts.company import Company
from common.contracts.contract import Contract

_FIELDS: Final = tuple(f'"{name}":'.encode() for name in Company.model_fields)


def dump(model: Contract) -> bytes:
    """UTF-8 JSON with the fields in declared order, so that equal models have equal bytes."""
    return model.model_dump_json().encode()


def dump_all(models: Iterable[Contract]) -> bytes:
    """Returns models as one JSON list."""
    return b"[" + b",".join(dump(model) for model in models) + b"]"


def is_outdated(core: bytes) -> bool:
    """Returns True if an earlier release stored the company: a field of this release is missing."""
    found = 0
    for field in _FIELDS:  # in their order, so that the text is read once
        found = core.find(field, found)
        if found < 0:
            return True
    return False


def completed(core: bytes) -> bytes:
    """Returns the stored company with every field of this release; missing ones are null."""
    return dump(Company.model_validate_json(core)) if is_outdated(core) else core
