"""All registers of the invented companies, filled from the generator."""

from collections.abc import Callable
from datetime import UTC, datetime

from register_samples.server.brreg import NorwegianRegister
from register_samples.server.cvr import DanishRegister
from register_samples.server.messages import Stamps
from register_samples.server.peppol import Directory

#: New companies are counted from 0 again after this many: Denmark has 891,000 sample numbers.
_NEWCOMERS = 500_000


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Registers:
    """The registers; changes by a test take effect in the interfaces immediately."""

    def __init__(
        self,
        *,
        companies: int = 50,
        newcomers: int = 0,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`newcomers` companies are skipped before the first new one."""
        self.now = now
        stamps = Stamps(now)
        self.no = NorwegianRegister(stamps, companies=companies)
        self.dk = DanishRegister(stamps, companies=companies)
        self.directory = Directory(stamps, companies=companies)
        self._next = companies + newcomers % _NEWCOMERS

    def add_companies(self) -> tuple[str, str]:
        """Returns a new company in each register: the Norwegian number and the Danish."""
        index = self._next
        self._next += 1
        return self.no.add_company(index), self.dk.add_company(index)

    def publish(self) -> None:
        """Generates all files again."""
        self.no.publish()
        self.directory.publish()
