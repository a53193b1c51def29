"""The Grafana dashboard and its queries."""

import json
from typing import Any

from tests.contract.manifests.reading import KUBERNETES

DASHBOARD = KUBERNETES / "components" / "monitoring" / "dashboard.json"


def dashboard() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return parsed


def panels() -> list[dict[str, Any]]:
    """The panels that draw something; a row is only a heading."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries(*, window: str) -> list[str]:
    """The expressions of all panels, of all namespaces; Grafana chooses the window of a rate."""
    return [
        target["expr"].replace("$__rate_interval", window).replace("$namespace", ".*")
        for panel in panels()
        for target in panel["targets"]
    ]
