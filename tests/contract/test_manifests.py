"""The Kubernetes manifests are valid, agree with the code that they run, and with each other.

The files of the base are read by PyYAML everywhere. Where kubectl is installed, the base and the
overlays are also checked as it renders them, and the base with each component.
"""

import copy
import importlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import aiohttp
import kubernetes_validate
import pytest
import yaml
from kubernetes_validate import utils as schemas

from common.runtime.health import Health, admin_port
from tests.contract.manifests.reading import (
    KUBERNETES,
    ROOT,
    Document,
    Workload,
    base_files,
    environment,
    of_kind,
    ours,
    rendered,
    secrets_of,
    workloads,
)
from tests.contract.manifests.services import SERVICES, service_of, tag_of
from webhook_store.addresses import BLOCKED_IPV4, BLOCKED_IPV6, Address, Network, blocked

FILES = "files of the base"
FOLDERS = (
    "base",
    "cluster",
    *sorted(f"components/{each.name}" for each in (KUBERNETES / "components").iterdir()),
    *sorted(f"overlays/{each.name}" for each in (KUBERNETES / "overlays").iterdir()),
)
HAS_KUBECTL = shutil.which("kubectl") is not None
SOURCES = (FILES, *FOLDERS) if HAS_KUBECTL else (FILES,)
with_kubectl = pytest.mark.skipif(not HAS_KUBECTL, reason="kubectl renders components")
#: The oldest and the newest that are supported.
KUBERNETES_VERSIONS = ("1.31", "1.37")
#: The service whose `indexes` command runs before each process.
INDEXES = {
    "gateway": "gateway",
    "lookup": None,
    "ingest": "ingest",
    "webhook-registry": "webhook-registry",
    "webhook-digests": "webhook-registry",
    "dispatcher": "webhook-registry",
    "portal": None,
}
#: The classes that a cluster has for all namespaces, and their values.
PRIORITIES = {
    each["metadata"]["name"]: int(each["value"])
    for each in yaml.safe_load_all((KUBERNETES / "cluster" / "priorities.yaml").read_text())
}
#: A command of a service that serves, where components/digests is listed.
OPTIONAL = "webhook-digests"
#: The only callers of the internet.
CALLERS = ["dispatcher", "ingest"]
#: Ports of mail servers that take messages over TLS (RFC 8314).
SUBMISSION = {465, 587}
#: Liveness must not depend on anything outside the process, or an unavailable broker would have
#: every pod restarted.
PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


@cache
def read(source: str) -> list[Document]:
    return base_files() if source == FILES else rendered(source)


# --- Rules: each yields its faults as sentences -----------------------------------------------

Rule = Callable[[Sequence[Document]], Iterator[str]]


def variables_are_settings(documents: Sequence[Document]) -> Iterator[str]:
    """Every variable is a setting, every required setting is given, every value is accepted."""
    for each in ours(documents):
        service = service_of(each.image, each.args)
        values = environment(each, documents)
        yield from (f"{each.name}: {x}" for x in service.faults(values, command=not each.serves))
        if each.serves:
            needed = service.longest_stop(values) if not service.faults(values) else timedelta()
            given = timedelta(seconds=each.pod.get("terminationGracePeriodSeconds", 30))
            if given <= needed:
                yield f"{each.name} has {given} to stop and may need {needed}"


def images_are_of_this_version(documents: Sequence[Document]) -> Iterator[str]:
    for each in ours(documents):
        service = service_of(each.image, each.args)
        tags = {tag_of(container["image"]) for container in each.containers}
        if tags != {service.version} or not service.is_runnable:
            yield f"{each.name} runs {tags}, the code is {service.version}"


def ports_and_probes_are_those_of_the_code(documents: Sequence[Document]) -> Iterator[str]:
    for each in _servers(documents):
        expected = service_of(each.image, each.args).ports
        scraped = each.template["metadata"]["annotations"]["prometheus.io/port"]
        if each.ports != expected or scraped != str(expected["admin"]):
            yield f"{each.name} has ports {each.ports}, is scraped at {scraped}, not {expected}"
        for probe, path in PROBES.items():
            if each.container.get(probe, {}).get("httpGet") != {"path": path, "port": "admin"}:
                yield f"{each.name}: {probe} is not {path} on the admin port"


