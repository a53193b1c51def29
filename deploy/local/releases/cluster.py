"""A cluster, through kubectl and its current context."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import yaml

from releases.manifests import Document, Refused, images, outdated, secrets, with_digest

#: Seconds for one answer of the cluster.
_ANSWER = 60.0
_PODS = "app.kubernetes.io/part-of=company-registry"


class Failed(Exception):
    """The cluster refused a request, or a state was not reached in time."""


def rendered(overlay: str) -> list[Document]:
    """Returns the manifests of an overlay."""
    documents = list(yaml.load_all(_kubectl("kustomize", overlay), Loader=yaml.CSafeLoader))
    if not any(each["kind"] == "StatefulSet" for each in documents):
        raise Refused(f"{overlay} does not include the base")
    return documents


@dataclass(frozen=True)
class Cluster:
    """One namespace, checked every `look_every` seconds; a wait ends after `timeout` seconds."""

    namespace: str
    timeout: float
    look_every: float = 2.0

    def apply(self, documents: Sequence[Document]) -> None:
        self._kubectl("apply", "--filename", "-", given=documents)

    def roll_out(self, document: Document) -> None:
        """Applies a service, and waits until all of its pods are new and ready.

        Pods are also new if the value of a Secret is.
        """
        values = [self._secret(name) for name in secrets(document)]
        self.apply([with_digest(document, json.dumps(values, sort_keys=True))])
        limit = f"--timeout={self.timeout:.0f}s"
        self._kubectl("rollout", "status", _path(document), limit, timeout=self.timeout + _ANSWER)

    def run(self, job: Document) -> str:
        """Runs a Job to its end; returns what it printed."""
        name = self._kubectl("create", "--output=name", "--filename=-", given=[job]).strip()
        conditions: set[str] = set()

        def has_ended() -> bool:
            status = json.loads(self._kubectl("get", name, "--output=json")).get("status", {})
            found = [each for each in status.get("conditions", []) if each["status"] == "True"]
            conditions.update(each["type"] for each in found)
            return bool(conditions & {"Complete", "Failed"})

        self._until(has_ended, f"{name} has not ended")
        printed = self._kubectl("logs", name)
        if "Failed" in conditions:
            raise Failed(f"{name} failed: {printed.strip()[-1000:]}")
        return printed

    def stop(self, services: Sequence[Document]) -> None:
        """Ends all pods of the services."""
        for document in services:
            self._kubectl("scale", "--replicas=0", _path(document))
        self._until(lambda: not self._running(services), "pods still run")

    def until_only(self, services: Sequence[Document]) -> None:
        """Waits until no pod of a service runs another image, ending ones included."""
        wanted = images(services)
        self._until(
            lambda: not outdated(self._running(services), wanted),
            "pods of another release still run",
        )

    def delete_search_indexes(self) -> None:
        self._kubectl(
            "delete", "persistentvolumeclaims", "--selector=app.kubernetes.io/name=lookup"
        )

    def _secret(self, name: str) -> dict[str, str]:
        found = self._kubectl("get", "secret", name, "--output=json")
        return dict(json.loads(found)["data"])

    def _running(self, services: Sequence[Document]) -> list[Document]:
        """Returns the pods of the services, ending ones included."""
        names = {document["metadata"]["name"] for document in services}
        found = json.loads(self._kubectl("get", "pods", f"--selector={_PODS}", "--output=json"))
        label = "app.kubernetes.io/name"
        return [pod for pod in found["items"] if pod["metadata"]["labels"].get(label) in names]

    def _until(self, holds: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + self.timeout
        while not holds():
            if time.monotonic() > deadline:
                raise Failed(f"{otherwise} after {self.timeout:.0f} s")
            time.sleep(self.look_every)

    def _kubectl(
        self, *words: str, given: Sequence[Document] = (), timeout: float = _ANSWER
    ) -> str:
        return _kubectl("--namespace", self.namespace, *words, given=given, timeout=timeout)


def _path(document: Document) -> str:
    return f"{document['kind'].lower()}/{document['metadata']['name']}"


def _kubectl(*words: str, given: Sequence[Document] = (), timeout: float = _ANSWER) -> str:
    print("kubectl", *words, file=sys.stderr, flush=True)
    done = subprocess.run(
        ["kubectl", *words],
        input=yaml.safe_dump_all(given) if given else None,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return done.stdout
