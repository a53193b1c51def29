"""The Kubernetes manifests agree with the code that they run, and with each other.

The files of the base are read by PyYAML everywhere. Where kubectl is installed, the base and the
overlays are also checked as it renders them, and the base with each component.
"""

import copy
import importlib
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import aiohttp
import kubernetes_validate
import pytest
from kubernetes_validate import utils as schemas

from common.runtime.admin import admin_port
from common.runtime.health import Health
from tests.contract.manifests import rules
from tests.contract.manifests.reading import (
    ROOT,
    Document,
    base_files,
    is_kubernetes_own,
    of_kind,
    ours,
    rendered,
)
from tests.contract.manifests.services import SERVICES
from webhook_store.addresses import BLOCKED_IPV4, BLOCKED_IPV6, Address, Network, blocked

FILES = "files of the base"
FOLDERS = (
    "base",
    "components/denmark",
    "components/gateway-api",
    "components/hpa",
    "components/ingress",
    "components/keda",
    "components/monitoring",
    "components/operators",
    "components/server-ca",
    "components/server-metrics",
    "components/tracing",
    "components/zones",
    "overlays/local",
    "overlays/production",
)
#: The services that own collections; the dispatcher works on those of the registry.
INDEXED = ["gateway", "lookup", "webhook-registry"]
#: The oldest and the newest that are supported.
KUBERNETES_VERSIONS = ("1.31", "1.37")
SOURCES = (FILES, *FOLDERS) if shutil.which("kubectl") else (FILES,)


@cache
def read(source: str) -> list[Document]:
    return base_files() if source == FILES else rendered(source)


@pytest.fixture(params=SOURCES)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    return read(request.param)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_manifests_keep_every_rule(rule: rules.Rule, documents: list[Document]) -> None:
    assert rule(documents) == []


def test_every_service_is_deployed(documents: list[Document]) -> None:
    serving = {each.name for each in ours(documents) if each.serves}

    assert serving == {*SERVICES, "lookup-sync"}


def test_every_process_waits_for_its_indexes(documents: list[Document]) -> None:
    made = {each.name: each.indexes_image for each in ours(documents) if each.serves}

    assert made == {
        "gateway": "gateway",
        "lookup": "lookup",
        "lookup-sync": "lookup",
        "webhook-registry": "webhook-registry",
        "dispatcher": "webhook-registry",
        "portal": None,
    }


