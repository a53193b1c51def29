"""The Dockerfiles build what is there, and run it as the manifests expect.

There is no Docker in this suite, so the files are read, not built.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookup.registers.table import sources
from tests.contract.manifests.reading import ROOT
from tests.contract.manifests.services import SERVICES, Service

BUILD_PINS = ROOT / "deploy" / "images" / "build-requirements.txt"


@pytest.fixture(params=SERVICES.values(), ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = request.param
    return found


def instructions(service: Service, word: str) -> list[str]:
    """What follows a word such as COPY in a service's Dockerfile, continued lines joined."""
    text = (service.folder / "Dockerfile").read_text().replace("\\\n", " ")
    return [" ".join(rest.split()) for rest in re.findall(rf"^{word} (.*)$", text, re.MULTILINE)]


def copied(service: Service) -> Iterator[str]:
    """What a Dockerfile takes from the repository."""
    for copy in instructions(service, "COPY"):
        if "--from=" not in copy:
            yield from [part for part in copy.split() if not part.startswith("--")][:-1]


def needed_libraries(project: Path) -> set[str]:
    """The folders under libs/ that a package needs, those that its libraries need included."""
    text = (project / "pyproject.toml").read_text()
    libraries = {folder for folder in (ROOT / "libs").iterdir() if f'"{folder.name}"' in text}
    libraries.discard(project)
    return {
        name
        for library in libraries
        for name in {f"libs/{library.name}", *needed_libraries(library)}
    }


def test_what_an_image_copies_exists(service: Service) -> None:
    missing = [path for path in copied(service) if not (ROOT / path).exists()]

    assert missing == []


def test_an_image_holds_the_service_and_the_libraries_that_it_needs(service: Service) -> None:
    packages = {path for path in copied(service) if (ROOT / path / "pyproject.toml").exists()}

    assert packages - {"libs/register-samples"} == {
        f"services/{service.name}",
        *needed_libraries(service.folder),
    }


def test_what_an_image_copies_is_sent_to_the_build(service: Service) -> None:
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)

    assert all(path.startswith(tuple(sent)) for path in copied(service))


def test_an_image_runs_the_module_as_a_user_without_rights(service: Service) -> None:
    assert f'["python", "-m", "{service.module}"]' in instructions(service, "ENTRYPOINT")
    assert instructions(service, "CMD")[0] == '["serve"]'
    assert service.is_runnable
    assert instructions(service, "USER") == ["10001:10001"]


def test_an_image_tells_its_ports_and_version(service: Service) -> None:
    [ports] = instructions(service, "EXPOSE")
    title_and_version = instructions(service, "LABEL")[0]

    assert sorted(map(int, ports.split())) == sorted(service.ports.values())
    assert f'title="company-registry/{service.name}"' in title_and_version
    assert f'version="{service.version}"' in title_and_version


def test_everything_that_comes_from_a_registry_is_checked_by_its_hash(service: Service) -> None:
    from_registry = [
        command
        for command in instructions(service, "RUN")
        if "install" in command and "pip" in command and "uninstall" not in command
    ]

    assert all("--require-hashes" in line or "--no-index" in line for line in from_registry)


def test_the_image_and_the_developers_have_the_same_versions(service: Service) -> None:
    developers = pins(ROOT / "constraints.txt")

    assert pins(service.folder / "requirements.txt").items() <= developers.items()
    assert pins(BUILD_PINS).items() <= developers.items()


def test_every_kind_of_register_file_is_loaded_into_a_trial() -> None:
    script = (ROOT / "deploy" / "images" / "load-samples").read_text()
    [kinds] = re.findall(r"^for kind in (.+); do$", script, re.MULTILINE)

    assert kinds.split() == list(sources())


def pins(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text(), re.MULTILINE))
