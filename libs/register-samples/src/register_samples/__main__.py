"""The command: `python -m register_samples --out DIR --companies N`, or `serve …`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from register_samples.files import MAX_COMPANIES, write_registers


def run(arguments: Sequence[str]) -> int:
    """Write sample registers as the arguments say and name the files; returns the exit status."""
    if arguments[:1] == ["serve"]:
        # Only `serve` needs the libraries of an HTTP server.
        from register_samples.server.command import run as serve

        return serve(arguments[1:])
    wanted = _parser().parse_args(arguments)
    for kind, path in write_registers(wanted.out, wanted.companies, wanted.seed).items():
        sys.stdout.write(f"{kind:20} {path}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m register_samples",
        description="Write registers of invented companies in the formats of the real ones.",
        epilog="`python -m register_samples serve --help`: the same over the registers' interfaces",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--companies", type=_company_count, required=True, metavar="N", help="companies a country"
    )
    parser.add_argument(
        "--seed", type=_seed, default=1, help="another seed gives other companies (default: 1)"
    )
    return parser


def _company_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_COMPANIES:
        raise argparse.ArgumentTypeError(f"must be from 1 to {MAX_COMPANIES}")
    return count


def _seed(text: str) -> int:
    seed = int(text)
    if seed < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return seed


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