def test_no_replicas_are_set_where_an_autoscaler_owns_them(documents: list[Document]) -> None:
    scalers = of_kind(documents, "HorizontalPodAutoscaler", "ScaledObject")
    scaled = {scaler["spec"]["scaleTargetRef"]["name"] for scaler in scalers}

    assert [
        document["metadata"]["name"]
        for document in of_kind(documents, "Deployment", "StatefulSet")
        if document["metadata"]["name"] in scaled and "replicas" in document["spec"]
    ] == []


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_manifests_are_valid_by_kubernetes_own_schemas(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Most documents are the same in every folder. The package parses 2 MB of schemas for each.
    distinct = {repr(document): document for source in SOURCES for document in read(source)}
    monkeypatch.setattr(schemas, "schema_contents", cache(schemas.schema_contents))

    for document in distinct.values():
        if is_kubernetes_own(document):
            kubernetes_validate.validate(document, version, strict=True)


def test_the_oldest_supported_version_is_the_one_that_is_tested() -> None:
    named = re.findall(r"Kubernetes (\d\.\d+) or newer", (ROOT / "deploy/README.md").read_text())

    assert named == [KUBERNETES_VERSIONS[0]]


@pytest.mark.parametrize("service", INDEXED)
def test_the_command_of_the_index_jobs_exists(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = importlib.import_module(f"{SERVICES[service].module}.commands")

    with pytest.raises(SystemExit, match="0"):
        commands.main(["indexes", "--help"])

    assert "indexes" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(set(rules.PROBE_PATHS.values()) | {"/metrics"}))
async def test_the_admin_port_answers_probes_and_scrapes(path: str) -> None:
    async with (
        admin_port(Health(serving=True), host="127.0.0.1", port=0) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        assert answer.status == 200


# --- The wall around the dispatcher -----------------------------------------------------------


@cache
def permitted() -> list[tuple[Network, list[Network]]]:
    """The networks that the base's policy lets the dispatcher call, each with its exceptions."""
    [policy] = [
        document
        for document in of_kind(read(FILES), "NetworkPolicy")
        if document["metadata"]["name"] == "internet"
    ]
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


# --- Each rule is seen to fail -------------------------------------------------------------------

Break = Callable[[list[Any]], object]


def _first(documents: Sequence[Any], kind: str, name: str = "gateway") -> Any:
    [found] = [each for each in of_kind(documents, kind) if each["metadata"]["name"] == name]
    return found


def _pod(documents: Sequence[Any]) -> Any:
    return _first(documents, "Deployment")["spec"]["template"]["spec"]


def _container(documents: Sequence[Any]) -> Any:
    return _pod(documents)["containers"][0]


def _settings(documents: Sequence[Any]) -> Any:
    return _first(documents, "ConfigMap", "gateway-settings")["data"]


@pytest.mark.skipif(len(SOURCES) == 1, reason="kubectl renders components")
def test_an_ingress_sends_a_session_of_the_portal_to_one_pod() -> None:
    services = of_kind(read("components/ingress"), "Service")
    cookies = {
        each["metadata"]["name"]: annotations["haproxy.org/cookie-persistence"]
        for each in services
        if (annotations := each["metadata"].get("annotations"))
    }

    assert cookies == {"portal": "portal-pod"}


BREAKS: list[tuple[rules.Rule, Break]] = [
    (rules.variables_are_settings, lambda all_: _settings(all_).update(HTTP_PROT="8080")),
    (rules.variables_are_settings, lambda all_: _settings(all_).update(KEY_RATE="often")),
    (rules.variables_are_settings, lambda all_: _container(all_)["env"].pop()),
    (
        rules.ports_are_those_of_the_code,
        lambda all_: _container(all_)["ports"][1].update(containerPort=9109),
    ),
    (
        rules.probes_ask_the_admin_port,
        lambda all_: _container(all_)["livenessProbe"]["httpGet"].update(path="/readyz"),
    ),
    (
        rules.pods_have_time_to_stop,
        lambda all_: _pod(all_).update(terminationGracePeriodSeconds=15),
    ),
    (rules.pods_have_time_to_stop, lambda all_: _settings(all_).update(SHUTDOWN_GRACE="PT1M")),
    (rules.pods_have_time_to_stop, lambda all_: _settings(all_).update(SHUTDOWN_DELAY="PT25S")),
    (
        rules.pods_are_restricted,
        lambda all_: _container(all_)["securityContext"].update(readOnlyRootFilesystem=False),
    ),
    (rules.memory_is_limited, lambda all_: _container(all_)["resources"].pop("limits")),
    (
        rules.disk_of_a_node_is_limited,
        lambda all_: _container(all_)["resources"]["limits"].update({"ephemeral-storage": "16Mi"}),
    ),
    (
        rules.servers_come_before_background_work,
        lambda all_: _pod(all_).pop("priorityClassName"),
    ),
    (
        rules.images_are_of_this_version,
        lambda all_: _container(all_).update(image="company-registry/gateway:latest"),
    ),
    (
        rules.selectors_find_their_pods,
        lambda all_: _first(all_, "Service")["spec"]["ports"][0].update(targetPort="web"),
    ),
    (
        rules.admin_ports_are_not_published,
        lambda all_: _first(all_, "Service", "gateway-admin")["spec"].pop("clusterIP"),
    ),
    (
        rules.only_two_call_the_internet,
        lambda all_: _first(all_, "NetworkPolicy", "mongodb")["spec"]["egress"][0].pop("to"),
    ),
    (
        rules.only_two_call_the_internet,
        lambda all_: _first(all_, "NetworkPolicy", "default-deny")["spec"].update(
            policyTypes=["Ingress"]
        ),
    ),
    (
        rules.every_server_may_be_drained,
        lambda all_: all_.remove(_first(all_, "PodDisruptionBudget")),
    ),
    (
        rules.secrets_are_made_or_documented,
        lambda all_: _container(all_)["env"][0]["valueFrom"]["secretKeyRef"].update(name="other"),
    ),
]


@pytest.mark.parametrize(
    "rule,break_it", BREAKS, ids=[f"{n}-{rule.__name__}" for n, (rule, _) in enumerate(BREAKS)]
)
def test_a_rule_finds_its_violation(rule: rules.Rule, break_it: Break) -> None:
    broken = copy.deepcopy(read(FILES))

    break_it(broken)

    assert rule(broken) != []


def test_every_rule_has_been_seen_to_fail() -> None:
    assert {rule for rule, _ in BREAKS} == set(rules.RULES)
