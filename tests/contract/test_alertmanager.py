"""An outage is one page: Alertmanager itself silences what follows from it."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
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


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an Alertmanager with our rules."""
    folder = tmp_path_factory.mktemp("alertmanager")
    if shutil.which("prometheus-alertmanager") is None:
        install(["prometheus-alertmanager"], why="Alertmanager is missing.")
    ours = yaml.safe_load((MONITORING / "alertmanager.yaml").read_text())["spec"]["inhibitRules"]
    configuration = {
        "route": {"receiver": "nobody"},
        "receivers": [{"name": "nobody"}],
        "inhibit_rules": [as_operator_writes(rule) for rule in ours],
    }
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(configuration))
    [port] = free_ports(1)
    options = {
        "config.file": folder / "alertmanager.yml",
        "storage.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "cluster.listen-address": "",
    }
    with (
        (folder / "log").open("w") as log,
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


def active(port: int, query: str = "") -> list[dict[str, Any]]:
    """The alerts that fire."""
    status, answer = http_get(port, f"/api/v2/alerts{query}")
    assert status == 200
    return list(json.loads(answer))


def post(port: int, alerts: list[dict[str, Any]]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/api/v2/alerts", json.dumps(alerts), headers)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.fixture
def alertmanager(port: int) -> Iterator[int]:
    """The port of an Alertmanager in which no alert fires before the test."""
    assert active(port) == []
    yield port
    past = "2026-01-01T00:00:00Z"
    post(port, [{"labels": each["labels"], "endsAt": past} for each in active(port)])


def assert_pages(port: int, firing: list[dict[str, str]], expected: set[str]) -> None:
    """Asserts which alerts page somebody once these fire, too: inhibition follows soon after."""
    post(port, [{"labels": labels} for labels in firing])

    def paging() -> set[str]:
        return {each["labels"]["alertname"] for each in active(port, "?inhibited=false")}

    wait_for(lambda: paging() == expected, seconds=30)
    assert paging() == expected


@pytest.mark.timeout(900)  # installs Alertmanager
@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_is_one_page(alertmanager: int, outage: str) -> None:
    others = [each for each in alerts() if each["alertname"] not in OUTAGES]
    caused_by = {"DatabaseMemberDown": {"DatabaseReplicationLags"}}
    silent = {name for each in others for name in caused_by.get(each["alertname"], ())}

    assert_pages(alertmanager, others, {each["alertname"] for each in others} - silent)
    assert_pages(alertmanager, [of(outage)], {outage, *APART})


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
    assert_pages(alertmanager, [of(effect)], {effect})
    assert_pages(alertmanager, [of(cause)], {cause})


def of(name: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, "namespace": NAMESPACE, **labels}


@pytest.mark.timeout(900)
def test_a_service_that_is_down_is_not_also_unready(alertmanager: int) -> None:
    firing = [of("ServiceDown", job="lookup"), of("NotReady", job="lookup")]

    assert_pages(alertmanager, firing, {"ServiceDown"})
    assert_pages(alertmanager, [of("NotReady", job="gateway")], {"ServiceDown", "NotReady"})
