"""Which connections Kubernetes' NetworkPolicies admit between pods and addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from tests.contract.manifests.reading import Document, of_kind

Selector = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """An end of a connection: a pod, or without a namespace an address outside of all policies."""

    name: str
    address: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Where it listens: each port with the name that its container gives it.
    ports: Mapping[tuple[str, int], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policies:
    """The NetworkPolicies of one rendering."""

    documents: Sequence[Document]

    def admit(self, source: Party, target: Party, port: tuple[str, int]) -> bool:
        """True if the source may leave to the target, and the target lets it in."""
        return self._passes("Egress", source, target, target, port) and self._passes(
            "Ingress", target, source, target, port
        )

    def _passes(
        self, way: str, pod: Party, peer: Party, target: Party, port: tuple[str, int]
    ) -> bool:
        """True if no policy of that way selects the pod, or one that does names peer and port."""
        selecting = [
            policy
            for policy in of_kind(self.documents, "NetworkPolicy")
            if way in policy["spec"]["policyTypes"]
            and policy["metadata"]["namespace"] == pod.namespace
            and selects(policy["spec"]["podSelector"], pod.labels)
        ]
        return not selecting or any(
            _names_peer(rule.get("from" if way == "Ingress" else "to"), peer, pod.namespace)
            and _names_port(rule.get("ports"), target, port)
            for policy in selecting
            for rule in policy["spec"].get(way.lower(), [])
        )


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Returns whether a label selector matches; an empty one matches all."""
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        _holds(term, labels) for term in selector.get("matchExpressions", [])
    )


def _holds(term: Selector, labels: Mapping[str, str]) -> bool:
    value = labels.get(term["key"])
    match term["operator"]:
        case "In":
            return value in term["values"]
        case "NotIn":
            return value not in term["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case unknown:
            raise ValueError(f"Kubernetes has no operator {unknown}.")


def _names_peer(peers: Sequence[Selector] | None, party: Party, home: str) -> bool:
    return not peers or any(_is_peer(peer, party, home) for peer in peers)


def _is_peer(peer: Selector, party: Party, home: str) -> bool:
    if "ipBlock" in peer:
        # Some network plugins apply a block to pods as well, so here it includes them.
        block, address = peer["ipBlock"], ip_address(party.address)
        return address in ip_network(block["cidr"]) and not any(
            address in ip_network(hole) for hole in block.get("except", [])
        )
    if not party.namespace:
        return False
    if "namespaceSelector" in peer:
        name = {"kubernetes.io/metadata.name": party.namespace}
        if not selects(peer["namespaceSelector"], name):
            return False
    elif party.namespace != home:
        return False
    return selects(peer.get("podSelector", {}), party.labels)


def _names_port(
    ports: Sequence[Mapping[str, Any]] | None, target: Party, port: tuple[str, int]
) -> bool:
    return not ports or any(_is_port(each, target, port) for each in ports)


def _is_port(named: Mapping[str, Any], target: Party, port: tuple[str, int]) -> bool:
    protocol, number = port
    if named.get("protocol", "TCP") != protocol:
        return False
    first = named.get("port", number)
    if isinstance(first, str):
        return target.ports.get(port) == first
    return bool(first <= number <= named.get("endPort", first))
