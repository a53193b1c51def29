"""Requests and responses as values: this package decides with them, and a transport sends them."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, before it has a base URL and the headers of the client."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    #: Sent as JSON; no body if None.
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: True if sending it twice has the effect of sending it once.
    repeatable: bool = True
    #: Seconds that the server may hold the request, beyond the client's timeout.
    held: float = 0
    #: True if the body of a successful response is read by `NextPart`.
    in_parts: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """A response, read to its end."""

    status: int
    #: Read by names in lower case.
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The request got no response."""

    reason: str
    #: True if the server may have received it.
    sent: bool


@dataclass(frozen=True, slots=True)
class NextPart:
    """Reads on in the body of the last response; its outcome is a `Part`, or `Unanswered`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a body as they were sent; None at its end."""

    content: bytes | None


@dataclass(frozen=True, slots=True)
class Sleep:
    """A wait before the next request, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """One value of a stream, for the caller."""

    value: T


Outcome: TypeAlias = Response | Part | Unanswered

Step: TypeAlias = Request | NextPart | Sleep

#: A computation that yields requests and delays to its driver, and returns a T.
Steps: TypeAlias = Generator[Step, Outcome | None, T]

#: The same, giving the caller one T after the other.
Stream: TypeAlias = Generator[Step | Item[T], Outcome | None, None]


def stream_of(steps: Steps[T]) -> Stream[T]:
    """Yields the stream of the one value that the computation returns."""
    yield Item((yield from steps))
