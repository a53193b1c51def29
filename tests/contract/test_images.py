"""The Dockerfile builds every service, and runs it as the manifests expect.

Not every machine of this suite has a Docker, so the file is read, not built.
"""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookup.registers.table import sources
from tests.contract.manifests.reading import ROOT
from tests.contract.manifests.services import SERVICES, Service

IMAGES = ROOT / "deploy" / "images"
BUILD_PINS = IMAGES / "build-requirements.txt"
RECEIVER_PINS = IMAGES / "receiver-requirements.txt"
TEXT = (IMAGES / "Dockerfile").read_text().replace("\\\n", " ")
#: Name, base and instructions of each stage.
STAGES = {
    name: (base, text)
    for base, name, text in re.findall(
        r"^FROM (\S+) AS (\S+)$(.*?)(?=^FROM|\Z)", TEXT, re.MULTILINE | re.DOTALL
    )
}
#: Folders of the libraries and clients by the names of their packages.
PACKAGES = {
    tomllib.loads(project.read_text())["project"]["name"]: project.parent
    for pattern in ("libs/*/pyproject.toml", "clients/*/pyproject.toml")
    for project in ROOT.glob(pattern)
}
TARGETS = [
    name for name in STAGES if name not in ("packages", "ours", "runtime", "receiver-packages")
]


@pytest.fixture(params=SERVICES.values(), ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = request.param
    return found


def instructions(stage: str, word: str) -> list[str]:
    """The arguments of an instruction in a stage and in those below it, the lowest first."""
    if stage not in STAGES:
        return []
    base, text = STAGES[stage]
    own = re.findall(rf"^{word} (.*)$", text, re.MULTILINE)
    return [*instructions(base, word), *(" ".join(rest.split()) for rest in own)]


def copied() -> Iterator[str]:
    """The files that the Dockerfile takes from the repository."""
    for copy in re.findall(r"^COPY (.*)$", TEXT, re.MULTILINE):
        if "--from=" not in copy:
            yield from copy.split()[:-1]


def needed_libraries(project: Path) -> set[str]:
    """The libraries and clients that a package needs, those that its libraries need included."""
    text = (project / "pyproject.toml").read_text()
    libraries = {name for name in PACKAGES if f'"{name}"' in text and PACKAGES[name] != project}
    return libraries | {below for name in libraries for below in needed_libraries(PACKAGES[name])}


def test_files_that_the_images_copy_exist_and_are_sent_to_the_build() -> None:
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)

    assert all((ROOT / path).exists() for path in copied())
    assert all(path.startswith(tuple(sent)) for path in copied())


def test_an_image_holds_the_service_and_the_libraries_that_it_needs(service: Service) -> None:
    [packages] = re.findall(rf"ours {service.name} ([^&]*)", STAGES["ours"][1])
    copies = instructions(service.name, "COPY")

    assert set(packages.split()) == {service.name, *needed_libraries(service.folder)}
    assert f"--from=packages /opt/{service.name} /opt/app" in copies
    assert f"--from=ours /ours/{service.name} /opt/app/lib/python3.11/site-packages" in copies


def test_an_image_runs_the_module(service: Service) -> None:
    assert instructions(service.name, "ENTRYPOINT") == [f'["python", "-m", "{service.module}"]']
    # An entry point resets the command of the stages below.
    assert re.search(r'^ENTRYPOINT .*\nCMD \["serve"\]$', STAGES[service.name][1], re.MULTILINE)
    assert service.is_runnable


@pytest.mark.parametrize("target", TARGETS)
def test_every_image_runs_as_a_user_without_rights(target: str) -> None:
    assert instructions(target, "USER") == ["10001:10001"]


def test_an_image_declares_its_ports_version_and_licence(service: Service) -> None:
    [ports] = instructions(service.name, "EXPOSE")
    [every, own] = instructions(service.name, "LABEL")
    licences = "MIT AND GPL-2.0-only" if "dicttoxml" in pins_of(service) else "MIT"

    assert sorted(map(int, ports.split())) == sorted(service.ports.values())
    assert f'title="company-registry/{service.name}"' in own
    assert f'version="{service.version}"' in every
    assert re.findall(r'licenses="(.*?)"', every + own)[-1] == licences


