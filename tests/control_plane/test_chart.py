"""A stranger's afternoon with the chart on a control plane, in a second namespace.

The API server and the controllers are real, of Kubernetes 1.20; pods are played by a kubelet.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.manifests.reading import ROOT
from tests.control_plane import newer
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.plane import ControlPlane
from tests.control_plane.test_overlays import (
    DROPS,
    ORDER,
    RUN,
    SINCE,
    first_starts,
    prepare,
)

CHART = ROOT / "deploy" / "helm" / "company-registry"
VALUES = CHART.parent / "values"
FOUR = "registry.example/company-registry/gateway:four"


@pytest.fixture
def chart(tmp_path: Path) -> str:
    """The chart without its condition on Kubernetes, which 1.20 does not meet."""
    shutil.copytree(CHART, tmp_path / "chart")
    file = tmp_path / "chart" / "Chart.yaml"
    kept = [each for each in file.read_text().splitlines() if not each.startswith("kubeVersion")]
    file.write_text("\n".join(kept))
    return str(tmp_path / "chart")


def ready(kubelet: Kubelet, namespace: str, **expected: int) -> bool:
    running = kubelet.services(namespace)
    wanted = {name: 2 for name in ORDER} | expected
    return {name: running.get(name, 0) for name in ORDER} == wanted


def tags(kubelet: Kubelet, namespace: str) -> set[str]:
    pods = [each for each in kubelet.pods(namespace) if "deletionTimestamp" not in each["metadata"]]
    images = [each["spec"]["containers"][0]["image"] for each in pods if _serves(each)]
    return {image.rpartition(":")[2] for image in images}


def _container(pod: Any) -> Any:
    return pod["spec"]["containers"][0].items()


def _serves(pod: Any) -> bool:
    return pod["metadata"]["labels"].get("app.kubernetes.io/name") in ORDER


def test_another_kubernetes_is_refused(plane: ControlPlane) -> None:
    words = ("install", "x", str(CHART), "--set=image.registry=registry.example")

    said = plane.run("helm", *words, fails=True)

    assert (
        "chart requires kubeVersion: >=1.31.0-0 which is incompatible with Kubernetes v1.20.2"
        in said
    )


@pytest.mark.timeout(900)
def test_afternoon(
    plane: ControlPlane, kubelet: Kubelet, namespace: str, chart: str, tmp_path: Path
) -> None:
    """Install, test, upgrade, a release that fails, a stop, a restore, a rollback, uninstall."""
    where = f"--namespace={namespace}"
    values = tmp_path / "values.yaml"

    def choose(tag: str) -> None:
        image = {"registry": "registry.example", "tag": tag}
        services = {"gateway": {"settings": {"LOG_LEVEL": "DEBUG"}}}
        own = {"image": image, "services": services, "patches": newer.OLDER}
        values.write_text(yaml.safe_dump(own))

    choose("one")
    text = plane.run("helm", "template", "registry", chart, where, f"--values={values}")
    prepare(plane, namespace, list(yaml.safe_load_all(text)))

    def helm(*words: str, fails: bool = False) -> str:
        return plane.run("helm", *words, where, fails=fails)

    def run(*words: str, given: Path = values, fails: bool = False) -> list[str]:
        """The events in the namespace while the program ran."""
        before = len(kubelet.history)
        own = (f"--values={given}", where, "--name=registry", "--look-every=0.2", "--timeout=60")
        plane.run(RUN, words[0], *own, *words[1:], fails=fails)
        return kubelet.noted(before, namespace, "start", "end", "job")

    notes = helm("install", "registry", chart, f"--values={values}", "--wait", "--timeout=150s")
    assert "gateway-credentials" in notes
    assert ready(kubelet, namespace)
    assert "Phase:          Succeeded" in helm("test", "registry", "--timeout=60s")

    # Another version by Helm alone, then one by the program, in the order of a release.
    helm("upgrade", "registry", chart, f"--values={values}", "--set=image.tag=two", "--wait")
    plane.until(lambda: tags(kubelet, namespace) == {"two"})
    choose("three")
    released = run("release", chart)
    assert first_starts(released, "three") == ORDER
    # The release that Helm records replaces no pod once more.
    assert len([each for each in released if each.startswith("start")]) == 2 * len(ORDER)
    assert released[-2:] == DROPS
    settings = json.loads(plane.run("kubectl", "get", "cm/gateway-settings", where, "-o=json"))
    assert settings["data"]["LOG_LEVEL"] == "DEBUG"
    assert tags(kubelet, namespace) == {"three"}

    # A release whose gateway does not start ends there, and the one before serves.
    kubelet.is_broken = lambda pod: {"name": "gateway", "image": FOUR}.items() <= _container(pod)
    choose("four")
    ended = run("release", chart, fails=True)
    kubelet.is_broken = lambda _: False
    assert first_starts(ended, "four") == ORDER[:4]
    assert kubelet.services(namespace)["portal"] == kubelet.services(namespace)["gateway"] == 2
    choose("three")

    run("stop", chart)
    assert not tags(kubelet, namespace)
    archive = "2026-11-20T001700Z.archive.gz"
    restored = run("restore", chart, archive, given=VALUES / "operators.yaml")[-1]
    assert restored.startswith("job mongodump")
    assert restored.endswith(archive)

    (tmp_path / "removed.txt").write_text("no 310345806\n")
    resumed = run("resume", f"--removed={tmp_path}/removed.txt", f"--since={SINCE}", chart)
    assert first_starts(resumed, "three") == ORDER
    assert resumed[-1] == f"job ingest republish --since {SINCE}"
    plane.until(lambda: ready(kubelet, namespace))

    history = json.loads(helm("history", "registry", "--output=json"))
    assert [each["status"] for each in history] == ["superseded"] * 3 + ["deployed"]
    helm("rollback", "registry", "2", "--wait", "--timeout=150s")
    plane.until(lambda: tags(kubelet, namespace) == {"two"})
    assert ready(kubelet, namespace)

    helm("uninstall", "registry", "--wait", "--timeout=150s")
    plane.until(lambda: not kubelet.services(namespace))
    left = plane.run("kubectl", "get", "deploy,sts,svc,netpol,cm,pdb", where, "--output=name")
    assert [each for each in left.split() if "kube-root-ca" not in each] == []
