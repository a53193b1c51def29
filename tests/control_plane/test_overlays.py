"""`deploy/k8s/run` on a control plane: the life of a release, for each overlay, in any namespace.

The API server and the controllers are real, of Kubernetes 1.20; pods are played by a kubelet.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import Document, services
from tests.contract.manifests.reading import KUBERNETES, secrets_of, workloads
from tests.control_plane import newer
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.plane import ControlPlane

RUN = str(KUBERNETES / "run")
ORDER = ["dispatcher", "lookup", "ingest", "webhook-registry", "gateway", "portal"]
INDEXES = [f"job {each} indexes" for each in ("gateway", "ingest", "webhook-registry")]
DROPS = [f"job {each} indexes --drop-replaced" for each in ("ingest", "webhook-registry")]
IMAGES = (*ORDER, "ingest-samples")
SINCE = "2026-11-20T00:00:00Z"
OVERLAYS = sorted(each.name for each in (KUBERNETES / "overlays").iterdir())


def overlay(folder: Path, base: str, namespace: str, tag: str) -> Path:
    """Writes what a team has of its own: the namespace, and the images' registry and tag."""
    names = ("set-images.invalid/company-registry", "company-registry")
    own = {
        "namespace": namespace,
        "resources": [os.path.relpath(KUBERNETES / "overlays" / base, folder.resolve() / tag)],
        "patches": newer.OLDER,
        "images": [
            {"name": f"{name}/{image}", "newName": f"registry.example/{image}", "newTag": tag}
            for image in IMAGES
            for name in names
        ],
    }
    (folder / tag).mkdir()
    (folder / tag / "kustomization.yaml").write_text(yaml.safe_dump(own))
    return folder / tag


def documents_of(plane: ControlPlane, folder: Path) -> list[Document]:
    return list(yaml.safe_load_all(plane.run("kubectl", "kustomize", str(folder))))


def prepare(plane: ControlPlane, namespace: str, documents: list[Document]) -> None:
    """Makes what a cluster must have: kinds of others, and the Secrets."""
    newer.define_kinds(plane, documents)
    present = {each["metadata"]["name"] for each in documents if each["kind"] == "Secret"}
    needed = {one for each in workloads(documents) for one in secrets_of(each)}
    plane.run("kubectl", "create", "namespace", namespace)
    for name in sorted({name for name, _ in needed} - present):
        keys = [f"--from-literal={key}=secret" for other, key in needed if other == name]
        plane.run("kubectl", "--namespace", namespace, "create", "secret", "generic", name, *keys)


def wanted(documents: list[Document]) -> dict[str, int]:
    """How many pods each service has, by its manifest or its autoscaler."""
    scalers = {
        each["metadata"]["name"]: each["spec"]["minReplicas"]
        for each in documents
        if each["kind"] == "HorizontalPodAutoscaler"
    }
    replicas = {each["metadata"]["name"]: each["spec"] for each in services(documents)}
    return {name: scalers.get(name, replicas[name].get("replicas", 1)) for name in sorted(ORDER)}


def first_starts(history: list[str], tag: str) -> list[str]:
    """The services in the order of their first pods with this tag."""
    started = [
        each.split()[1] for each in history if each.startswith("start") and each.endswith(tag)
    ]
    return [name for name in dict.fromkeys(started) if name in ORDER]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("base", OVERLAYS)
def test_life(
    base: str, plane: ControlPlane, kubelet: Kubelet, namespace: str, tmp_path: Path
) -> None:
    """An overlay is installed, released, stopped, resumed, rolled back and uninstalled."""
    one, two = (overlay(tmp_path, base, namespace, tag) for tag in ("one", "two"))
    documents = documents_of(plane, one)
    prepare(plane, namespace, documents)

    def run(*words: str) -> list[str]:
        """The events in the namespace while the program ran."""
        before = len(kubelet.history)
        plane.run(RUN, words[0], "--look-every=0.2", "--timeout=150", *words[1:])
        return kubelet.noted(before, namespace, "start", "end", "job")

    def has_its_pods() -> bool:
        running = kubelet.services(namespace)
        return {name: running.get(name, 0) for name in ORDER} == wanted(documents)

    installed = run("release", str(one))
    plane.until(has_its_pods)
    assert [each for each in installed if "indexes" in each] == [*INDEXES, *DROPS]
    assert first_starts(installed, "one") == ORDER

    released = run("release", str(two))
    plane.until(has_its_pods)
    ends = [index for index, each in enumerate(released) if each.startswith("end")]
    assert first_starts(released, "two") == ORDER
    assert released.index(DROPS[0]) > max(ends)

    run("stop", str(two))
    assert not kubelet.services(namespace).keys() & set(ORDER)

    (tmp_path / "removed.txt").write_text("no 310345806\n")
    resumed = run("resume", str(two), f"--removed={tmp_path}/removed.txt", f"--since={SINCE}")
    plane.until(has_its_pods)
    jobs = [each for each in resumed if each.startswith("job") and "samples" not in each]
    assert jobs[:2] == ["job ingest remove no 310345806", "job ingest restored"]
    assert jobs[2:5] == INDEXES
    assert jobs[-1] == f"job ingest republish --since {SINCE}"
    assert first_starts(resumed, "two") == ORDER

    back = run("release", "--back", str(one))
    plane.until(has_its_pods)
    assert first_starts(back, "one") == ORDER[::-1]
    assert DROPS[0] not in back

    plane.run("kubectl", "delete", "--kustomize", str(one), "--timeout=120s")
    left: Any = plane.call("GET", f"/api/v1/namespaces/{namespace}")[0]
    assert left == 404
