"""The row of a fault, and when it meets its goal."""

from dataclasses import replace

import pytest

from bench.resilience.__main__ import quiet_machine
from bench.resilience.cluster import Cluster
from bench.resilience.harms import Fault
from bench.resilience.load import Lookup
from bench.resilience.loaded import Outcome, is_good, table, written


async def nothing(_cluster: Cluster) -> None: ...


def an_outcome(
    *lookups: Lookup, may_refuse: bool = False, may_fail: bool = False, **other: object
) -> Outcome:
    given: dict[str, object] = {
        "sent": 10,
        "received": 10,
        "repeated": 0,
        "slowest_delivery": 1.0,
        "began": 100.0,
        "ended": 110.0,
        **other,
    }
    fault = Fault("one gateway killed", nothing, 1.0, may_refuse, may_fail)
    return Outcome(fault=fault, lookups=lookups, **given)  # type: ignore[arg-type]


ANSWERED = Lookup(101.0, 0.01, 200)
SLOW = Lookup(101.0, 1.2, 200)
FAILED = Lookup(102.0, 1.8, 504)
REFUSED = Lookup(102.0, 0.01, 503, may_retry=True)
DOCUMENTED = Lookup(102.0, 0.9, 504, may_retry=True, is_problem=True)
#: In the first second of an alarm.
LATE = Lookup(100.5, 1.8, 504)


@pytest.mark.parametrize(
    "outcome, missed",
    [
        (an_outcome(ANSWERED), []),
        (an_outcome(ANSWERED, SLOW), ["over 1 s"]),
        (an_outcome(ANSWERED, FAILED), ["failed"]),
        (an_outcome(ANSWERED, REFUSED), ["failed"]),
        (an_outcome(ANSWERED, REFUSED, may_refuse=True), []),
        (an_outcome(LATE, Lookup(102.0, 0.2, 503, may_retry=True), may_refuse=True), ["failed"]),
        (an_outcome(LATE, Lookup(102.0, 0.01, 503), may_refuse=True), ["failed"]),
        (an_outcome(LATE, may_refuse=True), []),
        (an_outcome(ANSWERED, DOCUMENTED, may_fail=True), []),
        (an_outcome(ANSWERED, replace(DOCUMENTED, seconds=1.1), may_fail=True), ["failed"]),
        (an_outcome(ANSWERED, replace(DOCUMENTED, is_problem=False), may_fail=True), ["failed"]),
        (an_outcome(ANSWERED, received=9), ["lost"]),
        (an_outcome(ANSWERED, repeated=1), ["repeated"]),
        (an_outcome(ANSWERED, error="not back within 120 s"), ["error"]),
    ],
)
def test_a_goal_is_missed_for_each_reason(outcome: Outcome, missed: list[str]) -> None:
    assert outcome.missed == missed


def test_a_row_counts_the_lookups_that_only_the_balancer_saved() -> None:
    saved = Lookup(101.0, 0.8, 200, repeats=1)

    cells = an_outcome(ANSWERED, saved, FAILED).row.strip("| ").split(" | ")

    assert cells[6:9] == ["3", "1 × 504", "2"]


@pytest.mark.parametrize(
    "outcomes, wanted, expected",
    [
        ([an_outcome(ANSWERED)], ["one gateway killed"], True),
        ([an_outcome(ANSWERED, SLOW)], ["one gateway killed"], False),
        ([an_outcome(ANSWERED, SLOW), an_outcome(ANSWERED)], ["one gateway killed"], False),
        ([an_outcome(ANSWERED)], ["one gateway killed", "one lookup killed"], False),
    ],
)
def test_a_measurement_is_good_if_every_fault_has_rows_and_every_row_meets_its_goal(
    outcomes: list[Outcome], wanted: list[str], *, expected: bool
) -> None:
    assert is_good(outcomes, wanted) is expected


def test_a_busy_machine_is_named() -> None:
    assert quiet_machine(0.4, 2).endswith("processors or disks.")
    assert "a load of 3.1 on 2 processors" in quiet_machine(3.1, 2)


def test_faults_without_time_are_named_below_the_table() -> None:
    text = table([an_outcome(ANSWERED)], ["one gateway killed", "one lookup killed"])

    assert text.endswith("- one lookup killed: no time was left.")


def test_a_run_replaces_the_earlier_one_of_its_sort() -> None:
    page = "# Page\n\n## Measured\n\nold\n\n## Random faults\n\nolder\n"

    once = written(page, "new")
    both = written(once, "newer", is_random=True)

    assert both == "# Page\n\n## Measured\n\nnew\n\n## Random faults\n\nnewer\n"
