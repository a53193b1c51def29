"""The Kubernetes manifests agree with the code that they run, and with each other.

The files of the base are read by PyYAML everywhere. Where kubectl is installed, the base and the
overlays are also checked as it renders them, and the base with each component.
"""

import copy
import importlib
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import aiohttp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.runtime.admin import admin_port
from common.runtime.health import Health
from tests.contract.manifests import rules
from tests.contract.manifests.reading import Document, base_files, of_kind, ours, rendered
from tests.contract.manifests.services import SERVICES, service_of
from webhook_store.addresses import blocked

FILES = "files of the base"
FOLDERS = (
    "base",
    "components/denmark",
    "components/hpa",
    "components/ingress",
    "components/keda",
    "components/monitoring",
    "overlays/local",
    "overlays/production",
)
#: The services that own collections; the dispatcher works on those of the registry.
INDEXED = ["gateway", "lookup", "webhook-registry"]
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


def test_every_collection_gets_its_indexes_from_a_job(documents: list[Document]) -> None:
    jobs = [service_of(each.image).name for each in ours(documents) if each.is_indexes]

    assert sorted(jobs) == INDEXED


@pytest.mark.parametrize("service", INDEXED)
def test_the_command_of_the_index_jobs_exists(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = importlib.import_module(f"{SERVICES[service].module}.commands")

    with pytest.raises(SystemExit, match="0"):
        commands.main(["indexes", "--help"])

    assert "indexes" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(set(rules.PROBE_PATHS.values()) | {"/metrics"}))
async def test_the_admin_port_answers_what_is_probed_and_scraped(path: str) -> None:
    async with (
        admin_port(Health(serving=True), host="127.0.0.1", port=0) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        assert answer.status == 200


# --- The wall around the dispatcher -----------------------------------------------------------


def lets_out(address: IPv4Address | IPv6Address) -> bool:
    """Whether the base's policy lets the dispatcher call an address of the internet."""
    [policy] = [
        document
        for document in of_kind(read(FILES), "NetworkPolicy")
        if document["metadata"]["name"] == "internet"
    ]
    blocks = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule["to"]]
    return any(
        address in ip_network(block["cidr"])
        and not any(address in ip_network(hole) for hole in block["except"])
        for block in blocks
    )


@given(st.ip_addresses(v=4))
@example(ip_address("168.63.129.16"))
@settings(max_examples=1000)
def test_the_policy_and_the_guard_refuse_the_same_ipv4_addresses(address: IPv4Address) -> None:
    assert lets_out(address) == (blocked(address) is None)


@given(st.ip_addresses(v=6))
@example(ip_address("64:ff9b::808:808"))
@settings(max_examples=1000)
def test_the_policy_lets_no_ipv6_address_out_that_the_guard_refuses(address: IPv6Address) -> None:
    assert not lets_out(address) or blocked(address) is None


# --- A rule that cannot fail protects nobody ----------------------------------------------------

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
    (rules.pods_have_time_to_stop, lambda all_: _settings(all_).update(STOP_LIMIT="PT1M")),
    (
        rules.pods_are_restricted,
        lambda all_: _container(all_)["securityContext"].update(readOnlyRootFilesystem=False),
    ),
    (rules.memory_is_limited, lambda all_: _container(all_)["resources"].pop("limits")),
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
        rules.rates_are_shared_by_the_replicas,
        lambda all_: _first(all_, "Deployment")["spec"].update(replicas=5),
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
def test_a_rule_finds_what_breaks_it(rule: rules.Rule, break_it: Break) -> None:
    broken = copy.deepcopy(read(FILES))

    break_it(broken)

    assert rule(broken) != []


def test_every_rule_has_been_seen_to_fail() -> None:
    assert {rule for rule, _ in BREAKS} == set(rules.RULES)
