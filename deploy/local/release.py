"""`deploy/k8s/run <command> <overlay>`: releases, commands and restores, each step in its order.

It calls kubectl with its current context, and prints each call (ADR 0058).
"""

import argparse
import copy
import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import yaml

Document = Mapping[str, Any]

ROOT: Final = Path(__file__).parents[2]
#: The order of a release, which Argo CD reads, too.
WAVE: Final = "argocd.argoproj.io/sync-wave"
#: The host of the base's image names, which no resolver knows.
UNSET: Final = "set-images.invalid/"
#: The services with collections, and those of which a release may replace an index.
_INDEXED = ("gateway", "ingest", "webhook-registry")
_REPLACING = ("ingest", "webhook-registry")
_NAME: Final = "app.kubernetes.io/name"
_DIGEST: Final = "company-registry/secrets-sha256"
#: KEDA's own, which also starts a service without replicas unless this says 0.
_PAUSED: Final = "autoscaling.keda.sh/paused-replicas"
#: Fields that a Job's pod does not take over from the pods of its service.
_OF_SERVICES = ("initContainers", "topologySpreadConstraints", "priorityClassName")
#: The CronJob of components/operators, and the script that restores one of its dumps. Users are
#: merged with those that the operator has made; `--oplogReplay` allows no exceptions.
_BACKUP: Final = "mongodb-backup"
RESTORE: Final = r"""before=${MONGO_URL%%/admin\?*} options=${MONGO_URL#*/admin\?}
printf 'uri: "%s"\n' "$before/?authSource=admin&$options" > /tmp/config.yaml
exec mongorestore --config=/tmp/config.yaml --oplogReplay --gzip --archive="/backups/$1"
"""
#: Seconds for one answer of the cluster, and for a step: an index may take hours.
_ANSWER, _TIMEOUT = 60.0, 24 * 3600.0


class Refused(Exception):
    """The cluster refused a request, a state was not reached, or an overlay cannot be released."""


def services(documents: Sequence[Document]) -> list[Document]:
    """Returns the services of this project, in the order of a release; `mcp` if it is deployed."""
    waves = [(each["metadata"].get("annotations", {}).get(WAVE), each) for each in documents]
    ordered = [(int(wave), each) for wave, each in waves if wave is not None]
    return [each for _, each in sorted(ordered, key=lambda one: one[0])]


def link_runbooks(documents: Sequence[Document], address: str) -> list[Document]:
    """Returns the documents with absolute `runbook_url`s, below the address of docs/."""
    linked: Any = copy.deepcopy(list(documents))
    for document in (each for each in linked if each["kind"] == "PrometheusRule"):
        for rule in (rule for group in document["spec"]["groups"] for rule in group["rules"]):
            if notes := rule.get("annotations"):
                notes["runbook_url"] = urljoin(f"{address}/", notes["runbook_url"])
    return list(linked)


def published_guides() -> str | None:
    """Returns the address of docs/ of this commit at the repository's remote, if it has one."""
    source = _printed(ROOT / "deploy" / "images" / "source")
    return f"{source}/blob/{_printed('git', 'rev-parse', 'HEAD')}/docs" if source else None


def _printed(*command: str | Path) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=_ANSWER, check=True
    )
    return done.stdout.strip()


def images(documents: Sequence[Document]) -> set[str]:
    """Returns every image that a service runs."""
    return {each["image"] for one in services(documents) for each in _containers(one)}


def check_images(documents: Sequence[Document]) -> None:
    """Raises Refused if the overlay does not name the registry of an image."""
    made = [each["spec"]["jobTemplate"] for each in documents if each["kind"] == "CronJob"]
    named = images(documents) | {each["image"] for one in made for each in _containers(one)}
    if unset := sorted(image for image in named if image.startswith(UNSET)):
        raise Refused(f"images of the overlay must name a registry for {', '.join(unset)}")


def scaler(documents: Sequence[Document], service: Document) -> Document | None:
    """Returns the autoscaler that owns the replicas of a service."""
    for each in documents:
        if each["kind"] in ("HorizontalPodAutoscaler", "ScaledObject"):
            target = each["spec"]["scaleTargetRef"]
            if _path(service) == f"{target.get('kind', 'Deployment').lower()}/{target['name']}":
                return each
    return None


