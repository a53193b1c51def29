"""Files of customers with the decisions about their rows, kept for their owner (ADR 0152).

The service knows nothing of their contents: a client writes parts and decisions as JSON of its own.
"""

from typing import Any, Final, NewType

from pydantic import Field

from common.contracts.contract import Contract, Timestamp

#: `cf_` and 32 hexadecimal digits.
CustomerFileId = NewType("CustomerFileId", str)

#: Parts of a file, and bytes of one, as JSON.
MAX_PARTS: Final = 400
MAX_PART_SIZE: Final = 256 * 1024
#: Bytes of a decision, as JSON; decisions of a file, and in a page of them.
MAX_DECISION_SIZE: Final = 4 * 1024
MAX_DECISIONS: Final = 200_000
MAX_LISTED_DECISIONS: Final = 500


class CustomerFile(Contract):
    """A file; its JSON is public and omits the excluded field."""

    id: CustomerFileId
    owner: str = Field(exclude=True)
    name: str
    #: Rows of customers, as its client counts them.
    rows: int
    #: Stored bytes of its parts.
    size: int = 0
    #: The number of decisions about its rows.
    decisions: int = 0
    created_at: Timestamp
    #: The id of the key that created it.
    created_by: str
    #: When it is deleted with all of its parts.
    expires_at: Timestamp


class CustomerFileList(Contract):
    """The files of an owner, newest first."""

    customer_files: tuple[CustomerFile, ...]


class StoredDecision(Contract):
    """A decision about a row, in the order in which they were made."""

    number: int
    decided_at: Timestamp
    #: The id of the key that it was made with.
    key_id: str
    #: As its client wrote it.
    decision: dict[str, Any]


class DecisionList(Contract):
    """Decisions about the rows of a file, the oldest first."""

    decisions: tuple[StoredDecision, ...]
    #: True if more follow.
    has_more: bool
