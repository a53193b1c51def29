"""The manifests of an overlay: the order of a release, and the Job of a command."""

import copy
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

Document = Mapping[str, Any]

#: The order of a release, which Argo CD reads, too.
WAVE: Final = "argocd.argoproj.io/sync-wave"
_SERVED: Final = ("Deployment", "StatefulSet")
#: The digest of the Secrets that a pod started with.
_SECRETS: Final = "company-registry/secrets-sha256"
#: The host of the base's image names, which no resolver knows.
UNSET: Final = "set-images.invalid/"
#: Tries of a Job that may start before its database, as in a first release.
_TRIES_OF_INDEXES: Final = 10
_KEPT_SECONDS: Final = 24 * 60 * 60
#: The fields that a Job's pod takes over from the pods of its service.
_OF_THE_POD: Final = (
    "serviceAccountName",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "securityContext",
    "imagePullSecrets",
)


class Refused(Exception):
    """The manifests cannot be released, or have no such command."""


def services(documents: Sequence[Document]) -> list[Document]:
    """Returns the services of this project, in the order of a release."""
    ordered = [
        each
        for each in documents
        if each["kind"] in _SERVED and WAVE in each["metadata"].get("annotations", {})
    ]
    return sorted(ordered, key=lambda each: int(each["metadata"]["annotations"][WAVE]))


def others(documents: Sequence[Document]) -> list[Document]:
    """Returns all other manifests, in their order."""
    ordered = services(documents)
    return [each for each in documents if each not in ordered]


def images(documents: Sequence[Document]) -> set[str]:
    """Returns every image that a service runs."""
    return {
        container["image"]
        for document in services(documents)
        for container in _containers(document)
    }


def check_images(documents: Sequence[Document]) -> None:
    """Raises Refused if the overlay does not name the registry of an image."""
    made = [each["spec"]["jobTemplate"] for each in documents if each["kind"] == "CronJob"]
    named = images(documents) | {each["image"] for one in made for each in _containers(one)}
    unset = sorted(image for image in named if image.startswith(UNSET))
    if unset:
        raise Refused(f"images of the overlay must name a registry for {', '.join(unset)}")


def job(documents: Sequence[Document], service: str, arguments: Sequence[str]) -> Document:
    """Returns the Job of a command, with the settings and database of the service's `indexes`."""
    found = [each for each in services(documents) if each["metadata"]["name"] == service]
    if not found or "initContainers" not in found[0]["spec"]["template"]["spec"]:
        raise Refused(f"{service} has no database, and so no commands")
    [document] = found
    pod = document["spec"]["template"]["spec"]
    container = copy.deepcopy(pod["initContainers"][0])
    container |= {"name": arguments[0], "args": list(arguments)}
    mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
    # Not the service's name, under which its Service would find the pod.
    labels = {
        "app.kubernetes.io/name": f"{service}-command",
        "app.kubernetes.io/part-of": "company-registry",
    }
    name = re.sub(r"[^a-z0-9]+", "-", f"{service}-{'-'.join(arguments[:2])}".lower()).strip("-")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": f"{name[:50]}-",
            "namespace": document["metadata"]["namespace"],
            "labels": labels,
        },
        "spec": {
            "backoffLimit": _TRIES_OF_INDEXES if arguments[0] == "indexes" else 0,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    **{key: pod[key] for key in _OF_THE_POD if key in pod},
                    "restartPolicy": "Never",
                    "containers": [container],
                    "volumes": [each for each in pod.get("volumes", []) if each["name"] in mounted],
                },
            },
        },
    }


def secrets(document: Document) -> list[str]:
    """Returns the names of the Secrets that a service's variables come from."""
    variables = [each for one in _containers(document) for each in one.get("env", [])]
    found = [each.get("valueFrom", {}).get("secretKeyRef", {}).get("name") for each in variables]
    return sorted({name for name in found if name})


def with_digest(document: Document, values: str) -> Document:
    """Returns the service with a digest of its Secrets' values: another value replaces its pods."""
    marked: Any = copy.deepcopy(document)
    template = marked["spec"]["template"]["metadata"]
    digest = hashlib.sha256(values.encode()).hexdigest()
    template["annotations"] = {**template.get("annotations", {}), _SECRETS: digest}
    return dict(marked)


def outdated(pods: Sequence[Document], released: set[str]) -> list[str]:
    """Returns the names of the pods that run another image, ending ones included."""
    return [
        pod["metadata"]["name"]
        for pod in pods
        if pod["status"].get("phase") not in ("Succeeded", "Failed")
        and not {each["image"] for each in pod["spec"]["containers"]} <= released
    ]


def _containers(document: Document) -> list[Document]:
    pod = document["spec"]["template"]["spec"]
    return [*pod.get("initContainers", []), *pod["containers"]]
