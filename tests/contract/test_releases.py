"""`deploy/k8s/run` does what the guides say, in the one order of them, Argo CD and the chaos.

kubectl renders as always; no cluster is there, so a program in its place notes what it is told.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from bench.resilience.faults import UPGRADED
from releases.cluster import Cluster
from releases.manifests import UNSET, Refused, check_images, images, job, outdated, services
from tests.contract.manifests import rules
from tests.contract.manifests.reading import KUBERNETES, ROOT, Workload, base_files
from tests.contract.test_manifests import KUBERNETES_VERSIONS, read
from tests.fakes import kubectl

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl renders overlays")

ORDER = ["dispatcher", "lookup", "lookup-sync", "webhook-registry", "gateway", "portal"]
LOCAL = KUBERNETES / "overlays" / "local"


def test_the_order_of_a_release_is_one() -> None:
    operations = (ROOT / "docs" / "operations.md").read_text()
    guide = (KUBERNETES / "README.md").read_text()
    sentence = f"**{', '.join(ORDER)}**"

    assert [each["metadata"]["name"] for each in services(base_files())] == ORDER
    assert list(UPGRADED) == [name for name in ORDER if name in UPGRADED]
    assert sentence in operations
    assert sentence in guide


def typed(folder: Path, *words: str) -> tuple[int, str, list[str]]:
    """Status, error and what kubectl was told."""
    done = subprocess.run(
        [KUBERNETES / "run", words[0], "--look-every=0", *words[1:]],
        env=kubectl.install(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    log = folder / "log"
    return done.returncode, done.stderr, log.read_text().splitlines() if log.exists() else []


def test_a_release_makes_indexes_first_and_drops_them_last(tmp_path: Path) -> None:
    status, error, told = typed(tmp_path, "release", str(LOCAL))

    assert status == 0, error
    assert "company-registry" in told[0].split()
    assert told[1:4] == [
        f"job {name} indexes" for name in ("gateway", "lookup", "webhook-registry")
    ]
    assert [line for line in told[4:16] if line.startswith("apply")] == [
        f"apply {n}" for n in ORDER
    ]
    assert [line.split("/")[1].split()[0] for line in told[5:16:2]] == ORDER
    # The first look finds a pod of the previous release, which may read by such an index.
    assert told[16:] == [
        "get pods",
        "get pods",
        "job lookup indexes --drop-replaced",
        "job webhook-registry indexes --drop-replaced",
    ]


def test_the_way_back_is_reversed_and_drops_nothing(tmp_path: Path) -> None:
    status, error, told = typed(tmp_path, "release", "--back", str(LOCAL))

    assert status == 0, error
    assert [line for line in told[4:] if line.startswith("apply")] == [
        f"apply {name}" for name in reversed(ORDER)
    ]
    assert not any("--drop-replaced" in line for line in told)


def test_another_value_of_a_secret_replaces_the_pods_that_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, setting in kubectl.install(tmp_path).items():
        monkeypatch.setenv(name, setting)
    service = services(read("overlays/local"))[-1]

    def portal(number: int, value: str) -> Any:
        monkeypatch.setenv("SECRET", value)
        monkeypatch.setenv("KUBECTL_LOG", str(tmp_path / f"log{number}"))
        Cluster("company-registry", timeout=60).roll_out(service)
        [applied] = yaml.safe_load_all((tmp_path / f"log{number}.applied").read_text())
        return applied

    first, same, other = (portal(n, value) for n, value in enumerate(("a", "a", "b")))

    assert first == same
    assert first["spec"]["template"]["spec"] == other["spec"]["template"]["spec"]
    assert first["spec"]["template"]["metadata"] != other["spec"]["template"]["metadata"]


def test_a_release_without_a_registry_is_refused_before_anything_is_applied(tmp_path: Path) -> None:
    status, error, told = typed(tmp_path, "release", str(KUBERNETES / "overlays" / "production"))

    assert status == 1
    assert f"images of the overlay must name a registry for {UNSET}company-registry/disp" in error
    assert told == []


def test_no_image_of_the_base_comes_from_a_public_registry() -> None:
    named = images(read("overlays/production"))

    assert named
    # RFC 2606: no resolver knows such a host.
    assert all(re.match(r"[a-z-]+\.invalid/company-registry/", image) for image in named)
    with pytest.raises(Refused):
        check_images(read("overlays/production"))
    check_images(read("overlays/local"))


def test_a_trial_pulls_no_image_of_ours() -> None:
    for workload in [*map(Workload, services(read("overlays/local")))]:
        assert {each["imagePullPolicy"] for each in workload.containers} == {"Never"}


COMMANDS: list[tuple[str, Sequence[str]]] = [
    ("lookup", ["remove", "no", "310345806"]),
    ("lookup", ["removed"]),
    ("lookup", ["restored"]),
    ("lookup", ["republish", "--since", "2026-11-20T00:00:00Z"]),
    ("lookup", ["indexes"]),
    ("webhook-registry", ["indexes", "--drop-replaced"]),
    ("gateway", ["indexes"]),
]


@pytest.mark.parametrize(
    "source", ["overlays/local", "overlays/production", "components/operators"]
)
@pytest.mark.parametrize("service,arguments", COMMANDS, ids=lambda each: str(each)[:30])
def test_the_job_of_a_command_keeps_every_rule(
    source: str, service: str, arguments: Sequence[str]
) -> None:
    documents = read(source)
    made: Any = dict(job(documents, service, arguments))
    made["metadata"] = {**made["metadata"], "name": "made"}

    for rule in rules.RULES:
        assert rule([*documents, made]) == [], rule.__name__
    pod = made["spec"]["template"]["spec"]
    mounts = {each["name"] for each in pod["containers"][0].get("volumeMounts", [])}
    assert {each["name"] for each in pod["volumes"]} == mounts
    # The certificate authority comes along where the database's URL names it.
    assert ("server-ca" in mounts) == (source == "components/operators")
    assert made["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] not in ORDER


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_a_job_is_valid_by_kubernetes_own_schema(version: str) -> None:
    made: Any = dict(job(read("components/operators"), *COMMANDS[0]))
    # The schemas ask for a name, which the cluster makes from this.
    made["metadata"] = {**made["metadata"], "name": made["metadata"].pop("generateName")}

    kubernetes_validate.validate(made, version, strict=True)


def test_a_service_without_a_database_has_no_job() -> None:
    with pytest.raises(Refused, match="portal has no database"):
        job(read("overlays/local"), "portal", ["indexes"])


@pytest.mark.parametrize(
    "phase,image,expected",
    [("Running", "b", ["x"]), ("Running", "a", []), ("Succeeded", "b", [])],
)
def test_a_pod_that_ended_is_not_waited_for(phase: str, image: str, expected: list[str]) -> None:
    pod = {
        "metadata": {"name": "x", "deletionTimestamp": "2026-11-20T00:00:00Z"},
        "spec": {"containers": [{"image": image}]},
        "status": {"phase": phase},
    }

    assert outdated([pod], {"a"}) == expected


def test_a_restore_is_stopped_and_resumed_as_the_guide_says(tmp_path: Path) -> None:
    removed = tmp_path / "removed.txt"
    removed.write_text("no 310345806\ndk 12345674\n")

    status, error, told = typed(
        tmp_path, "resume", "--removed", str(removed), "--since", "2026-11-20T00:00:00Z", str(LOCAL)
    )

    assert status == 0, error
    assert told[:4] == [
        "job lookup remove no 310345806",
        "job lookup remove dk 12345674",
        "job lookup restored",
        "delete persistentvolumeclaims --selector=app.kubernetes.io/name=lookup",
    ]
    assert told[-1] == "job lookup republish --since 2026-11-20T00:00:00Z"


def test_everything_is_stopped_before_a_restore(tmp_path: Path) -> None:
    status, error, told = typed(tmp_path, "stop", str(LOCAL))

    assert status == 0, error
    assert sorted(told[:6]) == sorted(
        f"scale --replicas=0 {'statefulset' if name == 'lookup' else 'deployment'}/{name}"
        for name in ORDER
    )
    assert told[6:] == ["get pods", "get pods"]