def test_an_image_has_a_health_check(service: Service) -> None:
    [check] = instructions(service.name, "HEALTHCHECK")

    assert check.endswith(f'CMD ["healthy", "{service.ports["admin"]}"]')


def test_everything_that_comes_from_a_registry_is_checked_by_its_hash() -> None:
    commands = [command for stage in STAGES for command in instructions(stage, "RUN")]
    installs = re.findall(r"pip [^&;]*(?:install|wheel) [^&;]*", " ".join(commands))
    installs = [each for each in installs if "uninstall" not in each]

    assert installs
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)


def test_the_image_and_the_developers_have_the_same_versions(service: Service) -> None:
    developers = pins(ROOT / "constraints.txt")

    assert pins_of(service).items() <= developers.items()
    assert pins(BUILD_PINS).items() <= developers.items()
    assert pins(RECEIVER_PINS).items() <= developers.items()


def test_every_kind_of_register_file_is_loaded_into_a_trial() -> None:
    script = (IMAGES / "load-samples").read_text()
    [kinds] = re.findall(r"^for kind in (.+); do$", script, re.MULTILINE)

    assert kinds.split() == list(sources())


def test_the_build_script_builds_every_target() -> None:
    [targets] = re.findall(r"targets=\(([a-z -]+)\)", (IMAGES / "build").read_text())

    assert targets.split() == TARGETS


def pins_of(service: Service) -> dict[str, str]:
    return pins(service.folder / "requirements.txt")


def pins(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text(), re.MULTILINE))


def test_what_images_need_is_said_before_they_are_built() -> None:
    nowhere = {**os.environ, "DOCKER_HOST": "tcp://127.0.0.1:1"}

    run = subprocess.run(
        [IMAGES / "build"], env=nowhere, capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.returncode, run.stderr) == (1, "images: Docker is missing or not running.\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of one commit, whose packages have the version 1.4.0."""
    project = tmp_path / "services" / "gateway" / "pyproject.toml"
    project.parent.mkdir(parents=True)
    project.write_text('[project]\nversion = "1.4.0"\n')
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=30)


def commit(folder: Path) -> None:
    who = ("-c", "user.name=Kari", "-c", "user.email=kari@example.com")
    git(folder, *who, "commit", "--quiet", "--allow-empty", "--message", "a change")


def called(folder: Path) -> str:
    """The version that a build gives itself."""
    done = subprocess.run(
        [IMAGES / "version", folder], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


def test_only_a_tagged_commit_is_a_release(repository: Path) -> None:
    before = called(repository)
    git(repository, "tag", "v1.4.0")
    released = called(repository)
    (repository / "services/gateway/pyproject.toml").write_text('version = "1.4.0"\n')
    changed = called(repository)
    git(repository, "checkout", "--quiet", ".")
    commit(repository)
    commit(repository)

    assert re.fullmatch(r"1\.5\.0\.dev1\+g[0-9a-f]{7}", before)
    assert released == "1.4.0"
    assert re.fullmatch(r"1\.5\.0\.dev0\+g[0-9a-f]{7}\.changed", changed)
    assert re.fullmatch(r"1\.5\.0\.dev2\+g[0-9a-f]{7}", called(repository))


def test_a_build_without_a_repository_does_not_call_itself_a_release(repository: Path) -> None:
    shutil.rmtree(repository / ".git")

    assert called(repository) == "1.4.0+unknown"


def test_an_image_is_labelled_with_what_was_built() -> None:
    assert 'label version "$(deploy/images/version)"' in (IMAGES / "build").read_text()


def test_every_version_of_the_changelog_is_a_tag() -> None:
    listed = subprocess.run(
        ["git", "tag", "--list", "v*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    tags = listed.stdout.split()
    if not tags:
        pytest.skip("this checkout has no tags")
    versions = re.findall(r"^## (\d\S*) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert sorted(tags) == sorted(f"v{version}" for version in versions)
