"""The metrics of the code, and those of a query of an alert, the runbook or the dashboard."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.contract.manifests.reading import COMPONENTS, ROOT

#: The series of each metric class, besides its own name.
_SUFFIXES = {
    "Counter": ("",),
    "Gauge": ("",),
    "Histogram": ("_bucket", "_sum", "_count"),
    "Summary": ("_sum", "_count"),
}
#: Labels that Prometheus adds: where and of which system a sample is, and a histogram's bound.
_ADDED = frozenset({"job", "instance", "namespace", "part_of", "service", "pod", "container", "le"})

_STRING = re.compile(r'"[^"]*"')
_MATCHERS = re.compile(r"\{([^}]*)\}")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORD = re.compile(r"\b([a-zA-Z_:][a-zA-Z0-9_:]*)\b(?!\s*\()")
_DURATION = re.compile(r"\[[^\]]*\]|\b\d+[smhd]\b")
_OPERATORS = frozenset({"and", "or", "unless", "bool", "offset"})

#: Of RabbitMQ's plugin `rabbitmq_prometheus`; tests/integration/test_broker_guides.py asks one.
OF_RABBITMQ = (
    "rabbitmq_alarms_free_disk_space_watermark",
    "rabbitmq_alarms_memory_used_watermark",
    "rabbitmq_disk_space_available_bytes",
    "rabbitmq_disk_space_available_limit_bytes",
    "rabbitmq_process_resident_memory_bytes",
    "rabbitmq_resident_memory_limit_bytes",
)
#: Of others, with their labels: HAProxy, which tests/integration/test_balancer.py asks;
#: RabbitMQ 4.0; the agents of MongoDB's operator, as the manual of
#: the Cloud Manager names them; github.com/percona/mongodb_exporter, whose exporter/metrics.go
#: makes `ss` of serverStatus and `rs` of replSetGetStatus; kube-state-metrics; prometheus_client.
_OF_OTHERS = {
    "ALERTS": "alertname alertstate severity",
    "haproxy_frontend_http_requests_total": "proxy",
    "haproxy_frontend_http_responses_total": "proxy code",
    "rabbitmq_unreachable_cluster_peers_count": "",
    "hardware_disk_metrics_disk_space_free_bytes": "",
    "hardware_disk_metrics_disk_space_used_bytes": "",
    "mongodb_connections_available": "",
    "mongodb_connections_current": "",
    "mongodb_members_health": "",
    "mongodb_members_optimeDate": "",
    "mongodb_members_state": "",
    "mongodb_oplog_earliestOptime": "",
    "mongodb_oplog_latestOptime": "",
    "mongodb_dbstats_fsTotalSize": "database",
    "mongodb_dbstats_fsUsedSize": "database",
    "mongodb_mongod_replset_oplog_head_timestamp": "",
    "mongodb_mongod_replset_oplog_tail_timestamp": "",
    "mongodb_rs_members_health": "member_idx member_state",
    "mongodb_rs_members_optimeDate": "member_idx member_state",
    "mongodb_rs_members_state": "member_idx member_state",
    "mongodb_ss_connections": "conn_type",
    "mongodb_up": "",
    "kube_cronjob_status_last_successful_time": "cronjob",
    "process_cpu_seconds_total": "",
    "process_resident_memory_bytes": "",
    "up": "",
}


@cache
def exposed_metrics() -> dict[str, frozenset[str]]:
    """Every series of libs/ and services/ with its labels.

    Read from the source, since some metrics are made when a service starts, not when its module is
    imported. Names and labels must be literal.
    """
    found = dict.fromkeys(OF_RABBITMQ, _ADDED)
    found |= {name: _ADDED | {*labels.split()} for name, labels in _OF_OTHERS.items()}
    for file in sorted(ROOT.glob("*/*/src/**/*.py")):
        for name, own in _metrics_of(file):
            found[name] = own | _ADDED
    return found


def _metrics_of(file: Path) -> Iterator[tuple[str, frozenset[str]]]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            # Of prometheus_client: other classes of these names are not given a help text.
            case ast.Call(
                ast.Name(kind), [ast.Constant(str(name)), ast.Constant(str()), *rest]
            ) if kind in _SUFFIXES:
                labels = ast.literal_eval(rest[0]) if rest else ()
                for suffix in _SUFFIXES[kind]:
                    yield name + suffix, frozenset(labels)
            case _:
                pass


def series_of(query: str) -> set[str]:
    """The series that a query selects."""
    bare = _GROUPING.sub("", _MATCHERS.sub("", _STRING.sub('""', query)))
    return set(_WORD.findall(_DURATION.sub("", bare))) - _OPERATORS


def unknown_in(query: str, recorded: Mapping[str, object] | None = None) -> list[str]:
    """Series that nothing exposes or records, and labels that none of the query's series has."""
    exposed = exposed_metrics() | dict.fromkeys(recorded or (), frozenset[str]())
    series = series_of(query)
    if unknown := sorted(f"no metric {name}" for name in series - exposed.keys()):
        return unknown
    bare = _STRING.sub('""', query)
    matchers = " ".join(_MATCHERS.findall(bare))
    labels = set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", matchers))
    labels |= {name.strip() for group in _GROUPING.findall(bare) for name in group.split(",")}
    known = frozenset[str]().union(*(exposed[name] for name in series))
    return sorted(f"no label {label}" for label in labels - known)


def unfiltered_in(query: str, matcher: str) -> list[str]:
    """Series of a query, recorded ones apart, that are selected without the matcher."""
    bare = _GROUPING.sub("", query)
    return [
        name
        for name in series_of(query)
        if ("_" in name or name in ("up", "webhooks")) and ":" not in name
        for selected in re.findall(rf"(?<![\w:]){name}(?![\w(])(\{{[^}}]*\}})?", bare)
        if matcher not in selected
    ]


def dashboard() -> dict[str, Any]:
    """Grafana's."""
    parsed: dict[str, Any] = json.loads((COMPONENTS / "monitoring" / "dashboard.json").read_text())
    return parsed


def dashboard_queries(*, window: str) -> list[str]:
    """The queries of all panels, of all namespaces; Grafana chooses the window of a rate."""
    return [
        target["expr"].replace("$__rate_interval", window).replace("$namespace", ".*")
        for panel in dashboard()["panels"]
        for target in panel.get("targets", ())
    ]
