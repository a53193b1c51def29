"""`python -m register_samples serve`: the registers' interfaces on a port of this machine."""

import argparse
import asyncio
import re
import signal
import ssl
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from register_samples.server.changing import Changes, keep_changing
from register_samples.server.registers import Registers
from register_samples.server.serving import Access, Served, serving

_USUAL = Access()
#: New entries of a server differ from those of an earlier one: it draws by the seconds since
#: then, and its first newcomer is one of the half minutes. Changes come more slowly than that.
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
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one (default: 8090)")
    parser.add_argument("--companies", type=int, default=1000, metavar="N", help="per register")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--change-every",
        type=_duration,
        metavar="PT3S",
        help="make a change that often; none unless given",
    )
    parser.add_argument("--cvr-user", default=_USUAL.user, help="default: %(default)s")
    parser.add_argument("--cvr-password", default=_USUAL.password, help="default: %(default)s")
    parser.add_argument(
        "--downloads-a-day", type=int, default=_USUAL.downloads_a_day, help="default: %(default)s"
    )
    parser.add_argument("--certificate", type=Path, help="serve HTTPS with this chain (PEM)")
    parser.add_argument("--key", type=Path, help="the certificate's key (PEM)")
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
    registers = Registers(companies=wanted.companies, seed=wanted.seed, newcomers=begun // 30)
    access = Access(wanted.cvr_user, wanted.cvr_password, wanted.downloads_a_day)
    tls = _tls(wanted.certificate, wanted.key)
    async with (
        serving(registers, host=wanted.host, port=wanted.port, access=access, tls=tls) as served,
        asyncio.TaskGroup() as group,
    ):
        _tell(served)
        changing = None
        if wanted.change_every is not None:
            changes = Changes(registers, first=begun)
            changing = group.create_task(keep_changing(changes, wanted.change_every, _say))
        await stopped.wait()
        if changing is not None:
            changing.cancel()


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def _tell(served: Served) -> None:
    """The addresses, as the settings of the lookup service take them."""
    _say(f"BRREG_URL={served.brreg}")
    _say(f"CVR_URL={served.cvr_permanent}")
    _say(f"PEPPOL_URL={served.url}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
