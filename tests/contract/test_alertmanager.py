"""An outage is one page: Alertmanager itself silences what follows from it."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_stack.packages import install
from local_stack.ports import free_ports, http_get
from local_stack.processes import wait_for
from tests.contract.manifests.reading import KUBERNETES

MONITORING = KUBERNETES / "components" / "monitoring"
NAMESPACE = "company-registry"
#: Alerts that have causes of their own, or that somebody must act on after an outage.
APART = {
    *("ServiceDown", "ClockIsWrong", "DeadLetters", "EventsDropped", "EventsPublishedAgain"),
    *("WebhookSecretsCannotBeOpened", "BackupIsOld"),
}
#: Each is the page of an outage.
OUTAGES = ("DatabaseDown", "DatabaseHasNoPrimary", "BrokerDown", "BrokerAlarm")


def alerts() -> list[dict[str, str]]:
    """The labels that each alert of our rules has of itself; each is about another job."""
    document = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    rules = [rule for group in document["spec"]["groups"] for rule in group["rules"]]
    return [
        {"alertname": rule["alert"], "job": rule["alert"], **rule["labels"]}
        for rule in rules
        if "alert" in rule
    ]


def as_operator_writes(rule: Mapping[str, Any]) -> dict[str, Any]:
    """An inhibition rule of an AlertmanagerConfig in Alertmanager's own configuration."""

    def matchers(which: str) -> list[str]:
        own = [f'{each["name"]}{each["matchType"]}"{each["value"]}"' for each in rule[which]]
        return [*own, f'namespace="{NAMESPACE}"']

    return {
        "source_matchers": matchers("sourceMatch"),
        "target_matchers": matchers("targetMatch"),
        "equal": rule["equal"],
    }


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[int]:
    """The port of an Alertmanager with our rules."""
    if shutil.which("prometheus-alertmanager") is None:
        install(["prometheus-alertmanager"], why="Alertmanager is missing.")
    ours = yaml.safe_load((MONITORING / "alertmanager.yaml").read_text())["spec"]["inhibitRules"]
    configuration = {
        "route": {"receiver": "nobody"},
        "receivers": [{"name": "nobody"}],
        "inhibit_rules": [as_operator_writes(rule) for rule in ours],
    }
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(configuration))
    [port] = free_ports(1)
    options = {
        "config.file": tmp_path / "alertmanager.yml",
        "storage.path": tmp_path / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "cluster.listen-address": "",
    }
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            ["prometheus-alertmanager", *(f"--{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            assert wait_for(lambda: http_get(port, "/-/ready")[0] == 200, seconds=60)
            yield port
        finally:
            process.terminate()


def pages(port: int, firing: list[dict[str, str]]) -> set[str]:
    """The alerts that somebody is told of while these fire."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    body = json.dumps([{"labels": labels} for labels in firing])
    connection.request("POST", "/api/v2/alerts", body, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()
    status, answer = http_get(port, "/api/v2/alerts?inhibited=false")
    assert status == 200
    return {alert["labels"]["alertname"] for alert in json.loads(answer)}


@pytest.mark.timeout(900)  # installs Alertmanager
@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_is_one_page(alertmanager: int, outage: str) -> None:
    others = [each for each in alerts() if each["alertname"] not in OUTAGES]
    caused_by = {"DatabaseMemberDown": {"DatabaseReplicationLags"}}
    silent = {name for each in others for name in caused_by.get(each["alertname"], ())}

    assert pages(alertmanager, others) == {each["alertname"] for each in others} - silent
    assert pages(alertmanager, [of(outage)]) == {outage, *APART}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "cause, effect",
    [
        ("DatabaseDown", "DatabaseHasNoPrimary"),
        ("BrokerAlarm", "BrokerDown"),
        ("DatabaseMemberDown", "DatabaseReplicationLags"),
    ],
)
def test_of_two_alerts_of_an_outage_one_is_a_page(
    alertmanager: int, cause: str, effect: str
) -> None:
    assert pages(alertmanager, [of(effect)]) == {effect}
    assert pages(alertmanager, [of(cause)]) == {cause}


def of(name: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, "namespace": NAMESPACE, **labels}


@pytest.mark.timeout(900)
def test_a_service_that_is_down_is_not_also_unready(alertmanager: int) -> None:
    firing = [of("ServiceDown", job="lookup"), of("NotReady", job="lookup")]

    assert pages(alertmanager, firing) == {"ServiceDown"}
    assert pages(alertmanager, [of("NotReady", job="gateway")]) == {"ServiceDown", "NotReady"}