def indexes_are_made_first(documents: Sequence[Document]) -> Iterator[str]:
    for each in _servers(documents):
        [first] = each.pod.get("initContainers", [{"args": ["indexes"], "image": "/None:"}])
        image = first["image"].rpartition("/")[2].partition(":")[0]
        if first["args"] != ["indexes"] or image != str(INDEXES[each.name]):
            yield f"{each.name} begins with {first['args']} of {image}"


def pods_are_restricted(documents: Sequence[Document]) -> Iterator[str]:
    """Kubernetes' `restricted` profile; ours also write nowhere and hold no API token."""
    for each in workloads(documents):
        identity = each.pod.get("securityContext", {})
        if not identity.get("runAsNonRoot") or not identity.get("runAsUser"):
            yield f"{each.name} may run as root"
        if identity.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{each.name} may use any system call"
        if each.pod.get("automountServiceAccountToken") is not False:
            yield f"{each.name} holds a token of the cluster"
        if each.pod.get("enableServiceLinks") is not False:
            yield f"{each.name} is given variables of other Services as settings"
        for container in each.containers:
            rights = container.get("securityContext", {})
            if rights.get("allowPrivilegeEscalation") is not False:
                yield f"{each.name} may gain privileges"
            if rights.get("capabilities") != {"drop": ["ALL"]}:
                yield f"{each.name} keeps capabilities"
            if each.image.startswith("company") and not rights.get("readOnlyRootFilesystem"):
                yield f"{each.name} may write to its image"


def resources_are_limited(documents: Sequence[Document]) -> Iterator[str]:
    """Memory is requested in full; of a node's disk there is room for every emptyDir."""
    for each in workloads(documents):
        volumes = [volume.get("emptyDir") for volume in each.pod.get("volumes", [])]
        needed = sum(_bytes(volume["sizeLimit"]) for volume in volumes if volume)
        for container in each.containers:
            resources = container.get("resources", {})
            requests, limits = resources.get("requests", {}), resources.get("limits", {})
            if not {"cpu", "memory", "ephemeral-storage"} <= requests.keys():
                yield f"{each.name} requests {requests}"
            if limits.get("memory") != requests.get("memory"):
                yield f"{each.name} is not limited to the memory that it asks for"
            least = needed if container == each.container else 0
            if _bytes(limits.get("ephemeral-storage", "0Mi")) <= least:
                yield f"{each.name} has {limits} of a disk"


def selectors_find_their_pods(documents: Sequence[Document]) -> Iterator[str]:
    """Services, budgets and workloads select one workload, by a port that it has."""
    running = workloads(documents)
    # The pods of these are made by operators.
    made = ("rabbitmq", "mongodb") if of_kind(documents, "MongoDBCommunity") else ()
    for document in of_kind(
        documents, "Service", "PodDisruptionBudget", "Deployment", "StatefulSet"
    ):
        name, selector = document["metadata"]["name"], document["spec"]["selector"]
        labels = selector.get("matchLabels", selector).items()
        found = [each for each in running if labels <= each.template["metadata"]["labels"].items()]
        if len(found) != 1 and name not in made:
            yield f"{document['kind']} {name} selects the pods of {len(found)} workloads"
        for port in document["spec"].get("ports", []):
            if found and port["targetPort"] not in found[0].ports:
                yield f"Service {name} has a port {port['name']} that no container has"


def references_exist(documents: Sequence[Document]) -> Iterator[str]:
    """Secrets, ConfigMaps, priorities, and the targets of autoscalers, which own their replicas."""
    exist = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    readme = (KUBERNETES / "README.md").read_text()
    for scaler in of_kind(documents, "HorizontalPodAutoscaler", "ScaledObject"):
        target = scaler["spec"]["scaleTargetRef"]
        scaled = exist.get((target.get("kind", "Deployment"), target["name"]))
        if scaled is None or "replicas" in scaled["spec"]:
            yield f"{target['name']} does not exist, or an apply would reset its replicas"
    for each in workloads(documents):
        for name, key in secrets_of(each):
            documented = f"`{name}`" in readme and f"`{key}`" in readme
            if ("Secret", name) not in exist and not documented:
                yield f"{each.name} needs Secret {name} with {key}, of which README.md says nothing"
        maps = [source["configMapRef"]["name"] for source in each.container.get("envFrom", [])]
        yield from (f"{each.name} refers to {x}" for x in maps if ("ConfigMap", x) not in exist)
        priority = each.pod.get("priorityClassName")
        if priority and priority not in PRIORITIES:
            yield f"{each.name} refers to {priority}"


