"""The alerts and the autoscalers use metrics and queues that exist."""

from functools import cache
from typing import Any

import pytest
import yaml

from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from tests.contract.manifests.metrics import asked_for, exposed_metrics, unknown_in
from tests.contract.manifests.reading import KUBERNETES

COMPONENTS = KUBERNETES / "components"


@cache
def rules() -> list[dict[str, Any]]:
    file = yaml.safe_load((COMPONENTS / "monitoring" / "alerts.yaml").read_text())
    return [rule for group in file["spec"]["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_uses_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    recorded = {other["record"]: frozenset[str]() for other in rules() if "record" in other}

    assert unknown_in(rule["expr"], exposed_metrics() | recorded) == []


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_has_a_severity_and_a_runbook_link(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}


def test_changes_that_are_not_read_and_events_that_do_not_go_out_are_noticed() -> None:
    watched = {metric for alert in alerts() for metric in asked_for(alert["expr"])}

    assert watched >= {
        "sync_cursor_age_seconds",
        "sync_pass_failures_total",
        "sync_unreadable_entries",
        "outbox_oldest_pending_age_seconds",
        "outbox_oldest_unconfirmed_age_seconds",
    }


def test_a_metric_that_nothing_exposes_is_found() -> None:
    expression = 'sum by (le) (rate(http_request_second_bucket{route="x"}[5m])) > 1'

    assert unknown_in(expression, exposed_metrics()) == ["no metric http_request_second_bucket"]


def test_a_label_that_no_metric_has_is_found() -> None:
    expression = 'sum by (path) (rate(http_requests_total{status=~"5.."}[5m])) > 1'

    assert unknown_in(expression, exposed_metrics()) == ["no label path"]


def test_the_dispatcher_grows_with_its_queues_of_work_and_not_with_those_of_delays() -> None:
    documents = yaml.safe_load_all((COMPONENTS / "keda" / "dispatcher.yaml").read_text())
    [scaler] = [document for document in documents if document["kind"] == "ScaledObject"]

    watched = {trigger["metadata"]["queueName"] for trigger in scaler["spec"]["triggers"]}

    assert watched == {EVENTS_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE}
