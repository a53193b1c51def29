"""Eviction of connections at the limit, and the bound of what all connections hold."""

from dataclasses import dataclass

import pytest

from common.runtime.public_port.connections import (
    MAX_REFUSED,
    Bound,
    ConnectionTable,
    connections_within,
)


@dataclass(eq=False)
class FakeConnection:
    is_evicted: bool = False
    exceeded: str | None = None

    def evict(self) -> None:
        self.is_evicted = True

    def exceed(self, reason: str) -> None:
        self.exceeded = reason


def connections(count: int) -> list[FakeConnection]:
    return [FakeConnection() for _ in range(count)]


def evicted(found: list[FakeConnection]) -> list[int]:
    return [number for number, connection in enumerate(found) if connection.is_evicted]


@pytest.mark.parametrize(
    "held, closed, total",
    [((10, 10, 10), [None, None, None], 30), ((10, 20, 5), [None, "too much", None], 15)],
)
def test_above_the_maximum_the_connection_that_holds_most_is_closed(
    held: tuple[int, ...], closed: list[str | None], total: int
) -> None:
    bound, holders = Bound(30, "too much"), connections(3)

    for holder, count in zip(holders, held, strict=True):
        bound.hold(holder, count)

    assert [holder.exceeded for holder in holders] == closed
    assert bound.total == total


def test_a_new_count_of_a_connection_replaces_its_earlier_one() -> None:
    bound, holder = Bound(30, "too much"), FakeConnection()

    for count in (20, 25, 0, 30):
        bound.hold(holder, count)

    assert (holder.exceeded, bound.total) == (None, 30)


@pytest.mark.parametrize(
    "files, wanted, allowed", [(65_536, 4096, 4096), (1024, 4096, 768), (256, 4096, 128)]
)
def test_some_files_are_reserved_for_other_uses(files: int, wanted: int, allowed: int) -> None:
    assert connections_within(files, wanted) == allowed


@pytest.mark.parametrize("opened, gone", [(3, []), (5, [0, 1])])
def test_at_the_limit_the_longest_idle_connection_is_evicted(opened: int, gone: list[int]) -> None:
    table, open_ = ConnectionTable(3), connections(opened)

    assert all(table.add(connection) for connection in open_)
    assert evicted(open_) == gone
    assert len(table) == 3


def test_the_idle_time_restarts_after_each_request() -> None:
    table, open_ = ConnectionTable(2), connections(3)
    for connection in open_[:2]:
        table.add(connection)

    table.work(open_[0])
    table.wait(open_[0])
    table.add(open_[2])

    assert evicted(open_) == [1]


def test_a_busy_connection_is_never_evicted_and_makes_room_when_it_is_closed() -> None:
    table, (busy, other) = ConnectionTable(1), connections(2)
    table.add(busy)
    table.work(busy)

    assert not table.add(other)
    assert evicted([busy, other]) == []
    table.remove(busy)
    assert table.add(other)


def test_a_closed_connection_does_not_become_idle_again() -> None:
    table, (closed, other) = ConnectionTable(1), connections(2)
    table.add(closed)
    table.remove(closed)

    table.wait(closed)

    assert table.add(other)
    assert evicted([closed, other]) == []


def test_refused_connections_are_bounded_too() -> None:
    table, [busy, *refused] = ConnectionTable(1), connections(MAX_REFUSED + 2)
    table.add(busy)
    table.work(busy)

    assert not any(table.add(connection) for connection in refused)
    assert evicted(refused) == [0]
    assert len(table) == 1 + MAX_REFUSED
