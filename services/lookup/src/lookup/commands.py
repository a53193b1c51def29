"""`python -m lookup serve` runs the service: its only command."""

import argparse
from collections.abc import Sequence

from common.runtime.service import chosen_command, run
from common.runtime.settings import load
from lookup.app import build
from lookup.settings import Settings


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves lookups."""
    chosen_command(_parser(), arguments)
    run("lookup", load(Settings), build)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lookup")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    return parser
