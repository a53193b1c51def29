"""Eviction of connections at the limit."""

from dataclasses import dataclass

import pytest

from common.runtime.public_port.connection_table import (
    MAX_REFUSED,
    ConnectionTable,
    connections_within,
)


@dataclass(eq=False)
class FakeConnection:
    is_evicted: bool = False

    def evict(self) -> None:
        self.is_evicted = True


@pytest.mark.parametrize(
    "files, wanted, allowed", [(65_536, 4096, 4096), (1024, 4096, 768), (256, 4096, 128)]
)
def test_some_files_are_reserved_for_other_uses(files: int, wanted: int, allowed: int) -> None:
    assert connections_within(files, wanted) == allowed


def connections(count: int) -> list[FakeConnection]:
    return [FakeConnection() for _ in range(count)]


def evicted(found: list[FakeConnection]) -> list[int]:
    return [number for number, connection in enumerate(found) if connection.is_evicted]


def test_below_the_limit_no_connection_is_evicted() -> None:
    table, open_ = ConnectionTable(3), connections(3)

    assert [table.add(connection) for connection in open_] == [True] * 3
    assert evicted(open_) == []


def test_at_the_limit_the_longest_idle_connection_is_evicted() -> None:
    table, open_ = ConnectionTable(3), connections(5)

    assert [table.add(connection) for connection in open_] == [True] * 5
    assert evicted(open_) == [0, 1]
    assert len(table) == 3


def test_the_idle_time_restarts_after_each_request() -> None:
    table, open_ = ConnectionTable(2), connections(3)
    for connection in open_[:2]:
        table.add(connection)

    table.work(open_[0])
    table.wait(open_[0])
    table.add(open_[2])

    assert evicted(open_) == [1]


def test_a_busy_connection_is_never_evicted() -> None:
    table, open_ = ConnectionTable(1), connections(2)
    table.add(open_[0])
    table.work(open_[0])

    assert not table.add(open_[1])
    assert evicted(open_) == []


def test_a_closed_connection_makes_room() -> None:
    table, open_ = ConnectionTable(1), connections(2)
    table.add(open_[0])
    table.work(open_[0])

    table.remove(open_[0])

    assert table.add(open_[1])


def test_a_closed_connection_does_not_become_idle_again() -> None:
    table, open_ = ConnectionTable(1), connections(2)
    table.add(open_[0])
    table.remove(open_[0])

    table.wait(open_[0])

    assert table.add(open_[1])
    assert evicted(open_) == []


def test_refused_connections_are_bounded_too() -> None:
    table, [busy, *refused] = ConnectionTable(1), connections(MAX_REFUSED + 2)
    table.add(busy)
    table.work(busy)

    assert not any(table.add(connection) for connection in refused)
    assert evicted(refused) == [0]
    assert len(table) == 1 + MAX_REFUSED
