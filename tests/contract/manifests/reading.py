"""The Kubernetes manifests as Python objects: the files of the base, or kubectl's rendering."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
KUBERNETES = ROOT / "deploy" / "k8s"
COMPONENTS = KUBERNETES / "components"
NAMESPACE = "company-registry"
#: Where the base's images come from: nowhere, until an overlay says it.
UNSET = "set-images.invalid/"

Document = Mapping[str, Any]


def base_files() -> list[Document]:
    """The base without kubectl: its files, and its generated ConfigMaps under their plain names."""
    folder = KUBERNETES / "base"
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": entry["name"]},
            "data": dict(literal.split("=", 1) for literal in entry["literals"]),
        }
        for entry in kustomization["configMapGenerator"]
    ]
    files = [(folder / name).read_text() for name in kustomization["resources"]]
    return [each for text in files for each in yaml.safe_load_all(text)] + maps


@cache
def rendered(folder: str) -> list[Document]:
    """The documents that `kubectl apply --kustomize` would send of a folder, as under deploy/k8s.

    A component is rendered as the base has it added, in the namespace that every overlay names.
    """
    if not folder.startswith("components/"):
        return _kustomized(KUBERNETES / folder)
    with TemporaryDirectory() as name:
        return in_namespace(Path(name), NAMESPACE, [folder.removeprefix("components/")])


def in_namespace(folder: Path, namespace: str, components: Sequence[str]) -> list[Document]:
    """The documents of an overlay of base and components, which is written to the folder."""
    within = os.path.relpath(KUBERNETES, folder.resolve())
    made = {
        "namespace": namespace,
        "resources": [f"{within}/base"],
        "components": [f"{within}/components/{each}" for each in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(made))
    return _kustomized(folder)


def _kustomized(folder: Path) -> list[Document]:
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


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
    """The containers that run a service of this repository; the MCP server is a client of one."""
    return [
        each
        for each in workloads(documents)
        if each.image.startswith("company-registry/") and each.name != "mcp"
    ]


def environment(workload: Workload, documents: Sequence[Document]) -> dict[str, str | None]:
    """A container's variables; None is the value of one that a Secret holds.

    A variable that another one quotes, as `$(NAME)`, is a part of that, and Secrets hold both.
    """
    maps = {each["metadata"]["name"]: each["data"] for each in of_kind(documents, "ConfigMap")}
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