def job(documents: Sequence[Document], service: str, arguments: Sequence[str]) -> Document:
    """Returns the Job of a command, with the settings and database of the service's `indexes`."""
    found = [each for each in services(documents) if each["metadata"]["name"] == service]
    if not found or "initContainers" not in found[0]["spec"]["template"]["spec"]:
        raise Refused(f"{service} has no database, and so no commands")
    [document] = found
    pod = document["spec"]["template"]["spec"]
    container = {**pod["initContainers"][0], "name": arguments[0], "args": list(arguments)}
    mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
    volumes = [each for each in pod.get("volumes", []) if each["name"] in mounted]
    # Not the service's name, under which its Service would find the pod.
    labels = {_NAME: f"{service}-command", "app.kubernetes.io/part-of": "company-registry"}
    name = re.sub(r"[^a-z0-9]+", "-", f"{service}-{'-'.join(arguments[:2])}".lower()).strip("-")
    kept = {key: value for key, value in pod.items() if key not in _OF_SERVICES}
    run = {**kept, "restartPolicy": "Never", "containers": [container], "volumes": volumes}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": f"{name[:50]}-",
            "namespace": document["metadata"]["namespace"],
            "labels": labels,
        },
        "spec": {
            # That of the indexes may start before its database, as in a first release.
            "backoffLimit": 10 if arguments[0] == "indexes" else 0,
            "ttlSecondsAfterFinished": 24 * 60 * 60,
            "template": {"metadata": {"labels": labels}, "spec": run},
        },
    }


def restore_job(documents: Sequence[Document], archive: str) -> Document:
    """Returns the Job that restores a dump of the overlay's CronJob, in the CronJob's own pod."""
    made = [each for each in documents if each["metadata"]["name"] == _BACKUP]
    made = [each for each in made if each["kind"] == "CronJob"]
    if not made:
        raise Refused(f"the overlay has no CronJob {_BACKUP}: restore by the means of its backups")
    template: Any = copy.deepcopy(made[0]["spec"]["jobTemplate"]["spec"]["template"])
    labels = {**template["metadata"]["labels"], _NAME: "mongodb-restore"}
    template["metadata"]["labels"] = labels
    [container] = template["spec"]["containers"]
    container |= {"name": "mongorestore", "args": [RESTORE, "restore", archive]}
    for variable in container["env"]:
        variable["valueFrom"]["secretKeyRef"]["name"] = "mongodb-restore"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": "mongodb-restore-",
            "namespace": made[0]["metadata"]["namespace"],
            "labels": labels,
        },
        # A second attempt would meet the documents of the first.
        "spec": {"backoffLimit": 0, "ttlSecondsAfterFinished": 24 * 60 * 60, "template": template},
    }


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


def _secrets(document: Document) -> list[str]:
    variables = [each for one in _containers(document) for each in one.get("env", [])]
    found = [each.get("valueFrom", {}).get("secretKeyRef", {}).get("name") for each in variables]
    return sorted({name for name in found if name})


