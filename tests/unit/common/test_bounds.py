"""The bound of what all connections hold."""

from dataclasses import dataclass

from common.runtime.public_port.bounds import Bound


@dataclass(eq=False)
class FakeHolder:
    reason: str | None = None

    def exceed(self, reason: str) -> None:
        self.reason = reason


def test_up_to_the_maximum_no_connection_is_closed() -> None:
    bound, holders = Bound(30, "too much"), [FakeHolder() for _ in range(3)]

    for holder in holders:
        bound.hold(holder, 10)

    assert [holder.reason for holder in holders] == [None] * 3
    assert bound.total == 30


def test_above_the_maximum_the_connection_that_holds_most_is_closed() -> None:
    bound, holders = Bound(30, "too much"), [FakeHolder() for _ in range(3)]

    for holder, count in zip(holders, (10, 20, 5), strict=True):
        bound.hold(holder, count)

    assert [holder.reason for holder in holders] == [None, "too much", None]
    assert bound.total == 15


def test_what_a_connection_holds_is_stated_anew() -> None:
    bound, holder = Bound(30, "too much"), FakeHolder()

    for count in (20, 25, 0, 30):
        bound.hold(holder, count)

    assert holder.reason is None
    assert bound.total == 30
