"""The pods that the operators of RabbitMQ and MongoDB make of the resources of this repository.

Read in the operators' sources, at the versions of ADR 0051; what a resource overrides is merged as
they merge it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contract.manifests.reading import Document, Workload, of_kind

#: Of both operators, for each container.
RIGHTS = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def made_by_operators(documents: Sequence[Document]) -> list[Workload]:
    """The StatefulSets of the brokers and databases that the documents ask for."""
    brokers = map(_broker, of_kind(documents, "RabbitmqCluster"))
    return [*brokers, *map(_database, of_kind(documents, "MongoDBCommunity"))]


def _broker(document: Document) -> Workload:
    """github.com/rabbitmq/cluster-operator v2.22.3: internal/metadata/label.go,
    internal/resource/statefulset.go, configmap.go (ports), headless_service.go."""
    name, spec = document["metadata"]["name"], document["spec"]
    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/component": "rabbitmq",
        "app.kubernetes.io/part-of": "rabbitmq",
    }
    ports = {"epmd": 4369, "cluster-rpc": 25672}
    if "tls" in spec:
        ports |= {"amqps": 5671, "management-tls": 15671, "prometheus-tls": 15691}
    if not spec.get("tls", {}).get("disableNonTLSListeners"):
        ports |= {"amqp": 5672, "management": 15672, "prometheus": 15692}
    pod = {
        "securityContext": {
            "fsGroup": 0,
            "runAsUser": 999,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": spec.get("affinity"),
        "initContainers": [_container("setup-container")],
        "containers": [_container("rabbitmq", ports, image=spec["image"])],
    }
    override = spec.get("override", {}).get("statefulSet", {}).get("spec", {})
    return _stateful_set(document, labels, pod, override)


def _database(document: Document) -> Workload:
    """github.com/mongodb/mongodb-kubernetes 1.10.0: mongodb-community-operator/controllers
    (construct/mongodbstatefulset.go, prometheus.go), pkg/kube (podtemplatespec, container)."""
    spec = document["spec"]
    ports = {"mongodb": 27017} | ({"prometheus": 9216} if "prometheus" in spec else {})
    pod = {
        "securityContext": {
            "fsGroup": 2000,
            "runAsUser": 2000,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            _container("mongod-posthook"),
            _container("mongodb-agent-readinessprobe"),
        ],
        # The agent's own port is its status.
        "containers": [_container("mongod", ports), _container("mongodb-agent", {"status": 5000})],
    }
    labels = {"app": f"{document['metadata']['name']}-svc"}
    return _stateful_set(document, labels, pod, spec.get("statefulSet", {}).get("spec", {}))


def _container(
    name: str, ports: Mapping[str, int] | None = None, image: str = "of the operator"
) -> dict[str, Any]:
    listed = [{"name": name, "containerPort": number} for name, number in (ports or {}).items()]
    return {"name": name, "image": image, "ports": listed, "securityContext": RIGHTS}


def _stateful_set(
    document: Document, labels: Mapping[str, str], pod: Document, override: Document
) -> Workload:
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = _merged({"replicas": 3, "template": template}, override)
    metadata = {
        "name": document["metadata"]["name"],
        "namespace": document["metadata"]["namespace"],
    }
    return Workload({"kind": "StatefulSet", "metadata": metadata, "spec": spec})


def _merged(below: Any, above: Any) -> Any:
    """Maps merge by key, lists of named things by name; all else is replaced."""
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        both = {key: _merged(below[key], above[key]) for key in below.keys() & above.keys()}
        return {**below, **above, **both}
    if isinstance(below, list) and isinstance(above, list) and _are_named(below + above):
        named = _merged(dict(_by_name(below)), dict(_by_name(above)))
        return list(named.values())
    return above


def _are_named(entries: Sequence[Any]) -> bool:
    return all(isinstance(entry, Mapping) and "name" in entry for entry in entries)


def _by_name(entries: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for entry in entries:
        yield entry["name"], entry
