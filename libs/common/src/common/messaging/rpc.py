"""Wire format of RPC requests and replies.

A message carries a batch: requests pending at the same moment share it. Both sides use msgpack, so
that a reply's ready JSON travels as bytes and is copied, never parsed.

Request: `[[request_id, milliseconds_left, contract], …]`. Reply, in the same order:
`[[failure | nil, contract | nil], …]`. The time left is relative, since the clocks of two
hosts differ.
"""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import ormsgpack
from pydantic import ValidationError

from common.contracts.contract import Contract
from common.contracts.failures import Failure

C = TypeVar("C", bound=Contract)

Result = Contract | Failure


class Undecodable(Exception):
    """A message that does not have the wire format."""


class RpcFailed(Exception):
    """The other side answered with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code, failure.detail)
        self.failure = failure


class Asked(NamedTuple, Generic[C]):
    """One request of a batch."""

    request_id: str
    request: C
    #: The caller's deadline on this process' monotonic clock, in seconds.
    deadline: float


def encode_requests(items: Sequence[tuple[str, int, Contract]]) -> bytes:
    return ormsgpack.packb(items, option=ormsgpack.OPT_SERIALIZE_PYDANTIC)


def decode_requests(body: bytes, kind: type[C], *, now: float) -> list[Asked[C]]:
    """The requests of a message, at least one; raises Undecodable when any is invalid."""
    try:
        asked = [
            Asked(request_id, kind.model_validate(request), now + milliseconds / 1000)
            for request_id, milliseconds, request in ormsgpack.unpackb(body)
        ]
    except (ValidationError, ValueError, TypeError) as error:
        raise Undecodable(str(error)) from error
    if not asked:
        raise Undecodable("it asks for nothing")
    return asked


def encode_results(results: Sequence[Result]) -> bytes:
    return ormsgpack.packb(
        [(result, None) if isinstance(result, Failure) else (None, result) for result in results],
        option=ormsgpack.OPT_SERIALIZE_PYDANTIC,
    )


def decode_results(body: bytes) -> list[tuple[Failure | None, dict[str, Any] | None]]:
    try:
        return [
            (None if failure is None else Failure.model_validate(failure), reply)
            for failure, reply in ormsgpack.unpackb(body)
        ]
    except (ValidationError, ValueError, TypeError) as error:
        raise Undecodable(str(error)) from error
