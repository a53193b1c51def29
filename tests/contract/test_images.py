"""The Dockerfile and the compose files run every service, with the settings that it has.

Not every machine of this suite has a Docker, so the files are read, not built.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.registers.table import sources
from tests.contract.manifests.reading import ROOT
from tests.contract.manifests.services import SERVICES, Service, service_of
from tests.fakes import docker

IMAGES = ROOT / "deploy" / "images"
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

every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=lambda each: each.name)


def instructions(stage: str, word: str) -> list[str]:
    """The arguments of an instruction in a stage and in those below it, the lowest first."""
    if stage not in STAGES:
        return []
    base, text = STAGES[stage]
    own = re.findall(rf"^{word} (.*)$", text, re.MULTILINE)
    return [*instructions(base, word), *(" ".join(rest.split()) for rest in own)]


def needed_libraries(project: Path) -> set[str]:
    """The libraries and clients that a package needs, those that its libraries need included."""
    made = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    libraries = {name.partition("[")[0] for name in made["dependencies"]} & PACKAGES.keys()
    return libraries | {below for name in libraries for below in needed_libraries(PACKAGES[name])}


def pins(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text(), re.MULTILINE))


def test_files_that_the_images_copy_exist_and_are_sent_to_the_build() -> None:
    copies = [each for each in re.findall(r"^COPY (.*)$", TEXT, re.M) if "--from=" not in each]
    copied = [path for each in copies for path in each.split()[:-1]]
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert [path for path in copied if not path.startswith(tuple(sent))] == []


@every_service
def test_an_image_runs_the_service_with_the_libraries_that_it_needs(service: Service) -> None:
    [packages] = re.findall(rf"ours {service.name} ([^&]*)", STAGES["ours"][1])
    copies = instructions(service.name, "COPY")
    versions = pins(service.folder / "requirements.txt")
    [ports] = instructions(service.name, "EXPOSE")
    [every, own] = instructions(service.name, "LABEL")
    [check] = instructions(service.name, "HEALTHCHECK")
    licences = "MIT AND GPL-2.0-only" if "dicttoxml" in versions else "MIT"

    assert set(packages.split()) == {service.name, *needed_libraries(service.folder)}
    assert f"--from=packages /opt/{service.name} /opt/app" in copies
    assert f"--from=ours /ours/{service.name} /opt/app/lib/python3.11/site-packages" in copies
    assert instructions(service.name, "ENTRYPOINT") == [f'["python", "-m", "{service.module}"]']
    # An entry point resets the command of the stages below.
    assert re.search(r'^ENTRYPOINT .*\nCMD \["serve"\]$', STAGES[service.name][1], re.MULTILINE)
    assert service.is_runnable
    assert sorted(map(int, ports.split())) == sorted(service.ports.values())
    assert check.endswith(f'CMD ["healthy", "{service.ports["admin"]}"]')
    assert f'title="company-registry/{service.name}"' in own
    assert f'version="{service.version}"' in every
    assert re.findall(r'licenses="(.*?)"', every + own)[-1] == licences
    assert versions.items() <= pins(ROOT / "constraints.txt").items()


def test_images_are_checked_pinned_and_without_rights() -> None:
    commands = " ".join(each for stage in STAGES for each in instructions(stage, "RUN"))
    installs = re.findall(r"pip [^&;]*(?:install|wheel) [^&;]*", commands)
    hashed = [each for each in installs if "--require-hashes" in each or "--no-index" in each]
    constraints = pins(ROOT / "constraints.txt").items()
    [runtime] = re.findall(r"AS runtime\n(.*?)^USER", TEXT, re.MULTILINE | re.DOTALL)

    assert len(installs) > len(hashed) > 1
    assert [each for each in installs if each not in hashed and "uninstall" not in each] == []
    assert pins(IMAGES / "build-requirements.txt").items() <= constraints
    assert pins(IMAGES / "receiver-requirements.txt").items() <= constraints
    assert pins(IMAGES / "mcp-requirements.txt").items() <= constraints
    assert {tuple(instructions(target, "USER")) for target in TARGETS} == {("10001:10001",)}
    assert "-perm /6000 -exec chmod a-s" in runtime
    assert "rm -rf /usr/bin/apt* /usr/bin/dpkg*" in runtime
    assert "uninstall --yes --root-user-action=ignore pip" in runtime
    assert "/usr/bin/perl*" in runtime
    assert "find /opt/app -type d -name tests -prune -exec rm -rf" in STAGES["packages"][1]
    # The list of what is installed stays.
    assert "/var/lib/dpkg" not in runtime


def test_the_scripts_know_every_target_and_every_kind_of_register_file() -> None:
    build, samples = ((IMAGES / name).read_text() for name in ("build", "load-samples"))

    assert re.findall(r"targets=\(([a-z -]+)\)", build) == [" ".join(TARGETS)]
    assert re.findall(r"^for kind in (.+); do$", samples, re.M) == [" ".join(sources())]


def test_what_images_need_is_said_before_they_are_built() -> None:
    nowhere = {**os.environ, "DOCKER_HOST": "tcp://127.0.0.1:1"}

    run = subprocess.run(
        [IMAGES / "build"], env=nowhere, capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.returncode, run.stderr) == (1, "images: Docker is missing or not running.\n")


# --- The base of the images, and the version of a build ----------------------------------------

TAG = "python:3.11-slim-bookworm"
MIRROR = "registry.example:5000/python"
OLD, NEW = (f"sha256:{letter * 64}" for letter in "ab")
PINNED = {f"python@{OLD}": OLD}
BUILT_HERE = f"images: {TAG} was built on this machine and has no digest\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files of a checkout that a build of images reads."""
    shutil.copytree(IMAGES, tmp_path / "checkout" / "deploy" / "images")
    packages = tmp_path / "checkout" / "services" / "gateway"
    packages.mkdir(parents=True)
    (packages / "pyproject.toml").write_text('version = "1.4.0"\n')
    return tmp_path / "checkout"


