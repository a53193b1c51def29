"""kubectl without a cluster: it renders with the real one, and notes what it is told.

Of the cluster it keeps the replicas: applied without a number they stay, KEDA starts a service that
has none unless it is paused, and an autoscaler of Kubernetes does not.
"""

import json
from collections.abc import Sequence
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
        #: Of each service that was applied, under its kind and name.
        self.replicas: dict[str, int] = {}
        self._paused: set[str] = set()
        self.secret = secret
        self._failing = failing

    def __call__(self, *words: str, given: Sequence[release.Document] = (), **_: float) -> str:
        """Answers one command line."""
        match words:
            case ["kustomize", overlay]:
                return yaml.safe_dump_all(rendered(overlay))
            case [_, _, "apply", *_]:
                self.applied += given
                for each in release.services(given):
                    path = f"{each['kind'].lower()}/{each['metadata']['name']}"
                    kept = self.replicas.get(path, 1)
                    self.replicas[path] = each["spec"].get("replicas", kept)
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
            case [_, _, "get", path, *_] if path in self.replicas:
                return json.dumps({"spec": {"replicas": self.replicas[path]}})
            case [_, _, "get", *_]:
                ended = "Failed" if self._job.startswith(self._failing) else "Complete"
                status = {"conditions": [{"type": ended, "status": "True"}]}
                return json.dumps({"status": status})
            case [_, _, "logs", _]:
                return f"{self._job}\n"
            case _:
                self.told.append(" ".join(words[2:]))
                self._scale(words[2:])
        return ""

    def _scale(self, words: Sequence[str]) -> None:
        match words:
            case ["annotate", "--overwrite", path, "autoscaling.keda.sh/paused-replicas=0"]:
                self._paused.add(path)
            case ["annotate", path, "autoscaling.keda.sh/paused-replicas-"]:
                self._paused.remove(path)
            case ["scale", number, path]:
                self.replicas[path] = int(number.removeprefix("--replicas="))
            case _:
                return
        for scaled in (each for each in self.applied if each["kind"] == "ScaledObject"):
            name = scaled["metadata"]["name"]
            path = f"deployment/{scaled['spec']['scaleTargetRef']['name']}"
            if self.replicas[path] == 0 and f"scaledobject/{name}" not in self._paused:
                self.replicas[path] = scaled["spec"]["minReplicaCount"]

    @property
    def _job(self) -> str:
        """The command of the last Job."""
        return [each for each in self.told if each.startswith("job ")][-1].removeprefix("job ")


def _command(job: release.Document) -> str:
    """The service of a Job's image, and the arguments."""
    [container] = job["spec"]["template"]["spec"]["containers"]
    service = str(container["image"]).rpartition("/")[2].partition(":")[0]
    return " ".join([service, *container["args"]])
