"""`deploy/k8s/run <command> <overlay>`: the commands of operators, each step in its order."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import TimeoutExpired

from releases.cluster import Cluster, Failed, rendered
from releases.manifests import Document, Refused, check_images, job, others, services

#: The services with collections, and those of which a release may replace an index.
_INDEXED = ("gateway", "lookup", "webhook-registry")
_REPLACING = ("lookup", "webhook-registry")
#: Seconds: an index of a large collection may take hours.
_TIMEOUT = 24 * 3600.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command; exits with a message if the cluster or the overlay refuses."""
    chosen = _parser().parse_args(arguments)
    try:
        documents = rendered(chosen.overlay)
        check_images(documents)
        namespace = services(documents)[0]["metadata"]["namespace"]
        cluster = Cluster(namespace, chosen.timeout, chosen.look_every)
        match chosen.command:
            case "release":
                release(cluster, documents, back=chosen.back)
            case "job":
                sys.stdout.write(cluster.run(job(documents, chosen.service, chosen.arguments)))
            case "stop":
                cluster.stop(services(documents))
            case _:
                resume(cluster, documents, chosen.removed, chosen.since)
    except (Failed, Refused, TimeoutExpired) as fault:
        sys.exit(f"deploy/k8s/run: {fault}")


def release(cluster: Cluster, documents: Sequence[Document], *, back: bool = False) -> None:
    """Makes indexes, rolls each service out in its order, and drops replaced indexes.

    For a way back the order is reversed, and no index is dropped.
    """
    cluster.apply(others(documents))
    for service in _INDEXED:
        cluster.run(job(documents, service, ["indexes"]))
    ordered = services(documents)
    for document in reversed(ordered) if back else ordered:
        cluster.roll_out(document)
    cluster.until_only(ordered)
    if not back:
        for service in _REPLACING:
            cluster.run(job(documents, service, ["indexes", "--drop-replaced"]))


def resume(cluster: Cluster, documents: Sequence[Document], removed: Path, since: str) -> None:
    """Starts the services after a restore; docs/operations.md explains each step."""
    for line in removed.read_text().splitlines():
        cluster.run(job(documents, "lookup", ["remove", *line.split()]))
    cluster.run(job(documents, "lookup", ["restored"]))
    cluster.delete_search_indexes()
    release(cluster, documents)
    cluster.run(job(documents, "lookup", ["republish", "--since", since]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="deploy/k8s/run")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    release_ = commands.add_parser("release", help="apply an overlay in the order of a release")
    release_.add_argument("--back", action="store_true", help="to an earlier release: reversed")
    job_ = commands.add_parser("job", help="run a command of a service as a Job, and print it")
    stop = commands.add_parser("stop", help="end all pods of the services, before a restore")
    resume_ = commands.add_parser("resume", help="start again on a restored database")
    for each in (release_, job_, stop, resume_):
        each.add_argument("overlay", help="its folder")
        each.add_argument(
            "--timeout", type=float, default=_TIMEOUT, help="seconds for each step (default: a day)"
        )
        each.add_argument(
            "--look-every", type=float, default=2.0, help="seconds between two looks (default: 2)"
        )
    job_.add_argument("service", choices=_INDEXED)
    job_.add_argument("arguments", nargs=argparse.REMAINDER, help="such as: remove no 923609016")
    resume_.add_argument("--removed", type=Path, required=True, help="what removed printed last")
    resume_.add_argument("--since", required=True, help="the backup's time, RFC 3339")
    return parser


if __name__ == "__main__":
    main()
