"""The compose files start what `make run` starts, with the settings that the services have.

Not every machine of this suite has a Docker, so the files are read, not run.
"""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.contract.manifests.reading import KUBERNETES, ROOT
from tests.contract.manifests.services import SERVICES, SYNC, Service, service_of
from tests.contract.test_images import TARGETS

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
CONTAINERS: dict[str, dict[str, Any]] = COMPOSE["services"]
#: Do one thing and end.
ENDING = {
    "mongodb-init",
    "gateway-indexes",
    "lookup-indexes",
    "webhook-registry-indexes",
    "samples",
    "certificate",
}
#: With the release that runs where no other one is named.
CLUSTER: dict[str, dict[str, Any]] = yaml.safe_load(
    re.sub(r"\$\{RELEASE:-(.*?)\}", r"\1", (FILE.parent / "cluster.yaml").read_text())
)["services"]
#: Our services of both files, by file and name.
ALL_OURS = {
    f"{file}-{name}": (name, container)
    for file, containers in (("trial", CONTAINERS), ("cluster", CLUSTER))
    for name, container in containers.items()
    if container["image"].startswith("company-registry/")
}
#: Of ours, other programs than a service.
APART = ("receiver", "certificate")
#: Targets of Prometheus by job.
#: The only targets of each job.
SCRAPED = {
    job["job_name"]: job["static_configs"][0]
    for job in yaml.safe_load((FILE.parent / "prometheus.yml").read_text())["scrape_configs"]
}


@pytest.fixture(params=SERVICES.values(), ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = request.param
    return found


@pytest.mark.parametrize("key", [key for key, (name, _) in ALL_OURS.items() if name not in APART])
def test_a_container_has_the_settings_of_its_service(key: str) -> None:
    name, container = ALL_OURS[key]
    service = service_of(container["image"], container.get("command", ()))

    # A program that replaces the service ignores its settings.
    assert "entrypoint" in container or (
        service.faults(defaults(container["environment"]), command=name in ENDING) == []
    )


def defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """A container's variables where nothing else is set: `${NAME:-default}` is its default."""
    return {name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value) for name, value in environment.items()}


@pytest.mark.parametrize("key", ALL_OURS)
def test_a_container_runs_an_image_of_this_version(key: str) -> None:
    image, _, tag = ALL_OURS[key][1]["image"].removeprefix("company-registry/").partition(":")

    assert image in TARGETS
    assert tag == SERVICES["gateway"].version


def test_every_service_has_a_readiness_check(service: Service) -> None:
    container = CONTAINERS[service.name]

    assert container["image"] == f"company-registry/{service.name}:{service.version}"
    # As its image says.
    assert "healthcheck" not in container


def test_the_sync_shares_the_registers_loopback_and_has_a_readiness_check() -> None:
    sync = CONTAINERS["lookup-sync"]
    addresses = [sync["environment"][name] for name in ("BRREG_URL", "CVR_URL", "PEPPOL_URL")]

    assert sync["network_mode"] == "service:registers"
    assert all(address.startswith("http://127.0.0.1:8090") for address in addresses)
    assert sync["healthcheck"]["test"] == ["CMD", "healthy", str(SYNC.ports["admin"])]


def test_a_sync_may_be_given_a_proxy_and_its_authority() -> None:
    proxied = {
        "HTTPS_PROXY": "http://proxy.example.com:3128",
        "HTTP_PROXY": "http://proxy.example.com:3128",
        "NO_PROXY": "127.0.0.1,localhost",
        "REGISTER_CA_FILE": "/certificates/ca.pem",
    }

    assert SYNC.faults({**CONTAINERS["lookup-sync"]["environment"], **proxied}, command=False) == []


@pytest.mark.parametrize(
    "key", [key for key, (_, container) in ALL_OURS.items() if "stop_grace_period" in container]
)
def test_every_service_has_time_to_stop(key: str) -> None:
    _, container = ALL_OURS[key]
    service = service_of(container["image"], container.get("command", ()))

    grace = int(container["stop_grace_period"].removesuffix("s"))

    assert grace > service.shutdown_grace(defaults(container["environment"])).total_seconds()


def test_only_public_ports_and_prometheus_are_published_to_this_machine() -> None:
    published = {name: each["ports"] for name, each in CONTAINERS.items() if "ports" in each}

    public, pages = SERVICES["gateway"].ports["http"], SERVICES["portal"].ports["http"]
    assert published == {
        "gateway": [f"127.0.0.1:${{HTTP_PORT:-{public}}}:{public}"],
        "portal": [f"127.0.0.1:${{PORTAL_PORT:-{pages}}}:{pages}"],
        "prometheus": ["127.0.0.1:${PROMETHEUS_PORT:-9090}:9090"],
    }


def test_the_dependencies_of_a_container_exist_and_can_be_met() -> None:
    for container in CONTAINERS.values():
        for name, wanted in container.get("depends_on", {}).items():
            assert name in CONTAINERS
            assert wanted["condition"] == "service_completed_successfully"
            assert name in ENDING


def test_volumes_are_declared() -> None:
    used = {
        volume.partition(":")[0]
        for container in CONTAINERS.values()
        for volume in container.get("volumes", [])
        if not volume.startswith(".")
    }

    assert used == COMPOSE["volumes"].keys()


def test_prometheus_watches_every_service(service: Service) -> None:
    assert SCRAPED[service.name]["targets"] == [f"{service.name}:{service.ports['admin']}"]


def test_prometheus_watches_the_sync_and_the_broker() -> None:
    assert SCRAPED["lookup-sync"]["targets"] == [f"registers:{SYNC.ports['admin']}"]
    assert SCRAPED["rabbitmq"]["targets"] == ["rabbitmq:15692"]


def test_the_alerts_apply_to_every_target() -> None:
    base = yaml.safe_load((KUBERNETES / "base" / "kustomization.yaml").read_text())

    labels = [targets["labels"] for targets in SCRAPED.values()]
    assert labels == [{"namespace": base["namespace"]}] * len(SCRAPED)


def test_files_that_containers_are_given_exist() -> None:
    given = [
        volume.partition(":")[0]
        for container in CONTAINERS.values()
        for volume in container.get("volumes", [])
        if volume.startswith("./")
    ]

    assert given
    assert all((FILE.parent / file).is_file() for file in given)
