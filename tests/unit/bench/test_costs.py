"""The costs of each part of a deployment, fitted to measured loads."""

from dataclasses import replace
from typing import Any

import pytest

from bench.capacity.costs import SERVERS, SERVICES, Rates, cores, fitted, rates_of

_ONE = (1, 1, 1)
_TWO = (2, 2, 2)


def _row(processes: tuple[int, int, int], used: float, **happened: float) -> dict[str, Any]:
    """A load under which every part used as much."""
    rates = {"lookups": 0.0, "events": 0.0, "deliveries": 0.0, **happened}
    return {"processes": processes, "cores": dict.fromkeys((*SERVICES, *SERVERS), used), **rates}


#: 10 and 20 ms of idle processes, 5 ms a group, 1 ms an event, 2 ms a delivery, and lookups.
_ROWS = [
    _row(_ONE, 0.010),
    _row(_TWO, 0.020),
    _row(_ONE, 0.010 + 0.200 + 0.040 + 0.080, events=40, deliveries=40),
    _row(_ONE, 0.010 + 0.200 + 0.040 + 0.400, events=40, deliveries=200),
    _row(_ONE, 0.010 + 0.200 + 0.200 + 0.400, events=200, deliveries=200),
    _row(_ONE, 0.010 + 1.000, lookups=500),
    _row(_ONE, 0.010 + 1.000, lookups=5000),
]


def test_the_costs_are_those_that_the_loads_add_up_to() -> None:
    found = fitted("dispatcher", _ROWS)

    assert (found.process, found.group, found.event, found.delivery) == pytest.approx(
        (0.010, 5.0, 1.0, 2.0)
    )
    assert found.lookup_ms(1) == found.lookup_ms(500) == pytest.approx(2)
    assert found.lookup_ms(500 * 10**0.5) == pytest.approx((2 + 0.2) / 2)
    assert found.lookup_ms(60_000) == found.lookup_ms(5000) == pytest.approx(0.2)


@pytest.mark.parametrize("part", [*SERVICES, *SERVERS])
def test_a_measured_load_is_found_again(part: str) -> None:
    found = fitted(part, _ROWS)

    for row in _ROWS:
        assert cores(part, found, rates_of(row)) == pytest.approx(row["cores"][part])


def test_few_events_are_as_many_groups_and_many_are_forty() -> None:
    found = fitted("dispatcher", _ROWS)
    none = Rates(0, 0, 0, dict(zip(SERVICES, _ONE, strict=True)))

    one, forty, hundred = (
        cores("dispatcher", found, replace(none, events=events)) - 0.010 for events in (1, 40, 100)
    )

    assert (one, forty, hundred) == pytest.approx((0.006, 0.240, 0.300))


def test_no_cost_is_negative() -> None:
    rows = [
        _row(_ONE, 0.010),
        _row(_ONE, 0.050, events=20, deliveries=20),
        _row(_ONE, 0.045, events=20, deliveries=200),
        _row(_ONE, 0.100, events=100, deliveries=100),
    ]

    found = fitted("RabbitMQ", rows)

    assert found.delivery == 0
    assert min(found.alone, found.process, found.group, found.event) >= 0
