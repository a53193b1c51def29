"""`python -m portal serve` runs the service."""

import argparse

from common.starting import uncollected

with uncollected():
    from common.runtime.service import chosen_command, run
    from common.runtime.settings import load
    from portal.app import build
    from portal.settings import Settings


def main() -> None:
    """Serves; exits with 2 on misuse."""
    parser = argparse.ArgumentParser(prog="python -m portal")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    chosen_command(parser, None)
    run("portal", load(Settings), build)


if __name__ == "__main__":
    main()
