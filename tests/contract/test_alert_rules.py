"""Each alert fires when it should and not otherwise, as Prometheus' own promtool evaluates it."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_stack.packages import install
from tests.contract.manifests.alert_cases import CASES, Case, Series
from tests.contract.manifests.metrics import unfiltered_in
from tests.contract.manifests.reading import KUBERNETES, ROOT

#: The namespace of the base, which every rule is about.
OURS = "company-registry"
RULES = KUBERNETES / "components" / "monitoring" / "alerts.yaml"


@cache
def rule_groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    return groups


def alerts() -> dict[str, dict[str, Any]]:
    rules = [rule for group in rule_groups() for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


def inside(series: Series, namespace: str) -> Series:
    """The series as Prometheus scrapes them in a namespace; a recorded one stays as it is."""
    label = f'namespace="{namespace}"'
    return {
        key.replace("{", f"{{{label}, ", 1) if "{" in key else f"{key}{{{label}}}": values
        for key, values in series.items()
    }


def scenario(name: str, series: Series, at: str, *, fires: bool) -> dict[str, Any]:
    return {
        "name": f"{name} {'fires' if fires else 'stays quiet'}",
        "interval": "1m",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > bool 0',
                "eval_time": at,
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


def written(folder: Path, name: str, case: Case) -> Path:
    """A test file of promtool for one alert, beside the only rules that it needs."""
    recorded = [r for group in rule_groups() for r in group["rules"] if "record" in r]
    needed = [r for r in recorded if r["record"] in alerts()[name]["expr"]]
    rules = {"groups": [{"name": name, "rules": [*needed, alerts()[name]]}]}
    (folder / f"{name}.rules").write_text(yaml.safe_dump(rules))
    suite = {
        "rule_files": [f"{name}.rules"],
        "evaluation_interval": "1m",
        "tests": [
            scenario(name, inside(case.fires, OURS), case.at, fires=True),
            scenario(
                name,
                {**inside(case.fires, "another"), **inside(case.quiet, OURS)},
                case.at,
                fires=False,
            ),
        ],
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(suite))
    return file


def test_every_rule_is_about_our_namespace() -> None:
    expressions = [rule["expr"] for group in rule_groups() for rule in group["rules"]]
    base = yaml.safe_load((KUBERNETES / "base" / "kustomization.yaml").read_text())

    assert base["namespace"] == OURS
    assert [each for each in expressions if unfiltered_in(each, f'namespace="{OURS}"')] == []


def test_every_alert_has_its_cases() -> None:
    assert CASES.keys() == alerts().keys()


@pytest.mark.timeout(900)  # installs promtool
def test_every_alert_fires_and_stays_quiet_as_its_cases_say(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        install(["prometheus"], why="promtool is missing.")
    files = [str(written(tmp_path, name, case)) for name, case in CASES.items()]

    result = subprocess.run(
        ["promtool", "test", "rules", *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", alerts())
def test_every_alert_has_a_section_in_the_runbook(name: str) -> None:
    headings = (ROOT / "docs" / "runbook.md").read_text().splitlines()

    assert f"### {name}" in headings
    assert alerts()[name]["annotations"]["runbook_url"] == f"runbook.md#{name.lower()}"
