"""Copies of a register in pages, between gateway and lookup service (ADR 0055)."""

from pydantic import Field

from common.contracts.company import Country, Include
from common.contracts.contract import Contract
from common.contracts.find import FindRequest

#: Maximum number of companies on a page.
MAX_EXPORTED = 1_000


class ExportRequest(Contract):
    """The next companies of one country, in the order of their registration numbers."""

    country: Country
    include: tuple[Include, ...] = ()
    #: Only companies that fit; its order, position and limit do not count. None: every company.
    filter: FindRequest | None = None
    #: The registration number that the page follows; empty for the lowest.
    after: str = ""
    limit: int = Field(default=MAX_EXPORTED, ge=1, le=MAX_EXPORTED)
    #: `ExportPage.state` of the export's first page; empty for that page.
    state: bytes = b""
    #: Seconds since that page arrived.
    age: float = 0.0
    #: A short name of the client, which takes turns with others.
    client: str = ""


class ExportPage(Contract):
    """Companies as a lookup returns them, each as JSON on a line of its own."""

    lines: bytes
    #: The number of lines.
    count: int
    #: The registration number to go on after; None on the last page.
    last: str | None = None
    #: The position in the event feed from which each later change follows. Only of a first page.
    position: int = 0
    #: The state of the register that further pages may not precede; opaque.
    state: bytes = b""
