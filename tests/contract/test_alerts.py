"""Each alert fires when it should and not otherwise, as Prometheus' own promtool evaluates it.

The alerts and the autoscalers use metrics and queues that exist.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from gateway.http.documentation import openapi_document
from local_stack.packages import install
from tests.contract.manifests.alert_cases import CASES, Case, Series
from tests.contract.manifests.metrics import (
    asked_for,
    exposed_metrics,
    unfiltered_in,
    unknown_in,
)
from tests.contract.manifests.reading import KUBERNETES, ROOT

#: The namespace of the base, which every rule is about.
OURS = "company-registry"
COMPONENTS = KUBERNETES / "components"


@cache
def rule_groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(
        (COMPONENTS / "monitoring" / "alerts.yaml").read_text()
    )["spec"]["groups"]
    return groups


def rules() -> list[dict[str, Any]]:
    return [rule for group in rule_groups() for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


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
    alert = alerts()[name]
    recorded = [rule for rule in rules() if "record" in rule and rule["record"] in alert["expr"]]
    groups = {"groups": [{"name": name, "rules": [*recorded, alert]}]}
    (folder / f"{name}.rules").write_text(yaml.safe_dump(groups))
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
    expressions = [rule["expr"] for rule in rules()]
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
        # On a busy machine, the threads that collect garbage take more of it than the rules.
        env={**os.environ, "GOMAXPROCS": "1"},
    )

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", alerts())
def test_every_alert_has_a_severity_and_a_section_in_the_runbook(name: str) -> None:
    headings = (ROOT / "docs" / "runbook.md").read_text().splitlines()
    alert = alerts()[name]

    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
    assert f"### {name}" in headings
    assert alert["annotations"]["runbook_url"] == f"runbook.md#{name.lower()}"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_uses_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    recorded = {other["record"]: frozenset[str]() for other in rules() if "record" in other}

    assert unknown_in(rule["expr"], exposed_metrics() | recorded) == []


def test_the_objective_of_lookups_counts_the_routes_of_lookups() -> None:
    tags = {
        path: {tag for operation in operations.values() for tag in operation["tags"]}
        for path, operations in openapi_document()["paths"].items()
    }
    expressions = [rule["expr"] for rule in rules() if "lookups_bad" in rule.get("record", "")]
    [counted] = {each for text in expressions for each in re.findall(r'route=~"([^"]*)"', text)}

    assert {path for path in tags if re.fullmatch(counted, path)} == {
        path for path in tags if tags[path] == {"Lookups"}
    }


def test_unread_changes_and_unpublished_events_have_alerts() -> None:
    watched = {metric for alert in alerts().values() for metric in asked_for(alert["expr"])}

    assert watched >= {
        "sync_cursor_age_seconds",
        "sync_pass_failures_total",
        "sync_unreadable_entries",
        "outbox_oldest_pending_age_seconds",
        "outbox_oldest_unconfirmed_age_seconds",
    }


@pytest.mark.parametrize(
    "expression,unknown",
    [
        (
            'sum by (le) (rate(http_request_second_bucket{route="x"}[5m])) > 1',
            "no metric http_request_second_bucket",
        ),
        ('sum by (path) (rate(http_requests_total{status=~"5.."}[5m])) > 1', "no label path"),
    ],
)
def test_an_unknown_metric_or_label_is_found(expression: str, unknown: str) -> None:
    assert unknown_in(expression, exposed_metrics()) == [unknown]


def test_the_dispatcher_grows_with_its_queues_of_work_and_not_with_those_of_delays() -> None:
    documents = yaml.safe_load_all((COMPONENTS / "keda" / "dispatcher.yaml").read_text())
    [scaler] = [document for document in documents if document["kind"] == "ScaledObject"]

    watched = {trigger["metadata"]["queueName"] for trigger in scaler["spec"]["triggers"]}

    assert watched == {EVENTS_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE}
