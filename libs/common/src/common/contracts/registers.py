"""How fresh each source of the registers is, between gateway and lookup service."""

from common.contracts.contract import Contract, Timestamp


class SourcesRequest(Contract):
    """A request for every source; it names none."""


class RegisterSource(Contract):
    """How far a source was loaded and read; its JSON is public."""

    #: `no-enheter`, `peppol` and the like; a later release may have others.
    source: str
    #: Every change that the register published by this time is stored; None if it is not followed,
    #: or its first load has not ended.
    current_until: Timestamp | None
    #: When a whole file of it was last read to its end; None before the first.
    loaded_at: Timestamp | None


class SourcesReply(Contract):
    """The sources that were ever loaded or read, by name; the public answer."""

    sources: tuple[RegisterSource, ...] = ()
