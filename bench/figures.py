"""Measured figures with their goals: printed as a table and written to `bench/results/`."""

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; `goal` is None for a figure shown for comparison."""

    name: str
    value: float
    unit: str
    goal: str | None = None
    met: bool | None = None


def at_least(name: str, value: float, unit: str, goal: float) -> Figure:
    return Figure(name, value, unit, f"≥ {goal:g}", value >= goal)


def at_most(name: str, value: float, unit: str, goal: float) -> Figure:
    return Figure(name, value, unit, f"≤ {goal:g}", value <= goal)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all are not above; linear between neighbours."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=1000, method="inclusive")[round(share * 1000) - 1]


def table(figures: Sequence[Figure]) -> str:
    """A Markdown table with a row for each figure."""
    rows = ["| figure | value | goal | met |", "|---|---|---|---|"]
    for figure in figures:
        met = {True: "yes", False: "NO", None: ""}[figure.met]
        rows.append(
            f"| {figure.name} | {_shown(figure.value)} {figure.unit} "
            f"| {figure.goal or ''} | {met} |"
        )
    return "\n".join(rows)


def write(measurement: str, figures: Sequence[Figure], *, on: date) -> None:
    """Replaces one measurement's figures in `latest.json`, for programs, and `latest.md`.

    Each benchmark has the day and the machine of its run, so the figures compared within one were
    measured in one run.
    """
    RESULTS.mkdir(exist_ok=True)
    stored = RESULTS / "latest.json"
    found = json.loads(stored.read_text()) if stored.exists() else {}
    found[measurement] = {
        "measured": on.isoformat(),
        "machine": machine(),
        "figures": [asdict(figure) for figure in figures],
    }
    stored.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    sections = [_section(name, found[name]) for name in sorted(found)]
    (RESULTS / "latest.md").write_text("\n".join(["# Latest figures", *sections]))


def _section(name: str, found: Mapping[str, Any]) -> str:
    shown = table([Figure(**figure) for figure in found["figures"]])
    return f"\n## {name.capitalize()}\n\n{found['measured']}, {found['machine']}\n\n{shown}\n"


def machine() -> str:
    """The machine of a run."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return (
        f"{os.cpu_count()} cores of {model}, {pages * size / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}."
    )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
