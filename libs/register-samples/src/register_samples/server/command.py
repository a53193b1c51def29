"""`python -m register_samples serve`: the registers' interfaces on a port of this machine."""

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from register_samples.server.changing import Changes, keep_changing
from register_samples.server.registers import Registers
from register_samples.server.serving import serving

#: A server's new entries differ from those of an earlier one: they are drawn by the seconds since
#: this time, and its first new company by the half minutes. Changes are slower than that.
_COUNTED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
_DURATION = re.compile(r"PT(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?")


def run(arguments: Sequence[str]) -> int:
    """Serves until SIGTERM or SIGINT."""
    asyncio.run(_until_stopped(_parser().parse_args(arguments)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m register_samples serve",
        description="Speak the registers' interfaces over invented data, for tests and trials.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one")
    parser.add_argument("--companies", type=int, default=1000, metavar="N", help="per register")
    parser.add_argument(
        "--change-every", type=_duration, metavar="PT3S", help="make a change that often"
    )
    return parser


def _duration(text: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    span = timedelta(
        minutes=int((found and found["minutes"]) or 0),
        seconds=float((found and found["seconds"]) or 0),
    )
    if not span:
        raise argparse.ArgumentTypeError("give a duration such as PT3S or PT1M")
    return span


async def _until_stopped(wanted: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    begun = (datetime.now(UTC) - _COUNTED_FROM) // timedelta(seconds=1)
    registers = Registers(companies=wanted.companies, newcomers=begun // 30)
    async with (
        serving(registers, port=wanted.port) as served,
        asyncio.TaskGroup() as group,
    ):
        # The addresses, as the settings of the lookup service take them.
        _say(f"BRREG_URL={served.brreg}\nCVR_URL={served.cvr_permanent}\nPEPPOL_URL={served.url}")
        changing = None
        if wanted.change_every is not None:
            changes = Changes(registers, first=begun)
            changing = group.create_task(keep_changing(changes, wanted.change_every, _say))
        await stopped.wait()
        if changing is not None:
            changing.cancel()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
