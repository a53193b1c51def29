"""The alerts and the autoscalers watch what the code really has."""

from typing import Any

import pytest
import yaml

from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from tests.contract.manifests.metrics import asked_for, exposed_metrics, unknown_in
from tests.contract.manifests.reading import KUBERNETES

COMPONENTS = KUBERNETES / "components"


def alerts() -> list[dict[str, Any]]:
    rule = yaml.safe_load((COMPONENTS / "monitoring" / "alerts.yaml").read_text())
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_asks_for_metrics_and_labels_that_exist(alert: dict[str, Any]) -> None:
    assert unknown_in(alert["expr"], exposed_metrics()) == []


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "description"}


def test_changes_that_are_not_read_and_events_that_do_not_go_out_are_noticed() -> None:
    watched = {metric for alert in alerts() for metric in asked_for(alert["expr"])}

    assert watched >= {
        "sync_cursor_age_seconds",
        "sync_feed_errors_total",
        "sync_unreadable_entries",
        "outbox_oldest_seconds",
        "outbox_unconfirmed_oldest_seconds",
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
