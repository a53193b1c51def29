"""The metrics of the code, and those of an alert's expression."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.contract.manifests.reading import ROOT

#: The series of each metric class, besides its own name.
_SUFFIXES = {
    "Counter": ("",),
    "Gauge": ("",),
    "Histogram": ("_bucket", "_sum", "_count"),
    "Summary": ("_sum", "_count"),
}
#: Labels that Prometheus adds: where a sample comes from, and a histogram's bound.
_ADDED = frozenset({"job", "instance", "namespace", "service", "pod", "container", "le"})

_STRING = re.compile(r'"[^"]*"')
_MATCHERS = re.compile(r"\{([^}]*)\}")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORD = re.compile(r"\b([a-zA-Z_:][a-zA-Z0-9_:]*)\b(?!\s*\()")
_DURATION = re.compile(r"\[[^\]]*\]|\b\d+[smhd]\b")
_OPERATORS = frozenset({"and", "or", "unless", "bool", "offset"})

#: Of RabbitMQ's plugin `rabbitmq_prometheus`; tests/integration/test_broker_guides.py asks one.
OF_RABBITMQ = (
    "rabbitmq_alarms_file_descriptor_limit",
    "rabbitmq_alarms_free_disk_space_watermark",
    "rabbitmq_alarms_memory_used_watermark",
    "rabbitmq_disk_space_available_bytes",
    "rabbitmq_disk_space_available_limit_bytes",
    "rabbitmq_process_resident_memory_bytes",
    "rabbitmq_resident_memory_limit_bytes",
)
#: RabbitMQ 4.0 has it, 3.10 does not.
_OF_LATER_RABBITMQ = ("rabbitmq_unreachable_cluster_peers_count",)
#: Of the agents in the pods of MongoDB's operator, as the manual of the Cloud Manager names them:
#: the fields of serverStatus and replSetGetStatus, and those of the machine.
_OF_MONGODB_AGENT = (
    "hardware_disk_metrics_disk_space_free_bytes",
    "hardware_disk_metrics_disk_space_used_bytes",
    "mongodb_connections_available",
    "mongodb_connections_current",
    "mongodb_members_health",
    "mongodb_members_optimeDate",
    "mongodb_members_state",
    "mongodb_oplog_earliestOptime",
    "mongodb_oplog_latestOptime",
)
#: Of github.com/percona/mongodb_exporter: exporter/metrics.go makes `ss` of serverStatus, and `rs`
#: of replSetGetStatus; v1_compatibility.go has the oplog's.
_OF_MONGODB_EXPORTER = {
    "mongodb_dbstats_fsTotalSize": {"database"},
    "mongodb_dbstats_fsUsedSize": {"database"},
    "mongodb_mongod_replset_oplog_head_timestamp": set(),
    "mongodb_mongod_replset_oplog_tail_timestamp": set(),
    "mongodb_rs_members_health": {"member_idx", "member_state"},
    "mongodb_rs_members_optimeDate": {"member_idx", "member_state"},
    "mongodb_rs_members_state": {"member_idx", "member_state"},
    "mongodb_ss_connections": {"conn_type"},
    "mongodb_up": set(),
}
#: Of kube-state-metrics.
_OF_KUBERNETES = {"kube_cronjob_status_last_successful_time": {"cronjob"}}


@cache
def exposed_metrics() -> dict[str, frozenset[str]]:
    """Every series of libs/ and services/ with its labels.

    Read from the source, since some metrics are made when a service starts, not when its module is
    imported. Names and labels must be literal.
    """
    found = dict.fromkeys(("up", *OF_RABBITMQ, *_OF_LATER_RABBITMQ, *_OF_MONGODB_AGENT), _ADDED)
    for name, labels in (_OF_MONGODB_EXPORTER | _OF_KUBERNETES).items():
        found[name] = _ADDED | labels
    for file in sorted(ROOT.glob("*/*/src/**/*.py")):
        for name, own in _metrics_of(file):
            found[name] = own | _ADDED
    return found


def asked_for(expression: str) -> dict[str, frozenset[str]]:
    """The series of an expression, each with all labels that the expression notices."""
    bare = _STRING.sub('""', expression)
    labels = {
        name
        for matchers in _MATCHERS.findall(bare)
        for name in re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", matchers)
    }
    for group in _GROUPING.findall(bare):
        labels |= {name.strip() for name in group.split(",")}
    bare = _DURATION.sub("", _GROUPING.sub("", _MATCHERS.sub("", bare)))
    series = {word for word in _WORD.findall(bare) if word not in _OPERATORS}
    return {name: frozenset(labels) for name in series}


def unfiltered_in(expression: str, matcher: str) -> list[str]:
    """Series of an expression, recorded ones apart, that are selected without the matcher."""
    return [
        name
        for name in asked_for(expression)
        if "_" in name or name in ("up", "webhooks")
        if ":" not in name
        for selected in re.findall(
            rf"(?<![\w:]){name}(?![\w(])(\{{[^}}]*\}})?", _GROUPING.sub("", expression)
        )
        if matcher not in selected
    ]


def unknown_in(expression: str, exposed: Mapping[str, frozenset[str]]) -> list[str]:
    """Series that nothing exposes, and labels that none of the expression's series has."""
    asked = asked_for(expression)
    unknown = [f"no metric {name}" for name in asked if name not in exposed]
    if not unknown:
        known = frozenset[str]().union(*(exposed[name] for name in asked))
        wanted = frozenset[str]().union(*asked.values())
        unknown = [f"no label {label}" for label in wanted - known]
    return sorted(unknown)


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
