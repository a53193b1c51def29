"""Measured figures with their goals: printed as a table and written to `bench/results`."""

import math
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

RESULTS = Path(__file__).parent / "results" / "latest.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; `goal` is None for a figure shown for comparison."""

    name: str
    value: float
    unit: str
    goal: str | None = None
    met: bool | None = None


def in_turns(rounds: int, candidates: Mapping[K, Callable[[], V]]) -> dict[K, list[V]]:
    """Returns the measurements of each candidate in each round.

    Each takes a turn in every round, so that variations of the machine affect all of them.
    """
    found: dict[K, list[V]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, measure in candidates.items():
            found[name].append(measure())
    return found


def ratio(values: Sequence[float], others: Sequence[float]) -> float:
    """Returns the median of the ratios of the rounds: a slow round is slow for both."""
    pairs = zip(values, others, strict=True)
    # A busy machine may answer nothing in a quick run's second; then no goal is met.
    return statistics.median(one / other if other else math.nan for one, other in pairs)


def at_least(name: str, value: float, unit: str, goal: float | None) -> Figure:
    """Returns a figure with a minimum, if there is one."""
    if goal is None:
        return Figure(name, value, unit)
    return Figure(name, value, unit, f"≥ {goal:g}", value >= goal)


def at_most(name: str, value: float, unit: str, goal: float | None) -> Figure:
    """Returns a figure with a maximum, if there is one."""
    if goal is None:
        return Figure(name, value, unit)
    return Figure(name, value, unit, f"≤ {goal:g}", value <= goal)


def latencies(
    name: str, milliseconds: Sequence[float], *, p50: float | None = None, p99: float | None = None
) -> list[Figure]:
    """Returns the figures of the median and the 99th percentile, with their goals."""
    return [
        at_most(f"{name}, p50", statistics.median(milliseconds), "ms", p50),
        at_most(f"{name}, p99", percentile_99(milliseconds), "ms", p99),
    ]


def percentile_99(values: Sequence[float]) -> float:
    """Returns the 99th percentile, linear between neighbours."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[-1]


def table(figures: Sequence[Figure]) -> str:
    """Returns a Markdown table."""
    rows = ["| figure | value | goal | met |", "|---|---|---|---|"]
    for figure in figures:
        met = {True: "yes", False: "NO", None: ""}[figure.met]
        rows.append(
            f"| {figure.name} | {_rounded(figure.value)} {figure.unit} "
            f"| {figure.goal or ''} | {met} |"
        )
    return "\n".join(rows)


def write(benchmark: str, figures: Sequence[Figure]) -> None:
    """Replaces one benchmark's section.

    Each section has the day and the machine of its run, since figures compare only within a run.
    """
    title, *sections = RESULTS.read_text().split("\n## ")
    kept = {section.partition("\n")[0]: section for section in sections}
    name, today = benchmark.capitalize(), datetime.now(UTC).date()
    kept[name] = f"{name}\n\n{today}, {machine()}\n\n{table(figures)}"
    pieces = [title, *(kept[each] for each in sorted(kept))]
    RESULTS.write_text("\n\n## ".join(map(str.strip, pieces)) + "\n")


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    model = next(models, "unknown processor")
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return (
        f"{os.cpu_count()} cores of {model}, {pages * size / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
