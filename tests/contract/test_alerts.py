"""Each alert fires when it should and not otherwise, as Prometheus' own promtool evaluates it.

Alerts, dashboard and autoscalers use metrics and queues that exist.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.contracts.topology import DELIVERIES_QUEUE, FAN_OUT_QUEUE, RETRIES_QUEUE
from gateway.http.documentation import openapi_document
from local_stack.packages import install
from tests.contract.manifests.metrics import (
    dashboard,
    dashboard_queries,
    series_of,
    unfiltered_in,
    unknown_in,
)
from tests.contract.manifests.reading import COMPONENTS, ROOT, in_namespace, of_kind
from tests.contract.test_manifests import with_kubectl

MONITORING = COMPONENTS / "monitoring"
GROUPS = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["spec"]["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
RECORDED = {rule["record"]: rule for rule in RULES if "record" in rule}
ALERTS: dict[str, dict[str, Any]] = {rule["alert"]: rule for rule in RULES if "alert" in rule}
#: The label by which Prometheus knows our series.
PART_OF = "company-registry"
FIRING = 'ALERTS{alertstate="firing"}'
#: With which series each alert fires, and with which it just does not.
CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("alerts.yaml").read_text()
)

Series = dict[str, str]
Rule = dict[str, Any]


def inside(series: Series, namespace: str, *, ours: bool = True) -> Series:
    """The series as Prometheus scrapes them in a namespace, of this system or of another one."""
    label = f'namespace="{namespace}"' + f', part_of="{PART_OF}"' * ours
    return {
        key.replace("{", f"{{{label}, ", 1) if "{" in key else f"{key}{{{label}}}": values
        for key, values in series.items()
    }


def cases(name: str, kind: str) -> list[Series]:
    found = CASES[name][kind]
    return found if isinstance(found, list) else [found]


def scenario(name: str, series: Series, *, fires: bool) -> dict[str, Any]:
    """Of two namespaces at most one has the alert, and names itself in it."""
    return {
        "name": f"{name} {'fires' if fires else 'stays quiet'}",
        "interval": "1m",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'group by (namespace) (ALERTS{{alertname="{name}", alertstate="firing"}})',
                "eval_time": CASES[name].get("at", "60m"),
                "exp_samples": [{"labels": '{namespace="here"}', "value": 1}] if fires else [],
            }
        ],
    }


def written(folder: Path, name: str, rules: Sequence[Rule]) -> str:
    """A test file of promtool for one alert, beside the only rules that it needs."""
    [alert] = [rule for rule in rules if rule.get("alert") == name]
    recorded = [rule for rule in rules if rule.get("record") in alert["expr"].split()]
    groups = {"groups": [{"name": name, "rules": [*recorded, alert]}]}
    (folder / f"{name}.rules").write_text(yaml.safe_dump(groups))
    fires, quiet = cases(name, "fires"), cases(name, "quiet")
    suite = {
        "rule_files": [f"{name}.rules"],
        "evaluation_interval": "1m",
        "tests": [
            *(
                scenario(name, inside(series, "here") | inside(quiet[0], "elsewhere"), fires=True)
                for series in fires
            ),
            *(
                scenario(
                    name,
                    inside(fires[0], "here", ours=False) | inside(series, "here"),
                    fires=False,
                )
                for series in quiet
            ),
        ],
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(suite))
    return f"{name}.yaml"


def promtool(folder: Path, rules: Sequence[Rule], alerts: Iterable[str] = CASES) -> None:
    """Tries alerts of the rules, as Prometheus evaluates them."""
    if shutil.which("promtool") is None:
        install(["prometheus"], why="promtool is missing.")
    result = subprocess.run(
        ["promtool", "test", "rules", *(written(folder, name, rules) for name in alerts)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        # On a busy machine, the threads that collect garbage take more of it than the rules.
        env={**os.environ, "GOMAXPROCS": "1"},
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.timeout(900)  # installs promtool
def test_every_alert_fires_and_stays_quiet_as_its_cases_say(tmp_path: Path) -> None:
    assert CASES.keys() == ALERTS.keys()

    promtool(tmp_path, RULES)


@pytest.mark.timeout(900)
def test_no_alert_fires_on_a_healthy_day(tmp_path: Path) -> None:
    series = yaml.safe_load(Path(__file__).with_name("healthy_day.yaml").read_text())
    used = {name for rule in RULES for name in series_of(rule["expr"])} - RECORDED.keys()
    suite = {
        "rule_files": ["rules"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": key, "values": values}
                    for key, values in inside(series, "here").items()
                ],
                "promql_expr_test": [
                    {"expr": FIRING, "eval_time": time, "exp_samples": []}
                    for time in ("30m", "5h2m", "5h10m", "7h", "8h30m")
                ],
            }
        ],
    }
    (tmp_path / "rules").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": RULES}]}))
    (tmp_path / "day.yaml").write_text(yaml.safe_dump(suite))

    done = subprocess.run(
        ["promtool", "test", "rules", "day.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert used - {key.partition("{")[0] for key in series} == set()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rule_is_about_our_series_and_uses_metrics_and_labels_that_exist() -> None:
    queries = [rule["expr"] for rule in RULES]
    unfiltered = [each for query in queries for each in unfiltered_in(query, PART_OF)]

    # Of kube-state-metrics, beside a condition on ours.
    assert unfiltered == ["kube_cronjob_status_last_successful_time"]
    assert [fault for each in queries for fault in unknown_in(each, RECORDED)] == []


@with_kubectl
@pytest.mark.timeout(900)
def test_the_alerts_and_their_series_are_those_of_any_namespace(tmp_path: Path) -> None:
    # Others include these, or are used in their place.
    components = {each.name for each in COMPONENTS.iterdir()} - {
        *("gateway-api", "ingress", "server-ca")
    }

    documents = in_namespace(tmp_path, "staging", sorted(components))

    [rules] = of_kind(documents, "PrometheusRule")
    added = {
        (document["kind"], document["metadata"]["name"], rule["replacement"])
        for document in of_kind(documents, "ServiceMonitor", "PodMonitor")
        for key in ("endpoints", "podMetricsEndpoints")
        for endpoint in document["spec"].get(key, [])
        for rule in endpoint["relabelings"]
        if rule["targetLabel"] == "part_of"
    }
    text = yaml.safe_dump(documents)
    rendered = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    # The others have the same expressions; burn rates of days take a minute.
    assert [rule["expr"].split() for rule in rendered] == [rule["expr"].split() for rule in RULES]
    promtool(tmp_path, rendered, [name for name in CASES if "slo:" not in ALERTS[name]["expr"]][:9])
    assert added == {
        ("ServiceMonitor", "company-registry", PART_OF),
        ("ServiceMonitor", "mcp", PART_OF),
        ("PodMonitor", "rabbitmq", PART_OF),
        ("PodMonitor", "mongodb", PART_OF),
    }
    # No value but the overlay's names a namespace, and none is of the whole cluster.
    assert re.findall(r"namespace\W+company-registry|company-registry\.svc", text) == []
    assert {
        each["kind"] for each in documents if each["metadata"].get("namespace") != "staging"
    } == {"Namespace"}


def test_every_alert_has_a_severity_and_a_section_in_the_runbook() -> None:
    headings = (ROOT / "docs" / "runbook.md").read_text().splitlines()

    for name, alert in ALERTS.items():
        assert alert["labels"]["severity"] in {"critical", "warning"}
        assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
        assert f"### {name}" in headings
        assert alert["annotations"]["runbook_url"] == f"runbook.md#{name.lower()}"


def test_the_alerts_of_an_outage_silence_others_by_names_that_exist() -> None:
    inhibitions = yaml.safe_load((MONITORING / "alertmanager.yaml").read_text())["spec"]
    matchers = [
        (way, matcher["matchType"], set(matcher["value"].split("|")))
        for rule in inhibitions["inhibitRules"]
        for way in ("sourceMatch", "targetMatch")
        for matcher in rule[way]
    ]

    assert [names - ALERTS.keys() for _, _, names in matchers if names - ALERTS.keys()] == []
    # No outage is silenced by itself.
    [(_, _, spared)] = [each for each in matchers if each[1] == "!~"]
    assert matchers[0][2] <= spared


def test_the_objective_of_lookups_counts_the_routes_of_lookups() -> None:
    tags = {
        path: {tag for operation in operations.values() for tag in operation["tags"]}
        for path, operations in openapi_document()["paths"].items()
    }
    queries = [rule["expr"] for record, rule in RECORDED.items() if "lookups_bad" in record]
    [counted] = {each for text in queries for each in re.findall(r'route=~"([^"]*)"', text)}

    assert {path for path in tags if re.fullmatch(counted, path)} == {
        path for path in tags if tags[path] == {"Lookups"}
    }


def test_unread_changes_and_unpublished_events_have_alerts() -> None:
    watched = {name for alert in ALERTS.values() for name in series_of(alert["expr"])}

    assert watched >= {
        "sync_cursor_age_seconds",
        "sync_pass_failures_total",
        "sync_unreadable_entries",
        "outbox_oldest_pending_age_seconds",
        "outbox_oldest_unconfirmed_age_seconds",
    }


@pytest.mark.parametrize(
    "query,unknown",
    [
        (
            'sum by (le) (rate(http_request_second_bucket{route="x"}[5m])) > 1',
            "no metric http_request_second_bucket",
        ),
        ('sum by (path) (rate(http_requests_total{status=~"5.."}[5m])) > 1', "no label path"),
    ],
)
def test_an_unknown_metric_or_label_is_found(query: str, unknown: str) -> None:
    assert unknown_in(query) == [unknown]


def test_the_dispatcher_grows_with_its_queues_of_work_and_not_with_those_of_delays() -> None:
    documents = yaml.safe_load_all((COMPONENTS / "keda" / "dispatcher.yaml").read_text())
    [scaler] = [document for document in documents if document["kind"] == "ScaledObject"]

    watched = {trigger["metadata"]["queueName"] for trigger in scaler["spec"]["triggers"]}

    assert watched == {FAN_OUT_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE}


def test_the_dashboard_reads_metrics_that_exist_of_what_is_chosen() -> None:
    source, namespace = dashboard()["templating"]["list"]
    panels = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    generated = yaml.safe_load((MONITORING / "kustomization.yaml").read_text())

    assert [fault for each in dashboard_queries(window="5m") for fault in unknown_in(each)] == []
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    assert {str(panel["datasource"]) for panel in panels} == {
        str({"type": "prometheus", "uid": f"${{{source['name']}}}"})
    }
    assert (namespace["name"], namespace["type"]) == ("namespace", "query")
    assert [each for each in queries if unfiltered_in(each, 'namespace=~"$namespace"')] == []
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
    # Grafana's sidecar looks for the label.
    [maps] = generated["configMapGenerator"]
    assert maps["files"] == ["dashboard.json"]
    assert maps["options"]["labels"] == {"grafana_dashboard": "1"}
