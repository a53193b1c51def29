"""Canonical JSON of the public models: the bytes that are stored, compared and sent."""

from collections.abc import Iterable

from common.contracts.contract import Contract


def dump(model: Contract) -> bytes:
    """Returns UTF-8 JSON with fields in declared order: equal models have equal bytes."""
    return model.model_dump_json().encode()


def dump_all(models: Iterable[Contract]) -> bytes:
    """Returns models as one JSON list."""
    return b"[" + b",".join(dump(model) for model in models) + b"]"
