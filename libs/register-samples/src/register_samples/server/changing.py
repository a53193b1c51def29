"""Registers that change by themselves, and the command that serves them."""

import argparse
import asyncio
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import count, cycle

from register_samples.chance import Draw, Topic
from register_samples.names import coin, person
from register_samples.norway import group
from register_samples.numbers import gln
from register_samples.registers import DENMARK, NORWAY, Document, Register
from register_samples.server.cvr import Index
from register_samples.server.serving import Registers, serving
from register_samples.showcase import SHOWCASE

#: The showcase stays as it is: the documentation shows it.
_SHOWN = frozenset(
    number
    for exhibits in SHOWCASE.values()
    for each in exhibits
    for number in (each["number"], *(unit["number"] for unit in each["units"]))
)
#: GLNs of companies that were registered here, beyond those of the generator.
_GLN_PREFIX, _FIRST_GLN, _GLNS = "5790", 90_000_000, 10_000_000


class _Nobody(Exception):
    """No company is left to which a change applies."""


class Changes:
    """Makes changes in turn; the same ones on the same day."""

    def __init__(self, registers: Registers, *, first: int = 0) -> None:
        """`first` is the number of the first change, which decides the companies."""
        self._registers = registers
        self._no, self._dk = registers.no, registers.dk
        self._numbers = count(first)
        #: In an order that shows the kinds of events early; a removal ends each round.
        rota: Sequence[Callable[[Draw], str]] = (
            self._rename_norwegian,
            self._danish_bankruptcy,
            self._new_companies,
            self._rename_danish_unit,
            self._danish_owner,
            self._close_danish_unit,
            self._electronic_address,
            self._move_norwegian_unit,
            self._norwegian_owner,
            self._electronic_address_withdrawn,
            self._end_norwegian,
            self._remove_norwegian,
        )
        self._turns: Iterator[Callable[[Draw], str]] = cycle(rota)

    def make(self) -> str:
        """Makes the next change, and returns its description."""
        while True:
            change = next(self._turns)
            try:
                return change(Draw(0, Topic.DETAILS, next(self._numbers)))
            except _Nobody:
                # After some hours there may be no sole trader left; companies are still added.
                continue

    @property
    def _today(self) -> date:
        return self._registers.now().date()

    def _norwegian(self, draw: Draw, form: str = "AS") -> str:
        """Returns an active company of a legal form."""

        def fits(company: Document) -> bool:
            active = "slettedato" not in company and not company["konkurs"]
            return active and company["organisasjonsform"]["kode"] == form

        return _pick(draw, self._no.entities.documents, fits)

    def _norwegian_unit(self, draw: Draw) -> str:
        return _pick(draw, self._no.units.documents, lambda unit: "nedleggelsesdato" not in unit)

    def _danish(self, draw: Draw) -> str:
        """Returns an active company that has a status word."""
        return self._danish_document(draw, self._dk.companies, "virksomhedMetadata", "NORMAL")

    def _danish_unit(self, draw: Draw) -> str:
        return self._danish_document(draw, self._dk.units, "produktionsEnhedMetadata", "Aktiv")

    def _danish_document(self, draw: Draw, index: Index, digest: str, status: str) -> str:
        def fits(document: Document) -> bool:
            return bool(document[index.wrapping][digest]["sammensatStatus"] == status)

        return _pick(draw, index.documents, fits)

    def _rename_norwegian(self, draw: Draw) -> str:
        number, name = self._norwegian(draw), f"{_name(draw, NORWAY)} AS".upper()
        old = self._no.entities.documents[number]
        former = {
            "navn": old["navn"],
            "fraDato": old["registreringsdatoEnhetsregisteret"],
            "tilDato": str(self._today),
        }
        past = [*old.get("historiskeNavn", []), former]
        self._no.entities.change(number, {"navn": name, "historiskeNavn": past})
        return f"no {number} is now called {name}"

    def _end_norwegian(self, draw: Draw) -> str:
        number = self._norwegian(draw)
        self._no.entities.delete(number, self._today)
        return f"no {number} ended"

    def _remove_norwegian(self, draw: Draw) -> str:
        number = self._norwegian(draw, "ENK")
        for unit in self._no.units_of(number):
            self._no.units.remove(unit)
        self._no.entities.remove(number)
        return f"no {number} was removed"

    def _norwegian_owner(self, draw: Draw) -> str:
        number = self._norwegian(draw, "ENK")
        owner = person(draw, NORWAY)
        self._no.set_roles(number, [group("INNH", [("INNH", owner)])])
        return f"no {number} has another owner"

    def _move_norwegian_unit(self, draw: Draw) -> str:
        number, company = self._norwegian_unit(draw), self._norwegian(draw)
        self._no.move_unit(number, to=company, on=self._today)
        return f"no unit {number} moved to {company}"

    def _new_companies(self, _draw: Draw) -> str:
        norwegian, danish = self._registers.add_companies()
        return f"no {norwegian} and dk {danish} are new"

    def _danish_bankruptcy(self, draw: Draw) -> str:
        number = self._danish(draw)
        self._dk.set_status(number, "UNDER KONKURS", self._today)
        return f"dk {number} went bankrupt"

    def _danish_owner(self, draw: Draw) -> str:
        number, holder = self._danish(draw), self._danish(draw)
        self._dk.set_owner(number, holder, "0.05", self._today)
        return f"dk {number} has one more owner"

    def _rename_danish_unit(self, draw: Draw) -> str:
        number, name = self._danish_unit(draw), _name(draw, DENMARK)
        self._dk.rename_unit(number, name, self._today)
        return f"dk unit {number} is now called {name}"

    def _close_danish_unit(self, draw: Draw) -> str:
        number = self._danish_unit(draw)
        self._dk.close_unit(number, self._today)
        return f"dk unit {number} closed"

    def _electronic_address(self, draw: Draw) -> str:
        number = self._danish(draw)
        value = gln(_GLN_PREFIX, _FIRST_GLN + draw.below(_GLNS))
        directory = self._registers.directory
        directory.register("0088", value, holder=number, country="dk", on=self._today)
        directory.publish()
        return f"dk {number} receives invoices at {value}"

    def _electronic_address_withdrawn(self, draw: Draw) -> str:
        """Withdraws an identifier that was registered here, so that other cards stay."""
        directory, registered_here = self._registers.directory, f"::0088:{_GLN_PREFIX}9"
        pid = _pick(draw, directory.cards, lambda card: registered_here in card["pid"])
        directory.withdraw(pid)
        directory.publish()
        return f"{pid} receives invoices no longer"


