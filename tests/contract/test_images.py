"""The Dockerfile builds every service, and runs it as the manifests expect.

Not every machine of this suite has a Docker, so the file is read, not built.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lookup.registers.table import sources
from tests.contract.manifests.reading import ROOT
from tests.contract.manifests.services import SERVICES, Service
from tests.fakes import docker

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


TAG = "python:3.11-slim-bookworm"
OLD, NEW = (f"sha256:{letter * 64}" for letter in "ab")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a build of images reads of a checkout."""
    shutil.copytree(IMAGES, tmp_path / "checkout" / "deploy" / "images")
    packages = tmp_path / "checkout" / "services" / "gateway"
    packages.mkdir(parents=True)
    (packages / "pyproject.toml").write_text('version = "1.4.0"\n')
    return tmp_path / "checkout"


def built(checkout: Path, *words: str, state: dict[str, Any]) -> tuple[int, str, list[list[str]]]:
    """Status and error of `build` or another script of it, and the options of each build."""
    script, *arguments = words or ("build", "gateway", "portal")
    done = subprocess.run(
        [checkout / "deploy" / "images" / script, *arguments],
        env=docker.install(checkout.parent, **state),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    after = json.loads((checkout.parent / "state.json").read_text())
    return done.returncode, done.stderr, after["built"]


def test_a_base_of_a_registry_is_named_by_its_digest(checkout: Path) -> None:
    status, error, builds = built(checkout, state={"registry": {TAG: OLD}})

    assert (status, error, len(builds)) == (0, "", 2)
    for options in builds:
        assert f"BASE=python@{OLD}" in options
        assert f"org.opencontainers.image.base.name={TAG}" in options
        assert f"org.opencontainers.image.base.digest={OLD}" in options


def test_a_pinned_base_stays_what_it_was(checkout: Path) -> None:
    pinned = {f"python@{OLD}": OLD}

    first = built(checkout, "base", "--pin", state={"registry": {TAG: OLD}})
    *_, builds = built(checkout, state={"registry": {TAG: NEW, **pinned}})
    kept = built(checkout, state={"present": {TAG: [f"python@{NEW}"]}, "registry": pinned})
    gone = built(checkout, state={"present": {TAG: [f"python@{NEW}"]}, "registry": {TAG: NEW}})

    assert first[0] == 0
    assert all(f"BASE=python@{OLD}" in options for options in [*builds, *kept[2]])
    assert len(kept[2]) == 2
    assert (gone[0], gone[2]) == (1, [])
    assert f"python@{OLD} can be pulled from no image registry" in gone[1]


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_base_that_was_built_here_is_used_and_said(checkout: Path, *, is_pinned: bool) -> None:
    if is_pinned:
        (checkout / "deploy" / "images" / "base.digest").write_text(f"{OLD}\n")

    status, error, builds = built(checkout, state={"present": {TAG: []}})

    assert (status, len(builds)) == (0, 2)
    assert error == f"images: {TAG} was built on this machine and has no digest\n"
    assert all(f"BASE={TAG}" in options for options in builds)
    assert not any("base.digest" in option for options in builds for option in options)


def test_a_base_of_a_mirror_has_its_digest_there(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASE_IMAGE", "registry.example:5000/python:3.11")

    *_, builds = built(checkout, state={"registry": {"registry.example:5000/python:3.11": NEW}})

    assert all(f"BASE=registry.example:5000/python@{NEW}" in options for options in builds)


def test_an_empty_machine_is_told_of_debootstrap_before_anything_is_built(checkout: Path) -> None:
    status, error, builds = built(checkout, state={})

    assert (status, builds) == (1, [])
    assert f"{TAG} can be pulled from no image registry" in error
    assert "with debootstrap from `apt-get install debootstrap`" in error
    assert "deploy/images/stand-ins/build" in error


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


CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
#: Versions of the changelog, with the commit that each was made of.
RELEASED = dict(
    re.findall(
        r"^## (\d\S*) - .*\n\nTag `v\S*`, commit `([0-9a-f]{40})`\.$", CHANGELOG, re.MULTILINE
    )
)


def of_git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout


def test_every_version_of_the_changelog_names_its_commit() -> None:
    versions = re.findall(r"^## (\d\S*) - ", CHANGELOG, re.MULTILINE)

    # The commit of a release cannot name itself: the next one does.
    assert set(versions[1:]) <= RELEASED.keys() <= set(versions)


@pytest.mark.parametrize("version", RELEASED)
def test_the_commit_of_a_version_is_its_release(version: str) -> None:
    commit = RELEASED[version]
    if not of_git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        pytest.skip("this checkout has no history")

    assert f'version = "{version}"' in of_git("show", f"{commit}:services/gateway/pyproject.toml")
    assert f"## {version} - " in of_git("show", f"{commit}:CHANGELOG.md")
    assert f"## {version} - " not in of_git("show", f"{commit}^:CHANGELOG.md")


def test_the_tags_are_the_versions_of_the_changelog() -> None:
    tags = of_git("tag", "--list", "v*").split()
    if not tags:
        pytest.skip("this checkout has no tags")

    made_of = {tag: of_git("rev-list", "-n1", tag).strip() for tag in tags}
    released = {f"v{version}": commit for version, commit in RELEASED.items()}
    versions = re.findall(r"^## (\d\S*) - ", CHANGELOG, re.MULTILINE)
    assert released.items() <= made_of.items()
    assert made_of.keys() <= {f"v{version}" for version in versions}