def kubectl(
    *words: str,
    given: Sequence[Document] = (),
    timeout: float = _ANSWER,
    program: str = "kubectl",
) -> str:
    """Runs kubectl, or Helm; returns what it prints, and raises Refused if it fails."""
    print(program, *words, file=sys.stderr, flush=True)
    done = subprocess.run(
        [program, *words], input=yaml.safe_dump_all(given) if given else None,
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    return done.stdout


@dataclass(frozen=True)
class Chart:
    """A release of the Helm chart, of which this program applies the objects in their order."""

    folder: str
    name: str
    namespace: str
    #: Options of Helm: --values, and the address of the runbook.
    options: Sequence[str]
    run_helm: Callable[..., str]

    def render(self) -> list[Document]:
        """Returns the objects, with the marks by which Helm knows them as its own."""
        text = self._helm("template", "--no-hooks")
        documents: Any = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
        for metadata in (each["metadata"] for each in documents):
            metadata.setdefault("labels", {})["app.kubernetes.io/managed-by"] = "Helm"
            metadata.setdefault("annotations", {}).update(
                {f"meta.helm.sh/release-{key}": getattr(self, key) for key in ("name", "namespace")}
            )
        return list(documents)

    def record(self, digests: Mapping[str, str]) -> None:
        """Makes it Helm's release; pods have the digests of their Secrets, and stay as they are."""
        marks = [
            f"--set-string=services.{name}.podAnnotations.{_DIGEST}={digest}"
            for name, digest in digests.items()
        ]
        self._helm("upgrade", "--install", *marks)

    def _helm(self, *words: str) -> str:
        where = (self.name, self.folder, f"--namespace={self.namespace}")
        return self.run_helm(*words, *where, *self.options, program="helm")


@dataclass(frozen=True)
class Cluster:
    """One namespace, checked every `look_every` seconds; a wait ends after `timeout` seconds."""

    namespace: str
    timeout: float
    look_every: float = 2.0
    #: Runs kubectl with these words, and gives it documents to read.
    run_kubectl: Callable[..., str] = kubectl
    chart: Chart | None = None

    def apply(self, documents: Sequence[Document]) -> None:
        """Applies documents; those of the chart as Helm does, whose they stay field by field."""
        as_helm = ("--server-side", "--field-manager=helm", "--force-conflicts")
        words = ("--filename", "-", *(as_helm if self.chart else ()))
        self.kubectl("apply", *words, given=documents)

    def roll_out(self, document: Document, scaler: Document | None = None) -> str:
        """Applies a service, and waits until all of its pods are new and ready; returns the digest.

        Pods carry a digest of their Secrets, so that another value replaces them. A stopped service
        whose replicas its autoscaler owns is started: no autoscaler does, and no manifest says how
        many.
        """
        found = [self.kubectl("get", "secret", each, "-o=json") for each in _secrets(document)]
        values = json.dumps([json.loads(each)["data"] for each in found], sort_keys=True)
        marked: Any = copy.deepcopy(document)
        metadata = marked["spec"]["template"]["metadata"]
        digest = hashlib.sha256(values.encode()).hexdigest()
        metadata.setdefault("annotations", {})[_DIGEST] = digest
        self.apply([marked])
        if "replicas" not in document["spec"]:
            self._start(document, scaler)
        limit = f"--timeout={self.timeout:.0f}s"
        self.kubectl("rollout", "status", _path(document), limit, timeout=self.timeout + _ANSWER)
        return digest

    def _start(self, document: Document, scaler: Document | None) -> None:
        path = _path(document)
        if json.loads(self.kubectl("get", path, "--output=json"))["spec"]["replicas"] > 0:
            return
        least = 1
        if scaler is not None:
            spec = scaler["spec"]
            least = max(least, spec.get("minReplicas", spec.get("minReplicaCount", least)))
            if scaler["kind"] == "ScaledObject":
                self.kubectl("annotate", _path(scaler), f"{_PAUSED}-")
        self.kubectl("scale", f"--replicas={least}", path)

    def run(self, job: Document) -> str:
        """Runs a Job to its end; returns what it printed."""
        name = self.kubectl("create", "--output=name", "--filename=-", given=[job]).strip()

        def ended() -> str | None:
            status = json.loads(self.kubectl("get", name, "--output=json")).get("status", {})
            reached = [
                each["type"] for each in status.get("conditions", []) if each["status"] == "True"
            ]
            return next((each for each in reached if each in ("Complete", "Failed")), None)

        end = self._until(ended, f"{name} has not ended")
        printed = self.kubectl("logs", name)
        if end == "Failed":
            raise Refused(f"{name} failed: {printed.strip()[-1000:]}")
        return printed

    def until_pods(self, services: Sequence[Document], released: set[str], otherwise: str) -> None:
        """Waits until no pod of a service runs an image that is not released."""
        names = {each["metadata"]["name"] for each in services}
        selected = "--selector=app.kubernetes.io/part-of=company-registry"

        def are_released() -> bool:
            found = json.loads(self.kubectl("get", "pods", selected, "--output=json"))["items"]
            pods = [each for each in found if each["metadata"]["labels"].get(_NAME) in names]
            return not outdated(pods, released)

        self._until(are_released, otherwise)

    def _until(self, reached: Callable[[], Any], otherwise: str) -> Any:
        deadline = time.monotonic() + self.timeout
        while not (value := reached()):
            if time.monotonic() > deadline:
                raise Refused(f"{otherwise} after {self.timeout:.0f} s")
            time.sleep(self.look_every)
        return value

    def kubectl(self, *words: str, given: Sequence[Document] = (), timeout: float = _ANSWER) -> str:
        named = ("--namespace", self.namespace, *words)
        return self.run_kubectl(*named, given=given, timeout=timeout)


def _path(document: Document) -> str:
    return f"{document['kind'].lower()}/{document['metadata']['name']}"


def release(cluster: Cluster, documents: Sequence[Document], *, back: bool = False) -> None:
    """Makes indexes, rolls each service out in its order, and drops replaced indexes.

    For a way back the order is reversed, and no index is dropped.
    """
    ordered, released = services(documents), images(documents)
    others = [each for each in documents if each not in ordered]
    for each in (one for one in others if one["kind"] == "Job"):
        # The pods of a Job cannot be changed, so that the new release has a new Job.
        cluster.kubectl("delete", _path(each), "--ignore-not-found")
    cluster.apply(others)
    for service in _INDEXED:
        cluster.run(job(documents, service, ["indexes"]))
    digests = {
        str(document["metadata"]["name"]): cluster.roll_out(document, scaler(documents, document))
        for document in (reversed(ordered) if back else ordered)
    }
    if cluster.chart:
        cluster.chart.record(digests)
    cluster.until_pods(ordered, released, "pods of another release still run")
    for service in () if back else _REPLACING:
        cluster.run(job(documents, service, ["indexes", "--drop-replaced"]))


def stop(cluster: Cluster, documents: Sequence[Document]) -> None:
    """Ends all pods of the services; an autoscaler starts none of them again."""
    for each in documents:
        if each["kind"] == "ScaledObject":
            cluster.kubectl("annotate", "--overwrite", _path(each), f"{_PAUSED}=0")
    for document in services(documents):
        cluster.kubectl("scale", "--replicas=0", _path(document))
    cluster.until_pods(services(documents), set(), "pods still run")


def resume(
    cluster: Cluster, documents: Sequence[Document], removed: Path, limited: Path | None, since: str
) -> None:
    """Starts the services after a restore; docs/operations.md explains each step."""
    for line in removed.read_text().splitlines():
        cluster.run(job(documents, "ingest", ["remove", *line.split()]))
    for line in limited.read_text().splitlines() if limited else ():
        for service in ("ingest", "webhook-registry"):
            cluster.run(job(documents, service, ["limit", *line.split()]))
    cluster.run(job(documents, "ingest", ["restored"]))
    cluster.kubectl("delete", "persistentvolumeclaims", f"--selector={_NAME}=lookup")
    release(cluster, documents)
    cluster.run(job(documents, "ingest", ["republish", "--since", since]))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="deploy/k8s/run")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    release_ = commands.add_parser("release", help="apply an overlay in the order of a release")
    release_.add_argument("--back", action="store_true", help="to an earlier release: reversed")
    job_ = commands.add_parser("job", help="run a command of a service as a Job, and print it")
    stop_ = commands.add_parser("stop", help="end all pods of the services, before a restore")
    restore_ = commands.add_parser("restore", help="restore a dump of components/operators")
    resume_ = commands.add_parser("resume", help="start again on a restored database")
    for each in (release_, job_, stop_, restore_, resume_):
        each.add_argument("overlay", help="its folder, or the one of the Helm chart")
        each.add_argument("--values", action="append", default=[], help="values of the chart")
        each.add_argument("--namespace", help="the one of the chart (an overlay names its own)")
        each.add_argument("--name", default="company-registry", help="of the chart's release")
        each.add_argument(
            "--timeout", type=float, default=_TIMEOUT, help="seconds for each step (default: a day)"
        )
        each.add_argument(
            "--runbooks",
            help="the address of docs/ for alerts (default: in the repository's remote)",
        )
        each.add_argument(
            "--look-every", type=float, default=2.0, help="seconds between two looks (default: 2)"
        )
    job_.add_argument("service", choices=_INDEXED)
    job_.add_argument("arguments", nargs=argparse.REMAINDER, help="such as: remove no 923609016")
    restore_.add_argument("archive", help="its name, such as 2026-11-20T001700Z.archive.gz")
    resume_.add_argument("--removed", type=Path, required=True, help="what removed printed last")
    resume_.add_argument("--limited", type=Path, help="what limited printed last")
    resume_.add_argument("--since", required=True, help="the backup's time, RFC 3339")
    return parser