async def keep_changing(changes: Changes, every: timedelta, say: Callable[[str], None]) -> None:
    """Makes a change at each interval until cancelled."""
    while True:
        await asyncio.sleep(every.total_seconds())
        say(changes.make())


def _pick(draw: Draw, documents: Mapping[str, Document], fits: Callable[[Document], bool]) -> str:
    """Returns the key of a document that fits and is not the showcase's; raises _Nobody."""
    found = [key for key, each in documents.items() if key not in _SHOWN and fits(each)]
    if not found:
        raise _Nobody
    return draw.pick(found)


def _name(draw: Draw, register: Register) -> str:
    return f"{coin(draw)} {draw.pick(register.words['trades'])}"


#: A server's new entries differ from those of an earlier one: they are drawn by the seconds since
#: this time, and its first new company by the half minutes. Changes are slower than that.
_COUNTED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
_AMOUNT = r"[0-9]{1,9}(?:[.,][0-9]{1,9})?"
_DURATION = re.compile(
    rf"P(?=.*[0-9])(?:(?P<weeks>{_AMOUNT})W)?(?:(?P<days>{_AMOUNT})D)?"
    rf"(?:T(?=[0-9])(?:(?P<hours>{_AMOUNT})H)?(?:(?P<minutes>{_AMOUNT})M)?"
    rf"(?:(?P<seconds>{_AMOUNT})S)?)?"
)
_SECONDS = re.compile(rf"(?P<seconds>{_AMOUNT})")


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
        "--change-every", type=read_duration, metavar="PT3S", help="make a change that often"
    )
    return parser


def read_duration(text: str) -> timedelta:
    """Returns the time between two changes; raises ArgumentTypeError."""
    written = text.strip().upper()
    found = _DURATION.fullmatch(written) or _SECONDS.fullmatch(written)
    given = found.groupdict().items() if found else ()
    span = timedelta(**{name: float(value.replace(",", ".")) for name, value in given if value})
    if not span:
        raise argparse.ArgumentTypeError(
            "give a duration such as PT3S, PT1M or 3 (seconds), above 0"
        )
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
        _say(f"BRREG_ACCOUNTS_URL={served.norwegian_accounts}")
        _say(f"CVR_FILINGS_URL={served.filings}\nCVR_DOCUMENTS_URL={served.documents}")
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
