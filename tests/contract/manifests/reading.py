"""The Kubernetes manifests as Python objects: the files of the base, or kubectl's rendering."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
KUBERNETES = ROOT / "deploy" / "k8s"
NAMESPACE = "company-registry"

#: Where the base's images come from: nowhere, until an overlay says it.
UNSET = "set-images.invalid/"

Document = Mapping[str, Any]


def base_files() -> list[Document]:
    """The base without kubectl: its files, and its generated ConfigMaps under their plain names."""
    folder = KUBERNETES / "base"
    [kustomization] = _documents((folder / "kustomization.yaml").read_text())
    documents = [
        document
        for name in kustomization["resources"]
        for document in _documents((folder / name).read_text())
    ]
    return documents + [_config_map(entry) for entry in kustomization["configMapGenerator"]]


def rendered(folder: str) -> list[Document]:
    """The documents that `kubectl apply --kustomize` would send of a folder under deploy/k8s.

    A component is rendered as the base has it added, in the namespace that every overlay names.
    """
    if not folder.startswith("components/"):
        return _kustomized(KUBERNETES / folder)
    with TemporaryDirectory() as name:
        base, component = (
            os.path.relpath(KUBERNETES / part, Path(name).resolve()) for part in ("base", folder)
        )
        kustomization = {
            "namespace": NAMESPACE,
            "resources": [base],
            "components": [component],
        }
        (Path(name) / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return _kustomized(Path(name))


def is_kubernetes_own(document: Document) -> bool:
    """True if it belongs to an API of Kubernetes itself, not to a custom resource."""
    group, slash, _ = document["apiVersion"].partition("/")
    return not slash or "." not in group or (group.endswith(".k8s.io") and "gateway" not in group)


def of_kind(documents: Sequence[Document], *kinds: str) -> list[Document]:
    return [document for document in documents if document["kind"] in kinds]


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that runs pods, and the one container of each."""

    document: Document

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def serves(self) -> bool:
        """True if it runs until it is stopped, unlike a Job."""
        return self.document["kind"] not in ("Job", "CronJob")

    @property
    def args(self) -> Sequence[str]:
        """The command of the image that it runs, if not the service itself."""
        return list(self.container.get("args", []))

    @property
    def indexes_image(self) -> str | None:
        """The image whose `indexes` command runs before the container, without registry and tag."""
        [container] = self.pod.get("initContainers", [{}])
        if container.get("args") != ["indexes"]:
            return None
        image = str(container["image"]).removeprefix(UNSET)
        return image.removeprefix("company-registry/").partition(":")[0]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """All containers, init containers included."""
        return [*self.pod.get("initContainers", []), self.container]

    @property
    def template(self) -> Mapping[str, Any]:
        spec = self.document["spec"]
        return dict(spec.get("jobTemplate", {}).get("spec", spec)["template"])

    @property
    def pod(self) -> Mapping[str, Any]:
        return dict(self.template["spec"])

    @property
    def labels(self) -> Mapping[str, str]:
        return dict(self.template["metadata"]["labels"])

    @property
    def container(self) -> Mapping[str, Any]:
        [container] = self.pod["containers"]
        return dict(container)

    @property
    def image(self) -> str:
        return str(self.container["image"]).removeprefix(UNSET)

    @property
    def ports(self) -> Mapping[str, int]:
        return {port["name"]: port["containerPort"] for port in self.container.get("ports", [])}


def workloads(documents: Sequence[Document]) -> list[Workload]:
    found = of_kind(documents, "Deployment", "StatefulSet", "Job", "CronJob")
    return [Workload(document) for document in found]


def ours(documents: Sequence[Document]) -> list[Workload]:
    """The containers that run an image of this repository."""
    return [each for each in workloads(documents) if each.image.startswith("company-registry/")]


def environment(workload: Workload, documents: Sequence[Document]) -> dict[str, str | None]:
    """A container's variables; None is the value of one that a Secret holds.

    A variable that another one quotes, as `$(NAME)`, is a part of that, and Secrets hold both.
    """
    maps = {
        document["metadata"]["name"]: document["data"]
        for document in of_kind(documents, "ConfigMap")
    }
    values: dict[str, str | None] = {}
    for source in workload.container.get("envFrom", []):
        values |= maps[source["configMapRef"]["name"]]
    for variable in workload.container.get("env", []):
        values[variable["name"]] = variable.get("value")
    for name, value in list(values.items()):
        for part in re.findall(r"\$\((\w+)\)", value or ""):
            values[name] = values.pop(part, None)
    return values


def secrets_of(workload: Workload) -> Iterator[tuple[str, str]]:
    """Name and key of every Secret that a container's variables come from."""
    for variable in workload.container.get("env", []):
        reference = variable.get("valueFrom", {}).get("secretKeyRef")
        if reference is not None:
            yield reference["name"], reference["key"]


def _kustomized(folder: Path) -> list[Document]:
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return _documents(done.stdout)


def _documents(text: str) -> list[Document]:
    documents = yaml.load_all(text, Loader=yaml.CSafeLoader)
    return [document for document in documents if document is not None]


def _config_map(entry: Mapping[str, Any]) -> Document:
    data = dict(literal.split("=", 1) for literal in entry["literals"])
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": entry["name"]},
        "data": data,
    }