def main(arguments: Sequence[str] | None = None, run_kubectl: Callable[..., str] = kubectl) -> None:
    """Runs one command; exits with a message if the cluster or the overlay refuses."""
    chosen = parser().parse_args(arguments)
    try:
        runbooks = chosen.runbooks or published_guides()
        chart = None
        if (Path(chosen.overlay) / "Chart.yaml").exists():
            if not chosen.namespace:
                raise Refused("the chart needs a --namespace")
            options = [f"--values={each}" for each in chosen.values]
            if runbooks:
                options.append(f"--set=monitoring.runbooks={runbooks}")
            chart = Chart(chosen.overlay, chosen.name, chosen.namespace, options, run_kubectl)
            documents = chart.render()
        else:
            text = run_kubectl("kustomize", chosen.overlay)
            documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
            documents = link_runbooks(documents, runbooks) if runbooks else documents
        if not services(documents):
            raise Refused(f"{chosen.overlay} does not include the base")
        check_images(documents)
        namespace = services(documents)[0]["metadata"]["namespace"]
        cluster = Cluster(namespace, chosen.timeout, chosen.look_every, run_kubectl, chart)
        match chosen.command:
            case "release":
                release(cluster, documents, back=chosen.back)
            case "job":
                sys.stdout.write(cluster.run(job(documents, chosen.service, chosen.arguments)))
            case "stop":
                stop(cluster, documents)
            case "restore":
                sys.stdout.write(cluster.run(restore_job(documents, chosen.archive)))
            case _:
                resume(cluster, documents, chosen.removed, chosen.limited, chosen.since)
    except (Refused, subprocess.TimeoutExpired) as fault:
        sys.exit(f"deploy/k8s/run: {fault}")


if __name__ == "__main__":
    main()
