"""Load balancers send a lookup again, and wait as long as a gateway may take: all of them alike.

How they behave is tested in `tests/integration/test_balancer.py`.
"""

import json
import re
from typing import Any

import pytest
import yaml

from common.messaging.requests import LOOK_UP
from gateway.problems import PROBLEMS
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


#: A gateway's own deadline of a lookup, to which a balancer adds the way to it.
CUT_OFF = "1900ms"


def haproxy_lookups(text: str) -> set[str]:
    [paths] = re.findall(r"acl is_lookup path (.*)", text)
    return set(paths.split())


def haproxy_problems(text: str) -> list[str]:
    return re.findall(r"http-error .*", text)


def ingress_snippet() -> str:
    ingress = yaml.safe_load_all((COMPONENTS / "ingress" / "ingress.yaml").read_text())
    [gateway] = [each for each in ingress if each["metadata"]["name"] == "gateway"]
    return str(gateway["metadata"]["annotations"]["haproxy.org/backend-config-snippet"])


@pytest.mark.parametrize("text", [HAPROXY, ingress_snippet()], ids=["compose", "ingress"])
def test_a_balancer_waits_for_a_lookup_as_long_as_a_gateway_may_take(text: str) -> None:
    assert haproxy_lookups(text) == LOOKUPS
    assert f"set-timeout server {CUT_OFF} if" in text


def test_a_gateway_answers_before_a_balancer_gives_up() -> None:
    assert int(CUT_OFF.removesuffix("ms")) > LOOK_UP.timeout * 1000


def test_errors_of_every_balancer_are_problems_of_the_api() -> None:
    problems = haproxy_problems(HAPROXY)

    assert haproxy_problems(ingress_snippet()) == problems
    assert {re.findall(r"status (\d+)", each)[0] for each in problems} == {"502", "503", "504"}
    for each in problems:
        [document] = re.findall(r"lf-string '(.*?)'", each)
        problem = json.loads(document)
        known = PROBLEMS[problem["code"]]
        assert problem["type"] == f"urn:problem:{known.code.replace('_', '-')}"
        assert problem["title"] == known.code.replace("_", " ").capitalize()
        assert " hdr Retry-After 1 " in each


@with_kubectl
def test_the_route_waits_for_a_lookup_as_long_as_a_gateway_may_take() -> None:
    lookups, others, _ = rules("gateway-api-retry")

    assert {match["path"]["value"] for match in lookups["matches"]} == LOOKUPS
    assert {match["method"] for match in lookups["matches"]} == {"GET"}
    assert {match["method"] for match in others["matches"]} == {"GET"}
    assert lookups["retry"]["attempts"] == others["retry"]["attempts"] == 1
    assert lookups["timeouts"]["backendRequest"] == CUT_OFF
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
