"""`python -m dispatcher serve` runs the service; other commands are one-off jobs."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from common.contracts.failures import Unavailable
from common.contracts.topology import DEAD_LETTERS_ARGUMENTS, DEAD_LETTERS_QUEUE
from common.messaging.queues import DeadLetter, Queue, dead_letters
from common.runtime import logs
from common.runtime.service import chosen_command, run
from common.runtime.settings import BrokerSettings, load
from dispatcher.app import build
from dispatcher.settings import Settings

#: Maximum characters of a message body in the list.
_SHOWN = 200


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command; exits with 1 on failure and 2 on misuse."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        run("dispatcher", load(Settings), build)
        return
    settings = load(BrokerSettings)
    # Standard output carries the messages only; an outage is reported as one sentence.
    logs.configure("ERROR", service="dispatcher")
    try:
        asyncio.run(_dead_letters(chosen, settings))
    except Unavailable as outage:
        sys.exit(str(outage))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dispatcher")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    letters = commands.add_parser(
        "dead-letters", help="messages that failed repeatedly: list, requeue, drop"
    )
    actions = letters.add_subparsers(dest="action", metavar="action", required=True)
    actions.add_parser("list", help="list the oldest messages without removing them")
    requeue = actions.add_parser("requeue", help="return messages to the queues they failed in")
    drop = actions.add_parser("drop", help="delete messages")
    for action in (requeue, drop):
        which = action.add_mutually_exclusive_group(required=True)
        which.add_argument("--id", help="one message, by the id that list shows")
        which.add_argument("--all", action="store_true", help="all messages")
    for action in actions.choices.values():
        action.add_argument(
            "--limit",
            type=int,
            default=1000,
            help="maximum number of messages to read (default 1000)",
        )
    return parser


async def _dead_letters(chosen: argparse.Namespace, settings: BrokerSettings) -> None:
    queue = Queue(DEAD_LETTERS_QUEUE, DEAD_LETTERS_ARGUMENTS)
    async with dead_letters(settings.amqp_url.get_secret_value(), queue) as letters:
        if chosen.action == "list":
            found = await letters.look(limit=chosen.limit)
            sys.stdout.writelines(_line(letter) for letter in found)
            return
        settle = letters.requeue if chosen.action == "requeue" else letters.drop
        done = await settle(limit=chosen.limit, message_id=chosen.id)
        sys.stdout.write(f"{done} {'put back' if chosen.action == 'requeue' else 'dropped'}\n")


def _line(letter: DeadLetter) -> str:
    died = "-" if letter.died_at is None else f"{letter.died_at:%Y-%m-%dT%H:%M:%SZ}"
    body = letter.body[:_SHOWN].decode(errors="replace").replace("\n", " ").replace("\t", " ")
    return f"{letter.message_id}\t{letter.queue}\t{letter.reason}\t{died}\t{body}\n"
