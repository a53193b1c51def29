"""Rules of every manifest. Each returns its faults as sentences."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from ipaddress import ip_network

from tests.contract.manifests.operators import made_by_operators
from tests.contract.manifests.reading import (
    KUBERNETES,
    Document,
    Workload,
    environment,
    of_kind,
    ours,
    secrets_of,
    workloads,
)
from tests.contract.manifests.services import service_of, tag_of

#: The services with a public port.
PUBLIC = ("gateway", "portal")

Rule = Callable[[Sequence[Document]], list[str]]

#: The only paths that may be probed: liveness must not depend on anything outside the process, or
#: an unavailable broker would have every pod restarted.
PROBE_PATHS = {
    "startupProbe": "/healthz",
    "livenessProbe": "/healthz",
    "readinessProbe": "/readyz",
}


def variables_are_settings(documents: Sequence[Document]) -> list[str]:
    """Every variable is a setting, every required setting is given, every value is accepted."""
    return [
        f"{workload.name}: {fault}"
        for workload in ours(documents)
        for fault in service_of(workload.image, workload.args).faults(
            environment(workload, documents), command=not workload.serves
        )
    ]


def ports_are_those_of_the_code(documents: Sequence[Document]) -> list[str]:
    faults = []
    for workload in _servers(documents):
        expected = service_of(workload.image, workload.args).ports
        scraped = workload.template["metadata"]["annotations"]["prometheus.io/port"]
        if workload.ports != expected:
            faults.append(f"{workload.name} has ports {workload.ports}, not {expected}")
        if scraped != str(expected["admin"]):
            faults.append(f"{workload.name} is scraped at {scraped}")
    return faults


def probes_ask_the_admin_port(documents: Sequence[Document]) -> list[str]:
    return [
        f"{workload.name}: {probe} is not {path} on the admin port"
        for workload in _servers(documents)
        for probe, path in PROBE_PATHS.items()
        if workload.container.get(probe, {}).get("httpGet") != {"path": path, "port": "admin"}
    ]


def pods_have_time_to_stop(documents: Sequence[Document]) -> list[str]:
    faults = []
    for workload in _servers(documents):
        service = service_of(workload.image, workload.args)
        needed = service.longest_stop(environment(workload, documents))
        given = timedelta(seconds=workload.pod.get("terminationGracePeriodSeconds", 30))
        if given <= needed:
            faults.append(f"{workload.name} has {given} to stop and may need {needed}")
    return faults


def pods_are_restricted(documents: Sequence[Document]) -> list[str]:
    """Kubernetes' `restricted` profile; ours also write nowhere and hold no API token."""
    return [
        f"{workload.name}: {fault}"
        for workload in workloads(documents)
        for fault in _unrestricted(workload)
    ]


def memory_is_limited(documents: Sequence[Document]) -> list[str]:
    """Memory is requested in full; processors are requested and not limited (see README.md)."""
    faults = []
    for workload in workloads(documents):
        for container in workload.containers:
            resources = container.get("resources", {})
            requests, limits = resources.get("requests", {}), resources.get("limits", {})
            if "cpu" not in requests:
                faults.append(f"{workload.name} asks for no processor time")
            if limits.get("memory") is None or limits["memory"] != requests.get("memory"):
                faults.append(f"{workload.name} is not limited to the memory that it asks for")
    return faults


def disk_of_a_node_is_limited(documents: Sequence[Document]) -> list[str]:
    """Logs and temporary files are requested, and their limit has room for every emptyDir."""
    faults = []
    for workload in workloads(documents):
        volumes = [each.get("emptyDir") for each in workload.pod.get("volumes", [])]
        needed = sum(_bytes(each["sizeLimit"]) for each in volumes if each)
        for container in workload.containers:
            resources = container["resources"]
            limit = resources.get("limits", {}).get("ephemeral-storage", "0Mi")
            least = needed if container == workload.container else 0
            if "ephemeral-storage" not in resources["requests"] or _bytes(limit) <= least:
                faults.append(f"{container['name']} of {workload.name} has {limit} of a disk")
    return faults


def servers_come_before_background_work(documents: Sequence[Document]) -> list[str]:
    """Each server has a priority that exists; that of the sync is lower."""
    values = {
        each["metadata"]["name"]: each["value"] for each in of_kind(documents, "PriorityClass")
    }
    given = {
        workload.name: values.get(workload.pod.get("priorityClassName", ""), 0)
        for workload in _servers(documents)
    }
    sync = given.pop("lookup-sync")
    return [f"{name} may be displaced by the sync" for name in given if given[name] <= sync]


def images_are_of_this_version(documents: Sequence[Document]) -> list[str]:
    faults = []
    for workload in ours(documents):
        service = service_of(workload.image, workload.args)
        faults += [
            f"{workload.name} runs {container['image']}, the code is {service.version}"
            for container in workload.containers
            if tag_of(container["image"]) != service.version
        ]
        if not service.is_runnable:
            faults.append(f"{workload.name} has no module {service.module} to run")
    return faults


def selectors_find_their_pods(documents: Sequence[Document]) -> list[str]:
    """Services, disruption budgets and workloads select pods that exist, by a port they have."""
    faults = []
    running = [*workloads(documents), *made_by_operators(documents)]
    for document in of_kind(
        documents, "Service", "PodDisruptionBudget", "Deployment", "StatefulSet"
    ):
        name = f"{document['kind']} {document['metadata']['name']}"
        selector = document["spec"]["selector"]
        labels = selector.get("matchLabels", selector).items()
        found = [each for each in running if labels <= each.labels.items()]
        if len(found) != 1:
            faults.append(f"{name} selects the pods of {len(found)} workloads")
            continue
        faults += [
            f"{name} has a port {port['name']} that no container has"
            for port in document["spec"].get("ports", [])
            if port["targetPort"] not in found[0].ports
        ]
    return faults


