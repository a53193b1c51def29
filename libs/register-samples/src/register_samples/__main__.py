"""The command: `python -m register_samples --out DIR --companies N`, `customers N`, `serve …`."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from register_samples.customers import write_customers
from register_samples.files import write_registers
from register_samples.numbers import CVR


def run(arguments: Sequence[str]) -> int:
    """Writes the requested registers and prints their names; returns the exit status."""
    if arguments[:1] == ["serve"]:
        # Only `serve` needs the libraries of an HTTP server.
        from register_samples.server.changing import run as serve

        return serve(arguments[1:])
    if arguments[:1] == ["customers"]:
        write_customers(sys.stdout, _customers().parse_args(arguments[1:]).customers)
        return 0
    wanted = _parser().parse_args(arguments)
    for kind, path in write_registers(wanted.out, wanted.companies).items():
        sys.stdout.write(f"{kind:20} {path}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m register_samples",
        description="Write registers of invented companies in the formats of the real ones.",
        epilog="python -m register_samples serve --help: the same over the registers' interfaces; "
        "customers --help: a list of customers as people type it",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--companies", type=_company_count, required=True, metavar="N", help="companies a country"
    )
    return parser


def _customers() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m register_samples customers",
        description="Print a CSV file of companies as people have them in their lists: with "
        "typing errors, without registration numbers, and a few that are in no register.",
    )
    parser.add_argument("customers", type=_company_count, metavar="N", help="number of customers")
    return parser


def _company_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= CVR.capacity:  # the capacity of the shortest series of numbers
        raise argparse.ArgumentTypeError(f"must be from 1 to {CVR.capacity}")
    return count


if __name__ == "__main__":
    if sys.argv[1:2] != ["serve"]:
        # `… | head` ends it in silence. A server must outlive a closed connection.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
