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
    #: A short name of the client, which takes turns with others.
    client: str = ""


class ExportPage(Contract):
    """Companies as a lookup returns them, each as JSON on a line of its own."""

    lines: bytes
    #: The number of lines.
    count: int
    #: The registration number to go on after; None on the last page.
    last: str | None = None
    #: A position in the event feed of half a minute ago: this page and later ones have each change
    #: up to it.
    position: int = 0
