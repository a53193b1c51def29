"""`components/operators` connects its servers as needed, and in no other way.

The component is rendered with the base, the pods that the operators would make of it are added, and
the NetworkPolicies are asked about every pair of them.
"""

import copy
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from yarl import URL

from tests.contract.manifests.operators import made_by_operators
from tests.contract.manifests.policies import Party, Policies
from tests.contract.manifests.reading import (
    KUBERNETES,
    NAMESPACE,
    Document,
    Workload,
    of_kind,
    ours,
    rendered,
    workloads,
)
from tests.contract.manifests.rules import beyond_restricted

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl renders components")

SERVERS = ("rabbitmq", "mongodb")

Connection = tuple[str, str, str, int]


def _pod(name: str, namespace: str, number: int, **labels: str) -> Party:
    return Party(name=name, namespace=namespace, address=f"10.244.1.{number}", labels=labels)


#: Other pods of a cluster, and pods that only look as if they belonged to it.
OTHERS = [
    Party(
        name="dns",
        namespace="kube-system",
        address="10.244.1.1",
        labels={"k8s-app": "kube-dns"},
        ports={("UDP", 53): "dns", ("TCP", 53): "dns-tcp"},
    ),
    Party(name="kubernetes api", address="10.96.0.1", ports={("TCP", 443): "", ("TCP", 6443): ""}),
    Party(name="internet", address="203.0.113.9", ports={("TCP", 443): "", ("TCP", 6443): ""}),
    _pod("prometheus", "monitoring", 2),
    # config/manager/manager.yaml of the cluster operator; the topology operator has that component.
    _pod(
        "rabbitmq operator",
        "rabbitmq-system",
        3,
        **{"app.kubernetes.io/component": "rabbitmq-operator"},
    ),
    # helm_chart/templates/operator.yaml of MongoDB Controllers for Kubernetes.
    _pod(
        "mongodb operator",
        "mongodb",
        4,
        **{"app.kubernetes.io/name": "mongodb-kubernetes-operator"},
    ),
    _pod("unlabelled", NAMESPACE, 5),
    _pod(
        "gateway of another namespace",
        "elsewhere",
        6,
        **{"app.kubernetes.io/name": "gateway", "app.kubernetes.io/part-of": "company-registry"},
    ),
    _pod("mongodb of another namespace", "elsewhere", 7, app="mongodb-svc"),
    _pod(
        "rabbitmq of another namespace",
        "elsewhere",
        8,
        **{"app.kubernetes.io/name": "rabbitmq", "app.kubernetes.io/component": "rabbitmq"},
    ),
    _pod(
        "operator of another namespace",
        "elsewhere",
        9,
        **{"app.kubernetes.io/component": "rabbitmq-operator"},
    ),
]

NEEDED: set[Connection] = {
    *(
        (name, "rabbitmq", "TCP", 5671)
        for name in ("gateway", "lookup", "webhook-registry", "dispatcher")
    ),
    *(
        (name, "mongodb", "TCP", 27017)
        for name in ("gateway", "lookup", "lookup-sync", "webhook-registry", "dispatcher")
    ),
    ("mongodb-backup", "mongodb", "TCP", 27017),
    ("rabbitmq", "rabbitmq", "TCP", 4369),
    ("rabbitmq", "rabbitmq", "TCP", 25672),
    ("mongodb", "mongodb", "TCP", 27017),
    # internal/rabbitmqclient/client.go: the health of each node, over TLS where nothing else is.
    ("rabbitmq operator", "rabbitmq", "TCP", 15671),
    # The agents: cmd/readiness patches its pod, cmd/versionhook deletes it.
    ("mongodb", "kubernetes api", "TCP", 443),
    ("mongodb", "kubernetes api", "TCP", 6443),
    ("prometheus", "rabbitmq", "TCP", 15691),
    ("prometheus", "mongodb", "TCP", 9216),
    *((name, "dns", protocol, 53) for name in SERVERS for protocol in ("TCP", "UDP")),
}


@cache
def documents() -> list[Document]:
    return rendered("components/operators")


def parties() -> list[Party]:
    """Our pods, those of the servers, and the others."""
    backups = [each for each in workloads(documents()) if each.name == "mongodb-backup"]
    running = [*ours(documents()), *backups, *made_by_operators(documents())]
    return OTHERS + [_party(each, number) for number, each in enumerate(running, 20)]


