"""The dashboard explains itself, with the limits of the alerts; Compose has it and Alertmanager."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_stack.packages import install
from tests.contract.manifests.metrics import dashboard
from tests.contract.manifests.reading import COMPONENTS, ROOT
from tests.contract.test_alerts import ALERTS, RECORDED

COMPOSE = ROOT / "deploy" / "compose"
PANELS = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
ROWS = [panel["title"] for panel in dashboard()["panels"] if panel["type"] == "row"]
#: A number of an expression that is no part of a word, a string or a range.
NUMBER = re.compile(r'(?<![\w."])\d+(?:\.\d+)?(?![\w"\]])')


def mounted(service: str) -> dict[str, Path]:
    """The files of a service of Compose, by their paths in it."""
    services = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    volumes = [each.split(":") for each in services[service]["volumes"]]
    return {inside: (COMPOSE / outside).resolve() for outside, inside, *_ in volumes}


def limits(panel: dict[str, Any]) -> list[float]:
    """The numbers at which a panel changes its colour."""
    steps = panel["fieldConfig"]["defaults"].get("thresholds", {"steps": []})["steps"]
    return [step["value"] for step in steps if step["value"] is not None]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel['id']}")
def test_a_panel_says_what_it_shows_and_has_the_limits_of_its_alerts(panel: dict[str, Any]) -> None:
    named = re.findall(r"Alert: (.+)\.$", panel["description"])
    alerts = [ALERTS[name] for name in ", ".join(named).split(", ") if name]
    numbers = {float(number) for each in alerts for number in NUMBER.findall(each["expr"])}

    assert panel["description"].endswith(".")
    if alerts:
        is_low = panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"] == "red"
        assert limits(panel)
        assert {limit - is_low for limit in limits(panel)} <= numbers


def test_the_first_row_has_the_objectives_and_their_budgets() -> None:
    first = {panel["title"]: panel for panel in PANELS if panel["gridPos"]["y"] < 13}
    [routes] = {
        each
        for name, rule in RECORDED.items()
        if "lookups_bad" in name
        for each in re.findall(r'route=~"([^"]*)"', rule["expr"])
    }

    assert ROWS[0] == "Overview"
    assert limits(first["Lookups in time, 30 days"]) == [0.999]
    assert limits(first["Events in time, 30 days"]) == [0.99]
    assert all(limits(panel) for panel in first.values())
    of_lookups = [panel for title, panel in first.items() if "ookups" in title]
    assert len(of_lookups) == 3
    for query in (target["expr"] for panel in of_lookups for target in panel["targets"]):
        assert set(re.findall(r'route=~"([^"]*)"', query)) == {routes}
    # The burn rates that page.
    fast = NUMBER.findall(ALERTS["LookupBudgetBurnsFast"]["expr"])[0]
    assert max(limits(first["Burn rate of lookups"])) == pytest.approx(float(fast) / 0.001)
    assert max(limits(first["Burn rate of events"])) == pytest.approx(float(fast) / 0.001)


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_grafana_of_compose_shows_the_dashboard_from_its_prometheus() -> None:
    files = mounted("grafana")
    [source] = [file for path, file in files.items() if "/datasources/" in path]
    [pages] = [file for path, file in files.items() if "/provisioning/dashboards/" in path]
    [data] = yaml.safe_load(source.read_text())["datasources"]
    [provider] = yaml.safe_load(pages.read_text())["providers"]
    [shown] = [path for path in files if path.startswith(provider["options"]["path"])]
    services = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]

    assert files[shown] == COMPONENTS / "monitoring" / "dashboard.json"
    assert services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == shown
    assert (data["type"], data["url"], data["isDefault"]) == (
        "prometheus",
        "http://prometheus:9090",
        True,
    )
    assert "prometheus" in services


@pytest.mark.timeout(900)  # installs Alertmanager
def test_alertmanager_of_compose_is_valid_and_silences_as_in_kubernetes() -> None:
    if shutil.which("amtool") is None:
        install(["prometheus-alertmanager"], why="amtool is missing.")
    [file] = mounted("alertmanager").values()
    prometheus = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())
    rules = yaml.safe_load((COMPONENTS / "monitoring" / "alertmanager.yaml").read_text())

    done = subprocess.run(["amtool", "check-config", file], capture_output=True, check=False)

    def text(matcher: dict[str, str]) -> str:
        return f'{matcher["name"]} {matcher["matchType"]} "{matcher["value"]}"'

    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(file.read_text())["inhibit_rules"] == [
        {
            "source_matchers": [text(one) for one in rule["sourceMatch"]],
            "target_matchers": [text(one) for one in rule["targetMatch"]],
            "equal": rule["equal"],
        }
        for rule in rules["spec"]["inhibitRules"]
    ]
    [manager] = prometheus["alerting"]["alertmanagers"]
    assert manager["static_configs"] == [{"targets": ["alertmanager:9093"]}]
