"""Load balancers send a lookup again, soon, and wait for slow requests: all of them alike."""

import re
from typing import Any

import pytest
import yaml

from tests.builders.openapi import operations
from tests.contract.manifests.reading import KUBERNETES, ROOT, of_kind, rendered
from tests.contract.test_manifests import with_kubectl

HAPROXY = (ROOT / "deploy" / "compose" / "haproxy.cfg").read_text()
COMPONENTS = KUBERNETES / "components"
LOOKUPS = {
    path
    for path, method, operation in operations()
    if method == "get" and operation["operationId"].startswith("lookUp")
}


def haproxy_rules(text: str) -> tuple[set[str], set[str]]:
    """The paths that are lookups, and the rules that say how a request is sent again."""
    [paths] = re.findall(r"acl is_lookup path (.*)", text)
    words = ("retries", "option redispatch", "retry-on", "http-request")
    lines = (line.strip() for line in text.splitlines())
    return set(paths.split()), {line for line in lines if line.startswith(words)}


def test_the_ingress_repeats_lookups_as_the_measured_cluster_does() -> None:
    ingress = yaml.safe_load_all((COMPONENTS / "ingress" / "ingress.yaml").read_text())
    [gateway] = [each for each in ingress if each["metadata"]["name"] == "gateway"]
    snippet = gateway["metadata"]["annotations"]["haproxy.org/backend-config-snippet"]

    assert haproxy_rules(snippet) == haproxy_rules(HAPROXY)
    assert haproxy_rules(HAPROXY)[0] == LOOKUPS


@with_kubectl
def test_the_route_repeats_lookups_after_the_same_silence() -> None:
    lookups, others, _ = rules("gateway-api-retry")

    assert {match["path"]["value"] for match in lookups["matches"]} == LOOKUPS
    assert {match["method"] for match in lookups["matches"]} == {"GET"}
    assert {match["method"] for match in others["matches"]} == {"GET"}
    assert lookups["retry"]["attempts"] == others["retry"]["attempts"] == 1
    assert lookups["timeouts"]["backendRequest"] == "700ms"
    assert "set-timeout server 700ms" in HAPROXY
    assert "backendRequest" not in others["timeouts"]


#: The fields of a rule in the HTTPRoute v1 of the Gateway API's standard channel, 1.2.0 to 1.6.1:
#: config/crd/standard/gateway.networking.k8s.io_httproutes.yaml. `name` is in it from 1.4 on.
STANDARD = {"matches", "filters", "backendRefs", "timeouts"}


@with_kubectl
@pytest.mark.parametrize("route", ["gateway", "portal"])
def test_the_standard_channel_accepts_the_routes(route: str) -> None:
    standard = rules("gateway-api", route)

    assert {field for rule in standard for field in rule} <= STANDARD
    assert {field for rule in standard for field in rule["timeouts"]} <= {
        *("request", "backendRequest")
    }
    # Without another gateway to be sent to, a lookup would only fail earlier.
    assert not any("backendRequest" in rule["timeouts"] for rule in standard)


def rules(component: str, route: str = "gateway") -> list[Any]:
    """The rules of a route, as the component publishes it."""
    [found] = [
        each
        for each in of_kind(rendered(f"components/{component}"), "HTTPRoute")
        if each["metadata"]["name"] == route
    ]
    return list(found["spec"]["rules"])