def _party(workload: Workload, number: int) -> Party:
    return Party(
        name=workload.name,
        namespace=NAMESPACE,
        address=f"10.244.1.{number}",
        labels=workload.labels,
        ports={
            ("TCP", port["containerPort"]): port["name"]
            for container in workload.pod["containers"]
            for port in container.get("ports", [])
        },
    )


def admitted(policies: Policies) -> set[Connection]:
    """The connections from and to servers that the policies admit."""
    return {
        (source.name, target.name, *port)
        for source in parties()
        for target in parties()
        if source.name in SERVERS or target.name in SERVERS
        for port in target.ports
        if policies.admit(source, target, port)
    }


def test_the_servers_have_the_connections_that_they_need_and_no_other() -> None:
    found = admitted(Policies(documents()))

    assert (sorted(NEEDED - found), sorted(found - NEEDED)) == ([], [])


@pytest.mark.parametrize(
    "forbidden",
    [
        ("portal", "mongodb", "TCP", 27017),
        ("mongodb-backup", "rabbitmq", "TCP", 5671),
        ("portal", "rabbitmq", "TCP", 5671),
        ("lookup-sync", "rabbitmq", "TCP", 5671),
        ("dispatcher", "rabbitmq", "TCP", 15671),
        ("gateway", "rabbitmq", "TCP", 25672),
        ("gateway of another namespace", "mongodb", "TCP", 27017),
        ("mongodb of another namespace", "mongodb", "TCP", 27017),
        ("mongodb operator", "mongodb", "TCP", 27017),
        ("operator of another namespace", "rabbitmq", "TCP", 15671),
        ("unlabelled", "mongodb", "TCP", 27017),
        ("prometheus", "mongodb", "TCP", 27017),
        ("rabbitmq", "mongodb", "TCP", 27017),
        ("rabbitmq", "kubernetes api", "TCP", 443),
        ("mongodb", "internet", "TCP", 443),
        ("mongodb", "gateway", "TCP", 8080),
    ],
    ids=lambda each: f"{each[0]} to {each[1]} {each[3]}",
)
def test_a_forbidden_connection_would_be_seen(forbidden: Connection) -> None:
    """Its ends exist and its target listens there, so its absence above means something."""
    source, target, *port = forbidden

    assert source in {party.name for party in parties()}
    assert any(party.name == target and tuple(port) in party.ports for party in parties())
    assert forbidden not in NEEDED


def _rules(policy: Any) -> Iterator[tuple[list[Any], int]]:
    for way in ("ingress", "egress"):
        rules = policy["spec"].get(way, [])
        for number in range(len(rules)):
            yield rules, number


@pytest.mark.parametrize("name", ["rabbitmq-server", "mongodb-server", "mongodb-to-kubernetes-api"])
def test_no_rule_of_the_servers_is_superfluous_or_unseen(name: str) -> None:
    whole = copy.deepcopy(documents())
    [policy] = [
        each for each in of_kind(whole, "NetworkPolicy") if each["metadata"]["name"] == name
    ]

    for rules, number in list(_rules(policy)):
        rule = rules.pop(number)
        assert admitted(Policies(whole)) < NEEDED, rule
        rules.insert(number, rule)


def test_without_policies_everything_is_admitted() -> None:
    found = admitted(Policies([]))

    assert found > NEEDED
    assert ("gateway of another namespace", "mongodb", "TCP", 27017) in found


@pytest.mark.parametrize("server", SERVERS)
def test_the_operators_pods_are_restricted(server: str) -> None:
    [made] = [each for each in made_by_operators(documents()) if each.name == server]

    assert list(beyond_restricted(made.pod)) == []


@pytest.mark.parametrize(
    "change,fault",
    [
        ({"securityContext": {"runAsUser": 0}}, "may run as root"),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            "may use any system call",
        ),
        (
            {
                "containers": [
                    {"name": "mongod", "securityContext": {"allowPrivilegeEscalation": True}}
                ]
            },
            "may gain privileges",
        ),
        (
            {
                "containers": [
                    {"name": "mongod", "securityContext": {"capabilities": {"add": ["SYS_NICE"]}}}
                ]
            },
            "keeps capabilities",
        ),
    ],
    ids=["user", "system calls", "privileges", "capabilities"],
)
def test_an_override_that_loosens_a_pod_is_seen(change: dict[str, Any], fault: str) -> None:
    [resource] = copy.deepcopy(of_kind(documents(), "MongoDBCommunity"))
    pod: Any = resource["spec"]["statefulSet"]["spec"]["template"]["spec"]
    pod |= change

    [made] = made_by_operators([resource])

    assert fault in beyond_restricted(made.pod)


