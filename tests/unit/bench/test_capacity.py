"""The calculator of `python -m bench.capacity`."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench.capacity
from bench.capacity.__main__ import main
from bench.capacity.costs import cores, rates_of
from bench.capacity.model import Load, costs_of, limits, parts, read_points, replicas

POINTS = read_points()
COSTS = costs_of(POINTS)
RUNS = tomllib.loads(Path(bench.capacity.__file__).with_name("runs.toml").read_text())["run"]
LOAD = Load(lookups=6000, companies=3_000_000, webhooks=100_000, events=1000)


def test_a_lookup_is_the_cheaper_the_more_there_are() -> None:
    for part in ("gateway", "lookup", "RabbitMQ", "MongoDB"):
        costs = [COSTS[part].lookup_ms(rate) for rate in (1, 100, 500, 2000, 4000, 60_000)]
        assert costs == sorted(costs, reverse=True)
        assert costs[0] > costs[-1] > 0


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_the_cores_of_a_deployment_it_was_not_fitted_to_are_right_within_a_quarter(
    run: dict[str, Any],
) -> None:
    rates, used = rates_of(run), sum(run["cores"].values())

    computed = sum(cores(part, COSTS[part], rates) for part in run["cores"])

    assert 0.75 * used <= computed <= 1.25 * used


def test_every_point_names_its_source() -> None:
    tables = [
        each
        for value in POINTS.values()
        for each in ([value] if isinstance(value, dict) else value)
    ]

    assert all(each["source"] for each in tables)


def test_ten_times_the_load_needs_nearly_ten_times_the_cores() -> None:
    more = replace(LOAD, lookups=LOAD.lookups * 10, events=LOAD.events * 10)

    for one, ten in zip(parts(LOAD, POINTS), parts(more, POINTS), strict=True):
        # Processes without a load, and groups of events, do not become more.
        assert 7 * one.cores < ten.cores <= 10 * one.cores
        assert ten.replicas >= one.replicas


def test_no_replica_uses_more_of_its_core_than_planned() -> None:
    large = replace(LOAD, lookups=60_000, events=10_000)

    used = {part.name: part for part in parts(large, POINTS)}
    for name, count in replicas(large, COSTS).items():
        assert 0.6 < used[name].cores / count <= 0.7


def test_no_load_still_has_a_replica_to_lose() -> None:
    idle = Load(lookups=0, companies=1000, webhooks=0, events=0)

    assert [part.replicas for part in parts(idle, POINTS)] == [2, 2, 2, 3, 3]
    assert all(0 < part.cores < 0.1 for part in parts(idle, POINTS))


def test_the_most_used_limit_is_the_first() -> None:
    large = limits(replace(LOAD, events=0, companies=300_000_000), POINTS)
    busy = limits(replace(LOAD, lookups=0, events=1_000_000, kept_days=0), POINTS)

    assert large[0].name.startswith("the memory of a lookup process")
    assert busy[0].name.startswith("the outbox's publisher")
    assert busy[0].share == pytest.approx(1_000_000 / 6800)


def test_it_prints_each_part_and_the_first_bottleneck(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--lookups=6000", "--companies=3000000", "--webhooks=100000", "--events=1000"])

    printed = capsys.readouterr().out
    assert all(f"| {part.name} | {part.replicas} |" in printed for part in parts(LOAD, POINTS))
    assert f"First bottleneck: {limits(LOAD, POINTS)[0].name}" in printed


@pytest.mark.parametrize(
    "option, value",
    [
        ("--lookups", "-1"),
        ("--lookups", "fast"),
        ("--lookups", "nan"),
        ("--companies", "3e6"),
        ("--webhooks", "0.5"),
        ("--events", "1,000"),
        ("--fan-out", "0"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"--lookups": "1", "--companies": "1", "--webhooks": "1", "--events": "1"}
    given[option] = value

    with pytest.raises(SystemExit):
        main([f"{name}={each}" for name, each in given.items()])

    assert f"argument {option}: " in capsys.readouterr().err
