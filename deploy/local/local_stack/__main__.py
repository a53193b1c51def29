"""Starts a RabbitMQ, a MongoDB and the services on this machine."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from common.runtime.settings import load
from local_stack import SetupError, alone, mongodb, packages, ports, rabbitmq, servers
from local_stack.receiver import receive
from local_stack.run import run
from local_stack.services import receiver_certificates
from local_stack.settings import StackSettings


def main() -> None:
    try:
        _obey(_parser().parse_args())
    except SetupError as error:
        sys.exit(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="local_stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("run", help="start everything; Ctrl-C ends it")
    commands.add_parser("stop", help="end a run that is in the background")
    commands.add_parser("install", help="install the servers' programs where they are missing")
    beside = commands.add_parser(
        "with-servers", help="run a command with servers of its own, unless they are given"
    )
    beside.add_argument("words", nargs=argparse.REMAINDER, metavar="command")
    receiver = commands.add_parser(
        "receiver", help="verify and print the deliveries of a webhook; Ctrl-C ends it"
    )
    receiver.add_argument("--host", default=ports.HOST, help="default %(default)s")
    receiver.add_argument("--port", type=int, help="default RECEIVER_PORT")
    receiver.add_argument(
        "--secret",
        default=os.environ.get("RECEIVER_SECRET", ""),
        help="the webhook's, whsec_…; default RECEIVER_SECRET",
    )
    commands.add_parser("certificate", help="make the receiver's certificate, as run does")
    return parser


def _obey(chosen: argparse.Namespace) -> None:
    match chosen.command:
        case "run":
            run(load(StackSettings))
        case "stop":
            stopped = alone.stop(load(StackSettings).run_dir)
            print("Stopped." if stopped else "Nothing was running.")
        case "with-servers":
            sys.exit(_beside_servers(chosen.words))
        case "receiver":
            settings = load(StackSettings)
            port = settings.receiver_port if chosen.port is None else chosen.port
            certificates = receiver_certificates(settings)
            receive(certificates, host=chosen.host, port=port, secret=chosen.secret)
        case "certificate":
            receiver_certificates(load(StackSettings))
        case _:
            _install()


def _beside_servers(command: Sequence[str]) -> int:
    """Runs a command with the URLs of both servers in its environment; returns its exit status."""
    # Installed before several test processes need it at the same time.
    packages.chromium()
    with servers.folder_of_servers() as folder, ExitStack() as stack:
        urls: dict[str, str] = {}
        if servers.given_broker(os.environ) is None:
            broker = servers.own_broker(folder / "rabbitmq")
            stack.callback(broker.kill)
            broker.begin()
        if servers.given_database(os.environ) is None:
            database = servers.own_replica_set(folder / "mongodb")
            stack.callback(database.kill)
            database.begin()
            database.ready()
            urls["MONGO_URL"] = database.url
        if servers.given_broker(os.environ) is None:
            broker.ready()
            urls |= {"AMQP_URL": broker.amqp_url, "AMQP_MANAGEMENT_URL": broker.management_url}
        return subprocess.run(command, env={**os.environ, **urls}, check=False).returncode


def _install() -> None:
    """Installs the programs that the tests need, but for servers that are given by URL."""
    if not os.environ.get("AMQP_URL"):
        rabbitmq.ensure_installed()
    if not os.environ.get("MONGO_URL"):
        mongodb.ensure_runs()


if __name__ == "__main__":
    main()