def servers_survive_a_drain(documents: Sequence[Document]) -> Iterator[str]:
    """One pod at a time may be taken away, replicas are spread, and background work goes first."""
    budgets = {
        each["metadata"]["name"]: each["spec"] for each in of_kind(documents, "PodDisruptionBudget")
    }
    found = workloads(documents)
    ranks = {each.name: PRIORITIES.get(each.pod.get("priorityClassName", ""), 0) for each in found}
    background = max((ranks[each.name] for each in found if not each.serves), default=0)
    for each in _servers(documents):
        budget = budgets.get(each.name, {})
        if (budget.get("maxUnavailable"), budget.get("unhealthyPodEvictionPolicy")) != (
            1,
            "AlwaysAllow",
        ):
            yield f"{each.name} has no disruption budget of one pod, or may block a drain"
        spread = each.pod.get("topologySpreadConstraints", [])
        if len({constraint["topologyKey"] for constraint in spread}) != 2:
            yield f"{each.name} is not spread over zones and nodes"
        if any(ranks.values()) and ranks[each.name] <= background:
            yield f"{each.name} may be displaced by background work"


def only_what_is_public_is_reachable(documents: Sequence[Document]) -> Iterator[str]:
    """Admin ports have no address, unlisted traffic is denied, two services call the internet.

    The agents of MongoDB's operator call the Kubernetes API at private addresses, and digests go
    to mail servers.
    """
    for service in of_kind(documents, "Service"):
        ports = {port["name"] for port in service["spec"]["ports"]}
        if service["spec"].get("clusterIP") != "None" and "admin" in ports:
            yield f"Service {service['metadata']['name']} has an address and the admin port"
    for ingress in of_kind(documents, "Ingress"):
        paths = [path for rule in ingress["spec"]["rules"] for path in rule["http"]["paths"]]
        for backend in (path["backend"]["service"] for path in paths):
            if backend["name"] not in ("gateway", "portal") or backend["port"] != {"name": "http"}:
                yield f"an Ingress publishes {backend}"
    policies = {
        each["metadata"]["name"]: each["spec"] for each in of_kind(documents, "NetworkPolicy")
    }
    deny = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    if policies.get("default-deny") != deny:
        yield "unlisted traffic is allowed"
    chosen = {"key": "app.kubernetes.io/name", "operator": "In", "values": CALLERS}
    for name, policy in policies.items():
        targets = [to for rule in policy.get("egress", []) for to in rule.get("to", [{}])]
        # A rule without a destination allows all.
        blocks = [
            to.get("ipBlock", {"cidr": "0.0.0.0/0"}) for to in targets if "ipBlock" in to or not to
        ]
        private = all(ip_network(block["cidr"]).is_private for block in blocks)
        is_api = name == "mongodb-to-kubernetes-api" and private
        rules = policy.get("egress", [])
        ports = {each.get("port") for rule in rules for each in rule.get("ports", [{}])}
        is_mail = name == "webhook-digests-to-mail" and ports <= SUBMISSION
        if (
            blocks
            and not is_api
            and not is_mail
            and policy["podSelector"] != {"matchExpressions": [chosen]}
        ):
            yield f"policy {name} lets more than {CALLERS} out to addresses"


