"""All registers of one invented world, filled from the generator."""

from collections.abc import Callable
from datetime import UTC, datetime

from register_samples.server.brreg import NorwegianRegister
from register_samples.server.cvr import DanishRegister
from register_samples.server.messages import Stamps
from register_samples.server.peppol import Directory

#: Newcomers are counted from 0 again after so many: Denmark's numbers for samples are 891,000.
_NEWCOMERS = 500_000


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Registers:
    """Changes by a test take effect in the interfaces immediately."""

    def __init__(
        self,
        *,
        companies: int = 50,
        newcomers: int = 0,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`newcomers` are passed over before the first company that is new here."""
        self.now = now
        stamps = Stamps(now)
        self.no = NorwegianRegister(stamps, companies=companies)
        self.dk = DanishRegister(stamps, companies=companies)
        self.directory = Directory(stamps, companies=companies)
        self._next = companies + newcomers % _NEWCOMERS

    def add_companies(self) -> tuple[str, str]:
        """A new company in each register: the Norwegian number and the Danish."""
        index = self._next
        self._next += 1
        return self.no.add_company(index), self.dk.add_company(index)

    def publish(self) -> None:
        """Generates all files again."""
        self.no.publish()
        self.directory.publish()
