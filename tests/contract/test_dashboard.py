"""The dashboard uses metrics that exist, and Grafana finds it."""

from itertools import combinations
from typing import Any

import pytest
import yaml

from tests.contract.manifests.dashboard import dashboard, panels, queries
from tests.contract.manifests.metrics import exposed_metrics, unfiltered_in, unknown_in
from tests.contract.manifests.reading import KUBERNETES

#: Of prometheus_client, on Linux.
OF_PROCESSES = {
    "process_cpu_seconds_total": frozenset({"job", "instance", "namespace"}),
    "process_resident_memory_bytes": frozenset({"job", "instance", "namespace"}),
}


@pytest.mark.parametrize("query", queries(window="5m"))
def test_a_query_uses_metrics_and_labels_that_exist(query: str) -> None:
    assert unknown_in(query, exposed_metrics() | OF_PROCESSES) == []


def test_every_part_of_the_system_has_a_row() -> None:
    rows = [panel["title"] for panel in dashboard()["panels"] if panel["type"] == "row"]

    assert rows == [
        "Lookups",
        "Search",
        "Registers and feeds",
        "Events",
        "Webhooks",
        "Broker",
        "Saturation",
        "MongoDB",
        "Portal",
    ]


def test_every_panel_reads_the_chosen_prometheus() -> None:
    variable, _namespace = dashboard()["templating"]["list"]

    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    chosen = {"type": "prometheus", "uid": f"${{{variable['name']}}}"}
    assert [panel["title"] for panel in panels() if panel["datasource"] != chosen] == []


def test_every_query_is_of_the_chosen_namespace() -> None:
    _datasource, variable = dashboard()["templating"]["list"]
    expressions = [target["expr"] for panel in panels() for target in panel["targets"]]

    assert (variable["name"], variable["type"]) == ("namespace", "query")
    assert [each for each in expressions if unfiltered_in(each, 'namespace=~"$namespace"')] == []


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    every = dashboard()["panels"]

    assert len({panel["id"] for panel in every}) == len(every)
    assert [
        (one["title"], other["title"])
        for one, other in combinations(every, 2)
        if overlap(one["gridPos"], other["gridPos"])
    ] == []


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


def test_grafana_finds_it_by_the_label_that_its_sidecar_looks_for() -> None:
    file = KUBERNETES / "components" / "monitoring" / "kustomization.yaml"
    [generated] = yaml.safe_load(file.read_text())["configMapGenerator"]

    assert generated["files"] == ["dashboard.json"]
    assert generated["options"]["labels"] == {"grafana_dashboard": "1"}