def public_addresses_are_those_of_the_routes(documents: Sequence[Document]) -> Iterator[str]:
    """Browsers get the addresses at which gateway and portal are published."""
    hosts: dict[str, list[str]] = {}
    for route in of_kind(documents, "HTTPRoute"):
        hosts[route["metadata"]["name"]] = route["spec"]["hostnames"]
    for ingress in of_kind(documents, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                hosts.setdefault(path["backend"]["service"]["name"], []).append(rule["host"])
    if not hosts:
        return
    values = {each.name: environment(each, documents) for each in _servers(documents)}
    expected = {name: f"https://{host}" for name, [host] in hosts.items()}
    gateway, portal = values["gateway"], values["portal"]
    for name, given, address in (
        ("PUBLIC_URL", gateway.get("PUBLIC_URL"), expected["gateway"]),
        ("PORTAL_URL", gateway.get("PORTAL_URL"), expected["portal"]),
        ("API_REFERENCE_URL", portal.get("API_REFERENCE_URL"), f"{expected['gateway']}/docs"),
    ):
        if given != address:
            yield f"{name} is {given}, and the route {address}"


RULES: tuple[Rule, ...] = (
    variables_are_settings,
    images_are_of_this_version,
    ports_and_probes_are_those_of_the_code,
    indexes_are_made_first,
    pods_are_restricted,
    resources_are_limited,
    selectors_find_their_pods,
    references_exist,
    servers_survive_a_drain,
    only_what_is_public_is_reachable,
    public_addresses_are_those_of_the_routes,
)


def _servers(documents: Sequence[Document]) -> list[Workload]:
    return [workload for workload in ours(documents) if workload.serves]


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) << {"Mi": 20, "Gi": 30}[quantity[-2:]]


@pytest.mark.parametrize("source", [each for each in SOURCES if each != "cluster"])
def test_the_manifests_keep_every_rule(source: str) -> None:
    documents = read(source)

    assert [fault for rule in RULES for fault in rule(documents)] == []
    names = {each.name for each in _servers(documents)}
    assert names - {OPTIONAL} == SERVICES.keys() == INDEXES.keys() - {OPTIONAL}


#: A rule, a document, the path of a value in it, and a value that breaks the rule.
_POD, _CONTAINER = "spec.template.spec.", "spec.template.spec.containers.0."
BREAKS: list[tuple[Rule, str, str, Any]] = [
    (variables_are_settings, "ConfigMap gateway-settings", "data.HTTP_PROT", "8080"),
    (variables_are_settings, "ConfigMap gateway-settings", "data.KEY_RATE", "often"),
    (variables_are_settings, "ConfigMap gateway-settings", "data.SHUTDOWN_GRACE", "PT1M"),
    (variables_are_settings, "Deployment gateway", _CONTAINER + "env", []),
    (images_are_of_this_version, "Deployment gateway", _CONTAINER + "image",
     "company-registry/gateway:latest"),
    (ports_and_probes_are_those_of_the_code, "Deployment gateway",
     _CONTAINER + "ports.1.containerPort", 9109),
    (ports_and_probes_are_those_of_the_code, "Deployment gateway",
     _CONTAINER + "livenessProbe.httpGet.path", "/readyz"),
    (indexes_are_made_first, "Deployment gateway", _POD + "initContainers.0.args", ["keys"]),
    (pods_are_restricted, "Deployment gateway",
     _CONTAINER + "securityContext.readOnlyRootFilesystem", False),
    (resources_are_limited, "Deployment gateway", _CONTAINER + "resources.limits.memory", "1Gi"),
    (resources_are_limited, "Deployment gateway",
     _CONTAINER + "resources.limits.ephemeral-storage", "16Mi"),
    (selectors_find_their_pods, "Service gateway", "spec.ports.0.targetPort", "web"),
    (selectors_find_their_pods, "PodDisruptionBudget gateway", "spec.selector.matchLabels.a", "b"),
    (references_exist, "Deployment gateway",
     _CONTAINER + "env.0.valueFrom.secretKeyRef.name", "other"),
    (servers_survive_a_drain, "PodDisruptionBudget gateway", "spec.maxUnavailable", 0),
    (servers_survive_a_drain, "Deployment gateway", _POD + "priorityClassName",
     "company-registry-background"),
    (references_exist, "Deployment gateway", _POD + "priorityClassName", "other"),
    (only_what_is_public_is_reachable, "Service gateway-admin", "spec.clusterIP", ""),
    (only_what_is_public_is_reachable, "NetworkPolicy mongodb", "spec.egress.0", {}),
    (only_what_is_public_is_reachable, "NetworkPolicy default-deny", "spec.policyTypes", []),
]  # fmt: skip


@pytest.mark.parametrize("rule,name,path,value", BREAKS)
def test_a_rule_finds_its_violation(rule: Rule, name: str, path: str, value: Any) -> None:
    documents: list[Any] = copy.deepcopy(read(FILES))
    kind, _, own = name.partition(" ")
    found: Any
    [found] = [each for each in of_kind(documents, kind) if each["metadata"]["name"] == own]
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        found = found[part]

    found[last] = value

    assert list(rule(documents)) != []