def test_the_brokers_url_leads_to_every_node_by_tls() -> None:
    # ADR 0073: each connection takes another address of the host.
    for workload in ours(documents()):
        variables = {each["name"]: each for each in workload.container["env"]}
        if "AMQP_URL" not in variables:
            continue
        url = URL(variables["AMQP_URL"]["value"].replace("$(AMQP_", "").replace(")", ""))
        mounts = {each["mountPath"] for each in workload.container["volumeMounts"]}

        assert (url.scheme, url.host, url.port) == ("amqps", "rabbitmq-nodes", 5671)
        assert str(Path(url.query["cafile"]).parent) in mounts
        # Kubernetes fills in only what was defined before.
        assert list(variables)[:3] == ["AMQP_USER", "AMQP_PASSWORD", "AMQP_URL"]


@pytest.mark.parametrize("server", SERVERS)
def test_prometheus_may_scrape_what_its_alerts_are_about(server: str) -> None:
    [monitor] = [
        each["spec"]
        for each in of_kind(rendered("components/server-metrics"), "PodMonitor")
        if each["metadata"]["name"] == server
    ]
    selected = monitor["selector"]["matchLabels"].items()
    [party] = [each for each in parties() if selected <= each.labels.items() and each.ports]
    [endpoint] = monitor["podMetricsEndpoints"]
    [(protocol, port)] = [key for key, name in party.ports.items() if name == endpoint["port"]]
    guide = (KUBERNETES / "README.md").read_text()
    [names] = re.findall(rf"^\| `{server}-tls` \| (`.*?) \| server", guide, re.MULTILINE)

    assert party.name == server
    assert ("prometheus", server, protocol, port) in NEEDED
    # The job that the alerts select, and a name that the certificate has.
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": server}]
    assert any(
        fnmatch(endpoint["tlsConfig"]["serverName"], name) for name in re.findall("`(.+?)`", names)
    )
    for reference in endpoint.get("basicAuth", {}).values():
        assert f"| `{reference['name']}` | `username`, `password` |" in guide


@pytest.mark.parametrize("server", SERVERS)
def test_no_two_members_share_a_node(server: str) -> None:
    [made] = [each for each in made_by_operators(documents()) if each.name == server]

    [apart] = made.pod["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]

    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert apart["labelSelector"]["matchLabels"].items() <= made.labels.items()


MONGODUMP = """#!/bin/sh
cp "${1#--config=}" "$STAND_IN/config"
echo "$@" > "$STAND_IN/arguments"
for word; do case $word in --archive=*) echo dump > "${word#--archive=}";; esac; done
exit "$STATUS"
"""


@pytest.mark.parametrize("status", [0, 1])
def test_a_backup_dumps_every_database_and_keeps_two_weeks(tmp_path: Path, status: int) -> None:
    [backup] = [each for each in workloads(documents()) if each.name == "mongodb-backup"]
    folders = {each: tmp_path / each for each in ("backups", "tmp", "bin")}
    for folder in folders.values():
        folder.mkdir()
    (folders["bin"] / "mongodump").write_text(MONGODUMP)
    (folders["bin"] / "mongodump").chmod(0o755)
    old = folders["backups"] / "old.archive.gz"
    old.touch()
    os.utime(old, (0, 0))
    [script] = backup.container["args"]
    for name in ("tmp", "backups"):
        script = script.replace(f"/{name}/", f"{folders[name]}/").replace(
            f"find /{name} ", f"find {folders[name]} "
        )
    url = "mongodb://backup:p%40ss@a:27017,b:27017/admin?replicaSet=mongodb&tls=true"

    done = subprocess.run(
        [*backup.container["command"], script],
        env={
            "PATH": f"{folders['bin']}:{os.environ['PATH']}",
            "MONGO_URL": url,
            "STAND_IN": str(tmp_path),
            "STATUS": str(status),
        },
        timeout=30,
        check=False,
    )

    assert done.returncode == status
    assert "--oplog" in (tmp_path / "arguments").read_text()
    # On no command line, where every process of the node would see it.
    assert "p%40ss" not in (tmp_path / "arguments").read_text()
    assert yaml.safe_load((tmp_path / "config").read_text()) == {
        "uri": "mongodb://backup:p%40ss@a:27017,b:27017/?authSource=admin&replicaSet=mongodb&tls=true"
    }
    kept = sorted(each.name for each in folders["backups"].iterdir())
    if status == 0:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}Z\.archive\.gz", " ".join(kept))
    else:
        assert kept == ["old.archive.gz", "unfinished"]
