"""kubectl without a cluster: it renders with the real one, and notes what it is told."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

import release
from tests.contract.manifests.reading import rendered

OLD_POD = {
    "metadata": {"name": "lookup-old", "labels": {"app.kubernetes.io/name": "lookup"}},
    "spec": {"containers": [{"image": "registry.example/company-registry/lookup:0.9.0"}]},
    "status": {"phase": "Running"},
}


class Kubectl:
    """A Job prints its command, and fails if that begins with `failing`.

    The first look at pods finds those of the previous release.
    """

    def __init__(self, *, failing: str = "no service", secret: str = "") -> None:
        self.told: list[str] = []
        self.applied: list[Any] = []
        self.secret = secret
        self._failing = failing

    def __call__(self, *words: str, given: Sequence[release.Document] = (), **_: float) -> str:
        """Answers one command line."""
        match words:
            case ["kustomize", overlay]:
                return yaml.safe_dump_all(rendered(str(Path(overlay).relative_to(_KUBERNETES))))
            case [_, _, "apply", *_]:
                self.applied += given
                self.told.append("apply " + " ".join(each["metadata"]["name"] for each in given))
            case [_, _, "create", *_]:
                self.told.append(f"job {_command(*given)}")
                return "job.batch/one\n"
            case [_, _, "get", "pods", *_]:
                pods = [] if "get pods" in self.told else [OLD_POD]
                self.told.append("get pods")
                return json.dumps({"items": pods})
            case [_, _, "get", "secret", name, *_]:
                return json.dumps({"data": {name: self.secret}})
            case [_, _, "get", *_]:
                ended = "Failed" if self._job.startswith(self._failing) else "Complete"
                status = {"conditions": [{"type": ended, "status": "True"}]}
                return json.dumps({"status": status})
            case [_, _, "logs", _]:
                return f"{self._job}\n"
            case _:
                self.told.append(" ".join(words[2:]))
        return ""

    @property
    def _job(self) -> str:
        """The command of the last Job."""
        return [each for each in self.told if each.startswith("job ")][-1].removeprefix("job ")


_KUBERNETES = Path(release.__file__).parents[1] / "k8s"


def _command(job: release.Document) -> str:
    """The service of a Job's image, and the arguments."""
    [container] = job["spec"]["template"]["spec"]["containers"]
    service = str(container["image"]).rpartition("/")[2].partition(":")[0]
    return " ".join([service, *container["args"]])