def admin_ports_are_not_published(documents: Sequence[Document]) -> list[str]:
    """The public Service has the public port alone, and an Ingress knows no other Service."""
    faults = [
        f"Service {document['metadata']['name']} has an address and the admin port"
        for document in of_kind(documents, "Service")
        if document["spec"].get("clusterIP") != "None"
        and any(port["name"] == "admin" for port in document["spec"]["ports"])
    ]
    for ingress in of_kind(documents, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            backends = [path["backend"]["service"] for path in rule["http"]["paths"]]
            if backends not in [[{"name": name, "port": {"name": "http"}}] for name in PUBLIC]:
                faults.append(f"Ingress {ingress['metadata']['name']} publishes {backends}")
    return faults


def only_two_call_the_internet(documents: Sequence[Document]) -> list[str]:
    """All unlisted traffic is denied; only two services may call outside addresses.

    The agents of MongoDB's operator call the Kubernetes API at private ones.
    """
    policies = {
        document["metadata"]["name"]: document["spec"]
        for document in of_kind(documents, "NetworkPolicy")
    }
    deny = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    faults = [] if policies.get("default-deny") == deny else ["unlisted traffic is allowed"]
    callers = ["dispatcher", "lookup-sync"]
    chosen = {"key": "app.kubernetes.io/name", "operator": "In", "values": callers}
    faults += [
        f"policy {name} lets more than {callers} out to addresses"
        for name, policy in policies.items()
        if policy["podSelector"] != {"matchExpressions": [chosen]}
        and _addresses(policy.get("egress", []))
        and not (name == "mongodb-to-kubernetes-api" and _are_private(policy["egress"]))
    ]
    return faults


def every_server_may_be_drained(documents: Sequence[Document]) -> list[str]:
    """One pod at a time may be taken away, and replicas are spread over zones and nodes."""
    budgets = {
        document["metadata"]["name"]: document["spec"]
        for document in of_kind(documents, "PodDisruptionBudget")
    }
    faults = []
    for workload in _servers(documents):
        budget = budgets.get(workload.name, {})
        if budget.get("maxUnavailable") != 1:
            faults.append(f"{workload.name} has no disruption budget of one pod")
        if budget.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            faults.append(f"{workload.name} may block a drain with a pod that is not ready")
        spread = workload.pod.get("topologySpreadConstraints", [])
        if len({constraint["topologyKey"] for constraint in spread}) != 2:
            faults.append(f"{workload.name} is not spread over zones and nodes")
    return faults


def secrets_are_made_or_documented(documents: Sequence[Document]) -> list[str]:
    """A Secret that pods name is either in the manifests or in the README's list."""
    made = {document["metadata"]["name"] for document in of_kind(documents, "Secret")}
    readme = (KUBERNETES / "README.md").read_text()
    return [
        f"{workload.name} needs Secret {name} with {key}, of which README.md says nothing"
        for workload in workloads(documents)
        for name, key in secrets_of(workload)
        if name not in made and not (f"`{name}`" in readme and f"`{key}`" in readme)
    ]


RULES: tuple[Rule, ...] = (
    variables_are_settings,
    ports_are_those_of_the_code,
    probes_ask_the_admin_port,
    pods_have_time_to_stop,
    pods_are_restricted,
    memory_is_limited,
    disk_of_a_node_is_limited,
    servers_come_before_background_work,
    images_are_of_this_version,
    selectors_find_their_pods,
    admin_ports_are_not_published,
    only_two_call_the_internet,
    every_server_may_be_drained,
    secrets_are_made_or_documented,
)


def _servers(documents: Sequence[Document]) -> list[Workload]:
    return [workload for workload in ours(documents) if workload.serves]


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) << {"Mi": 20, "Gi": 30}[quantity[-2:]]


def _addresses(egress: Sequence[Document]) -> bool:
    """True if an egress rule names addresses, or names no destination and so allows all."""
    return any(not rule.get("to") or any("ipBlock" in to for to in rule["to"]) for rule in egress)


def _are_private(egress: Sequence[Document]) -> bool:
    blocks = [to["ipBlock"]["cidr"] for rule in egress for to in rule["to"]]
    return all(ip_network(block).is_private for block in blocks)


def beyond_restricted(pod: Document) -> Iterator[str]:
    """Rights of a pod beyond Kubernetes' `restricted` profile."""
    identity = pod.get("securityContext", {})
    if not identity.get("runAsNonRoot") or not identity.get("runAsUser"):
        yield "may run as root"
    if identity.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "may use any system call"
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        rights = container.get("securityContext", {})
        if rights.get("allowPrivilegeEscalation") is not False:
            yield "may gain privileges"
        if rights.get("capabilities") != {"drop": ["ALL"]}:
            yield "keeps capabilities"


def _unrestricted(workload: Workload) -> Iterator[str]:
    pod = workload.pod
    yield from beyond_restricted(pod)
    for container in workload.containers:
        ours = "company-registry/" in container["image"]
        rights = container.get("securityContext", {})
        if ours and not rights.get("readOnlyRootFilesystem"):
            yield "may write to its image"
    if pod.get("automountServiceAccountToken") is not False:
        yield "holds a token of the cluster"
    if pod.get("enableServiceLinks") is not False:
        yield "is given variables of other Services, which it would read as settings"