@with_kubectl
@pytest.mark.parametrize("component", ["gateway-api", "ingress"])
@pytest.mark.parametrize(
    "service,name",
    [("gateway", "PUBLIC_URL"), ("gateway", "PORTAL_URL"), ("portal", "API_REFERENCE_URL")],
)
def test_an_address_that_no_route_has_is_found(component: str, service: str, name: str) -> None:
    documents: list[Any] = copy.deepcopy(read(f"components/{component}"))
    [settings] = [
        each
        for each in of_kind(documents, "ConfigMap")
        if each["metadata"]["name"].startswith(f"{service}-settings")
    ]

    settings["data"][name] = "https://other.example.com"

    [fault] = public_addresses_are_those_of_the_routes(documents)
    assert fault.startswith(f"{name} is https://other.example.com")


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_manifests_are_valid_by_kubernetes_own_schemas(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Most documents are the same in every folder. The package parses 2 MB of schemas for each.
    distinct = {repr(document): document for source in SOURCES for document in read(source)}
    monkeypatch.setattr(schemas, "schema_contents", cache(schemas.schema_contents))

    for document in distinct.values():
        group = document["apiVersion"].rpartition("/")[0]
        if "." not in group or (group.endswith(".k8s.io") and "gateway" not in group):
            kubernetes_validate.validate(document, version, strict=True)


def test_the_oldest_supported_version_is_the_one_that_is_tested() -> None:
    named = re.findall(r"Kubernetes (\d\.\d+) or newer", (ROOT / "deploy/README.md").read_text())

    assert named == [KUBERNETES_VERSIONS[0]]


@pytest.mark.parametrize("service", sorted({each for each in INDEXES.values() if each}))
def test_the_command_of_the_index_jobs_exists(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = importlib.import_module(f"{SERVICES[service].module}.commands")

    with pytest.raises(SystemExit, match="0"):
        commands.main(["indexes", "--help"])

    assert "indexes" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted({*PROBES.values(), "/metrics"}))
async def test_the_admin_port_answers_probes_and_scrapes(path: str) -> None:
    async with (
        admin_port(Health(serving=True), host="127.0.0.1", port=0) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        assert answer.status == 200


@with_kubectl
def test_an_ingress_sends_a_session_of_the_portal_to_one_pod() -> None:
    cookies = {
        each["metadata"]["name"]: annotations["haproxy.org/cookie-persistence"]
        for each in of_kind(read("components/ingress"), "Service")
        if (annotations := each["metadata"].get("annotations"))
    }

    assert cookies == {"portal": "portal-pod"}


# --- The wall around the dispatcher -----------------------------------------------------------


@cache
def permitted() -> list[tuple[Network, list[Network]]]:
    """The networks that the base's policy lets the dispatcher call, each with its exceptions."""
    policies = of_kind(read(FILES), "NetworkPolicy")
    [policy] = [each for each in policies if each["metadata"]["name"] == "internet"]
    blocks = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule["to"]]
    return [
        (ip_network(block["cidr"]), [ip_network(hole) for hole in block["except"]])
        for block in blocks
    ]


def lets_out(address: Address) -> bool:
    return any(
        address in network and not any(address in hole for hole in holes)
        for network, holes in permitted()
    )


def bounds(version: int) -> list[Address]:
    """The first and last address of every network of the policy and the guard, and their
    neighbours: verdicts change nowhere else."""
    networks: list[Network] = [network for network, _ in BLOCKED_IPV4]
    networks += [network for network, _ in BLOCKED_IPV6]
    for network, holes in permitted():
        networks += [network, *holes]
    ends = {int(end) for each in networks if each.version == version for end in (each[0], each[-1])}
    kind, bits = (IPv4Address, 32) if version == 4 else (IPv6Address, 128)
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return [kind(value) for value in sorted(near) if 0 <= value < 1 << bits]


def test_the_policy_and_the_guard_refuse_the_same_ipv4_addresses() -> None:
    assert [each for each in bounds(4) if lets_out(each) != (blocked(each) is None)] == []


def test_the_policy_lets_no_ipv6_address_out_that_the_guard_refuses() -> None:
    wrapped = ip_address("64:ff9b::808:808")

    assert [each for each in [*bounds(6), wrapped] if lets_out(each) and blocked(each)] == []
