"""The compose file starts what `make run` starts, with the settings that the services have.

There is no Docker in this suite, so the file is read, not run.
"""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.contract.manifests.reading import ROOT
from tests.contract.manifests.services import SERVICES, SYNC, Service, service_of

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
CONTAINERS: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: container for name, container in CONTAINERS.items() if "build" in container}


@pytest.fixture(params=SERVICES.values(), ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = request.param
    return found


def dockerfile_of(container: Mapping[str, Any]) -> str:
    name: str = container["build"]["dockerfile"]
    return name


@pytest.mark.parametrize("name", OURS)
def test_a_container_has_the_settings_of_its_service(name: str) -> None:
    container = OURS[name]
    service = service_of(container["image"], container.get("command", ()))
    serves = "healthcheck" in container

    assert dockerfile_of(container) == f"services/{service.name}/Dockerfile"
    # Where another program takes the service's place, it has nothing to do with its settings.
    assert "entrypoint" in container or (
        service.faults(container["environment"], command=not serves) == []
    )


@pytest.mark.parametrize("name", OURS)
def test_a_container_is_built_from_a_file_and_a_target_that_exist(name: str) -> None:
    build = OURS[name]["build"]
    text = (ROOT / dockerfile_of(OURS[name])).read_text()

    assert (FILE.parent / build["context"]).resolve() == ROOT
    assert "target" not in build or re.search(rf"AS {build['target']}$", text, re.MULTILINE)


def test_every_service_runs_and_is_asked_whether_it_is_ready(service: Service) -> None:
    container = CONTAINERS[service.name]

    url = f"http://127.0.0.1:{service.ports['admin']}/readyz"

    assert container["image"] == f"company-registry/{service.name}:{service.version}"
    assert url in container["healthcheck"]["test"][-1]


def test_the_sync_runs_on_the_loopback_of_the_registers_and_is_asked_whether_it_is_ready() -> None:
    sync = CONTAINERS["lookup-sync"]
    addresses = [sync["environment"][name] for name in ("BRREG_URL", "CVR_URL", "PEPPOL_URL")]

    assert sync["network_mode"] == "service:registers"
    assert all(address.startswith("http://127.0.0.1:8090") for address in addresses)
    assert f"http://127.0.0.1:{SYNC.ports['admin']}/readyz" in sync["healthcheck"]["test"][-1]


def test_every_service_has_time_to_stop(service: Service) -> None:
    container = CONTAINERS[service.name]

    grace = int(container["stop_grace_period"].removesuffix("s"))

    assert grace > service.stop_limit(container["environment"]).total_seconds()


def test_only_the_public_port_is_published_and_only_to_this_machine() -> None:
    published = {name: each["ports"] for name, each in CONTAINERS.items() if "ports" in each}

    public = SERVICES["gateway"].ports["http"]
    assert published == {"gateway": [f"127.0.0.1:{public}:{public}"]}


def test_what_a_container_waits_for_exists_and_can_come_true() -> None:
    for container in CONTAINERS.values():
        for name, wanted in container.get("depends_on", {}).items():
            waited_for = CONTAINERS[name]
            ends = "command" in waited_for and "build" in waited_for

            assert ends == (wanted["condition"] == "service_completed_successfully")
            assert ends or "healthcheck" in waited_for


def test_volumes_are_declared() -> None:
    used = {
        volume.partition(":")[0]
        for container in CONTAINERS.values()
        for volume in container.get("volumes", [])
    }

    assert used == COMPOSE["volumes"].keys()