@pytest.mark.parametrize(
    "pin,mirror,state,base,error",
    [
        # A base of a registry is named by its digest, a pinned one stays what it was.
        (None, None, {"registry": {TAG: OLD}}, f"python@{OLD}", ""),
        (OLD, None, {"registry": {TAG: NEW, **PINNED}}, f"python@{OLD}", ""),
        (
            OLD,
            None,
            {"present": {TAG: [f"python@{NEW}"]}, "registry": PINNED},
            f"python@{OLD}",
            "",
        ),
        (
            OLD,
            None,
            {"present": {TAG: [f"python@{NEW}"]}, "registry": {TAG: NEW}},
            None,
            f"python@{OLD} can be pulled from no image registry",
        ),
        # An image that was built here is used and said.
        (None, None, {"present": {TAG: []}}, TAG, BUILT_HERE),
        (OLD, None, {"present": {TAG: []}}, TAG, BUILT_HERE),
        (None, f"{MIRROR}:3.11", {"registry": {f"{MIRROR}:3.11": NEW}}, f"{MIRROR}@{NEW}", ""),
        (None, None, {}, None, "with debootstrap from `apt-get install debootstrap`"),
    ],
)
def test_the_base_of_an_image(
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    pin: str | None,
    mirror: str | None,
    state: Mapping[str, Any],
    base: str | None,
    error: str,
) -> None:
    if pin:
        (checkout / "deploy" / "images" / "base.digest").write_text(f"{pin}\n")
    if mirror:
        monkeypatch.setenv("BASE_IMAGE", mirror)

    done = subprocess.run(
        [checkout / "deploy" / "images" / "build", "gateway", "portal"],
        env=docker.install(checkout.parent, **state),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    builds = json.loads((checkout.parent / "state.json").read_text())["built"]
    assert (done.returncode, len(builds)) == ((1, 0) if base is None else (0, 2))
    assert error in done.stderr
    assert error or not done.stderr
    digests = {f"org.opencontainers.image.base.digest={base.partition('@')[2]}"} if base else set()
    for options in builds:
        assert f"BASE={base}" in options
        assert f"org.opencontainers.image.base.name={mirror or TAG}" in options
        assert {each for each in options if "base.digest" in each} == digests - {
            "org.opencontainers.image.base.digest="
        }


def test_an_image_is_tagged_with_the_version_that_its_label_says(checkout: Path) -> None:
    for words in ("init --quiet", "add --all", "commit --quiet --message change"):
        git(checkout, *words.split())

    subprocess.run(
        [checkout / "deploy" / "images" / "build"],
        env=docker.install(checkout.parent, present={TAG: []}),
        capture_output=True,
        timeout=60,
        check=True,
    )

    version = called(checkout)
    builds = json.loads((checkout.parent / "state.json").read_text())["built"]
    assert len(builds) == len(TARGETS)
    assert version.startswith("1.5.0-dev.1.g")
    for options in builds:
        image = options[options.index("--tag") + 1]
        assert image.endswith(f":{version}")
        assert f"org.opencontainers.image.version={version}" in options
    # As deploy/compose reads it.
    assert (checkout / ".run" / "images").read_text() == f"{version}\n"


def test_only_a_public_address_is_the_source_of_an_image(tmp_path: Path) -> None:
    def source_with(remote: str) -> str:
        git(tmp_path, "config", "remote.origin.url", remote)
        done = subprocess.run(
            [IMAGES / "source", tmp_path], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout

    git(tmp_path, "init", "--quiet")

    public = "https://git.example.com/acme/companies"
    assert source_with(f"{public}.git") == f"{public}\n"
    assert source_with("https://user:token@git.example.com/acme/companies") == ""
    assert source_with("/srv/git/companies") == ""


def test_a_pin_is_the_digest_of_the_registry(checkout: Path) -> None:
    script = checkout / "deploy" / "images" / "base"
    environment = docker.install(checkout.parent, registry={TAG: OLD})

    subprocess.run([script, "--pin"], env=environment, check=True, timeout=60, capture_output=True)

    assert (script.parent / "base.digest").read_text() == f"{OLD}\n"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Kari", "-c", "user.email=kari@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=30)


def called(folder: Path) -> str:
    """The version that a build gives itself."""
    done = subprocess.run(
        [IMAGES / "version", folder], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


def test_only_a_tagged_commit_is_a_release(tmp_path: Path) -> None:
    project = tmp_path / "services" / "gateway" / "pyproject.toml"
    project.parent.mkdir(parents=True)
    project.write_text('[project]\nversion = "1.4.0"\n')
    for words in ("init --quiet", "add --all", "commit --quiet --message change"):
        git(tmp_path, *words.split())
    before = called(tmp_path)
    git(tmp_path, "tag", "v1.4.0")
    released = called(tmp_path)
    project.write_text('version = "1.4.0"\n')
    changed = called(tmp_path)
    git(tmp_path, "checkout", "--quiet", ".")
    for _ in range(2):
        git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "a change")

    assert re.fullmatch(r"1\.5\.0-dev\.1\.g[0-9a-f]{7}", before)
    assert released == "1.4.0"
    assert re.fullmatch(r"1\.5\.0-dev\.0\.g[0-9a-f]{7}\.changed", changed)
    assert re.fullmatch(r"1\.5\.0-dev\.2\.g[0-9a-f]{7}", called(tmp_path))
    shutil.rmtree(tmp_path / ".git")
    assert called(tmp_path) == "1.4.0-unknown"


def test_a_release_is_found_by_its_commit_in_the_changelog_where_its_tag_is_missing() -> None:
    """As in a clone without tags."""
    version, commit = next(iter(RELEASED.items()))
    if not of_git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        pytest.skip("this checkout has no history")
    script = ROOT / "deploy" / "images" / "revision"

    found = subprocess.run([script, f"v{version}"], capture_output=True, text=True, timeout=30)
    missing = subprocess.run([script, "v0.0.9"], capture_output=True, text=True, timeout=30)

    assert found.stdout.strip() == commit
    assert missing.returncode == 1
    assert "there is no revision 'v0.0.9'" in missing.stderr


CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
VERSIONS = re.findall(r"^## (\d\S*) - ", CHANGELOG, re.MULTILINE)
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
    tags = of_git("tag", "--list", "v*").split()
    made_of = {tag: of_git("rev-list", "-n1", tag).strip() for tag in tags}
    released = {f"v{version}": commit for version, commit in RELEASED.items()}

    # The commit of a release cannot name itself: the next one does.
    assert set(VERSIONS[1:]) <= RELEASED.keys() <= set(VERSIONS)
    # A checkout may have no tags.
    assert not tags or released.items() <= made_of.items()
    assert made_of.keys() <= {f"v{version}" for version in VERSIONS}


@pytest.mark.parametrize("version", RELEASED)
def test_the_commit_of_a_version_is_its_release(version: str) -> None:
    commit = RELEASED[version]
    if not of_git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        pytest.skip("this checkout has no history")

    assert f'version = "{version}"' in of_git("show", f"{commit}:services/gateway/pyproject.toml")
    assert f"## {version} - " in of_git("show", f"{commit}:CHANGELOG.md")
    assert f"## {version} - " not in of_git("show", f"{commit}^:CHANGELOG.md")


# --- Compose -----------------------------------------------------------------------------------

COMPOSE = ROOT / "deploy" / "compose"
#: Both files where no variable is set: `${NAME:-default}` is its default.
FILES: dict[str, dict[str, Any]] = {
    name: yaml.safe_load(re.sub(r"\$\{\w+:-(.*?)\}", r"\1", (COMPOSE / f"{name}.yaml").read_text()))
    for name in ("compose", "cluster")
}
CONTAINERS: dict[str, dict[str, Any]] = FILES["compose"]["services"]
#: Containers of our images, by file and name.
OURS = {
    (file, name): container
    for file, content in FILES.items()
    for name, container in content["services"].items()
    if container["image"].startswith("company-registry/")
}
#: The name and the port of each job of Prometheus, for all of its addresses.
SCRAPED = {
    job["job_name"]: (*dns["names"], dns["port"])
    for job in yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["scrape_configs"]
    for dns in job["dns_sd_configs"]
}
PROXY = {
    "HTTPS_PROXY": "http://proxy.example.com:3128",
    "NO_PROXY": "127.0.0.1,localhost",
    "REGISTER_CA_FILE": "/certificates/ca.pem",
}


@pytest.mark.parametrize("key", OURS, ids=str)
def test_a_container_runs_this_version_with_the_settings_of_its_service(
    key: tuple[str, str],
) -> None:
    container = OURS[key]
    image, _, tag = container["image"].removeprefix("company-registry/").partition(":")
    assert (image in TARGETS, tag) == (True, SERVICES["gateway"].version)
    # A program that replaces the service ignores its settings.
    if image in ("receiver", "mcp") or "entrypoint" in container:
        return

    service, values = (
        service_of(container["image"], container.get("command", ())),
        container["environment"],
    )
    serves = "stop_grace_period" in container
    assert service.faults(values, command=not serves) == []
    if serves:
        grace = timedelta(seconds=int(container["stop_grace_period"].removesuffix("s")))
        assert grace > getattr(service.configured(values), "shutdown_grace", timedelta())
        assert service.name != "ingest" or service.faults({**values, **PROXY}) == []


@every_service
def test_every_service_runs_in_the_trial_and_prometheus_watches_it(service: Service) -> None:
    container = CONTAINERS[service.name]

    assert container["image"] == f"company-registry/{service.name}:{service.version}"
    # As its image says.
    assert "healthcheck" not in container
    # Ingest is in the network namespace of the registers.
    host = "registers" if service.name == "ingest" else service.name
    assert SCRAPED[service.name] == (host, service.ports["admin"])


def test_the_trial_gives_browsers_the_addresses_that_it_publishes() -> None:
    [api], [portal] = (CONTAINERS[name]["ports"] for name in ("balancer", "portal"))
    of_gateway, of_portal = (CONTAINERS[name]["environment"] for name in ("gateway", "portal"))

    assert of_gateway["PUBLIC_URL"] == f"http://{api.rpartition(':')[0]}"
    assert of_gateway["PORTAL_URL"] == f"http://{portal.rpartition(':')[0]}"
    assert of_portal["API_REFERENCE_URL"] == f"{of_gateway['PUBLIC_URL']}/docs"
    cluster = FILES["cluster"]["services"]
    [api] = cluster["balancer"]["ports"]
    assert cluster["gateway"]["environment"]["PUBLIC_URL"] == f"http://{api.rpartition(':')[0]}"


def test_ingest_shares_the_registers_loopback_and_the_broker_is_watched() -> None:
    ingest = CONTAINERS["ingest"]
    names = (
        "BRREG_URL",
        "BRREG_ACCOUNTS_URL",
        "CVR_URL",
        "CVR_FILINGS_URL",
        "CVR_DOCUMENTS_URL",
        "PEPPOL_URL",
    )
    addresses = [ingest["environment"][name] for name in names]

    assert ingest["network_mode"] == "service:registers"
    assert all(address.startswith("http://127.0.0.1:8090") for address in addresses)
    assert SCRAPED["rabbitmq"] == ("rabbitmq", 15692)
    # As the alerts select their series.
    jobs = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["scrape_configs"]
    part_of = {"target_label": "part_of", "replacement": "company-registry"}
    assert [each["job_name"] for each in jobs if part_of not in each["relabel_configs"]] == []


def test_the_trial_publishes_public_ports_and_refers_to_what_exists() -> None:
    published = {name: each["ports"] for name, each in CONTAINERS.items() if "ports" in each}
    # Of the gateways' balancer, so that there may be several.
    ports = {
        "balancer": SERVICES["gateway"].ports["http"],
        "portal": SERVICES["portal"].ports["http"],
        "mcp": 8086,
        "prometheus": 9090,
        "alertmanager": 9093,
        "grafana": 3000,
    }
    volumes = [
        volume.partition(":")[0]
        for container in CONTAINERS.values()
        for volume in container.get("volumes", [])
    ]
    awaited = {
        (name, wanted["condition"])
        for container in CONTAINERS.values()
        for name, wanted in container.get("depends_on", {}).items()
    }

    assert published == {name: [f"127.0.0.1:{each}:{each}"] for name, each in ports.items()}
    files = [volume for volume in volumes if volume.startswith(".")]
    assert {*volumes} - {*files} == FILES["compose"]["volumes"].keys()
    assert [file for file in files if not (COMPOSE / file).is_file()] == []
    assert {name for name, _ in awaited} <= CONTAINERS.keys()
    completed = {name for name, condition in awaited if condition != "service_started"}
    assert completed == {name for name in CONTAINERS if name.endswith("-indexes")} | {
        *("certificate", "mongodb-init", "samples")
    }


@pytest.mark.parametrize(
    "answers, status, said",
    [
        ("*stdin*) echo '\"fix_versions\"'; exit 1 ;;", 0, ""),
        ("*none*) ;;", 2, "has no data"),
        ("*stdin*) echo '\"fix_versions\"'; exit 1 ;; *portal*) exit 1 ;;", 2, ""),
    ],
    ids=["no vulnerability", "a source without data", "a vulnerability"],
)
def test_an_audit_that_finds_no_data_fails(
    tmp_path: Path, answers: str, status: int, said: str
) -> None:
    audit = tmp_path / "pip-audit"
    audit.write_text(f'#!/bin/sh\ncase "$*" in {answers} esac\n')
    audit.chmod(0o755)

    done = subprocess.run(
        ["make", "-o", ".tools/installed", "audit", f"AUDIT={audit}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == status
    assert said in done.stderr
