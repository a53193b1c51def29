"""A transport of the client that answers from a list, and never waits."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from company_registry.http import (
    Item,
    NextPart,
    Outcome,
    Request,
    Response,
    Sleep,
    Steps,
    Stream,
    stream_of,
)

T = TypeVar("T")


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    """A response with a JSON body; `_` in a header's name is a dash."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, named, json.dumps(body).encode())


def problem(code: str, status: int, **headers: str) -> Response:
    return answer({"code": code, "status": status, "detail": f"it is {code}"}, status, **headers)


@dataclass
class FakeTransport:
    """Answers requests in order; records requests and the sleeps of a real client."""

    answers: list[Outcome]
    requests: list[Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def run(self, steps: Steps[T]) -> T:
        [value] = self.iterate(stream_of(steps))
        return value

    def iterate(self, stream: Stream[T]) -> Iterable[T]:
        outcome: Outcome | None = None
        while True:
            try:
                step = stream.send(outcome)
            except StopIteration:
                return
            outcome = None
            if isinstance(step, Item):
                yield step.value
            else:
                outcome = self._take(step)

    def _take(self, step: Any) -> Outcome | None:
        if isinstance(step, Sleep):
            self.slept.append(step.seconds)
            return None
        if not isinstance(step, NextPart):
            self.requests.append(step)
        return self.answers.pop(0)
