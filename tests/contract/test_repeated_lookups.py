"""Load balancers send a lookup again, soon, and wait for slow requests: all of them alike."""

import re

import yaml

from tests.contract.manifests.reading import KUBERNETES, ROOT

HAPROXY = (ROOT / "deploy" / "compose" / "haproxy.cfg").read_text()
COMPONENTS = KUBERNETES / "components"
DESCRIBED = yaml.safe_load(
    (ROOT / "services" / "gateway" / "src" / "gateway" / "http" / "openapi.yaml").read_text()
)["paths"]
LOOKUPS = {
    path
    for path, operations in DESCRIBED.items()
    if operations.get("get", {}).get("operationId", "").startswith("lookUp")
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


def test_the_route_repeats_lookups_after_the_same_silence() -> None:
    routes = yaml.safe_load_all((COMPONENTS / "gateway-api" / "httproute.yaml").read_text())
    [gateway] = [each for each in routes if each["metadata"]["name"] == "gateway"]
    lookups, others, _ = gateway["spec"]["rules"]

    assert {match["path"]["value"] for match in lookups["matches"]} == LOOKUPS
    assert {match["method"] for match in lookups["matches"]} == {"GET"}
    assert lookups["retry"]["attempts"] == others["retry"]["attempts"] == 1
    assert lookups["timeouts"]["backendRequest"] == "700ms"
    assert "set-timeout server 700ms" in HAPROXY
    assert "backendRequest" not in others["timeouts"]
