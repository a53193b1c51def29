"""The public models as JSON bytes: what is stored, compared and sent, without a detour."""

from collections.abc import Iterable

from common.contracts.contract import Contract


def dump(model: Contract) -> bytes:
    """UTF-8 JSON, the fields in their declared order, so that equal models are equal bytes."""
    return model.model_dump_json().encode()


def dump_all(models: Iterable[Contract]) -> bytes:
    return b"[" + b",".join(dump(model) for model in models) + b"]"
