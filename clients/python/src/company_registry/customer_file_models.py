"""Files of customers with the decisions about their rows, as immutable models."""

from typing import Any

from company_registry.models import Model


class CustomerFile(Model):
    """A file of customers that the service keeps, without its parts."""

    id: str
    name: str
    rows: int
    #: Stored bytes of its parts.
    size: int = 0
    decisions: int = 0
    created_at: str
    #: The id of the key that created it.
    created_by: str
    #: When it is deleted.
    expires_at: str


class CustomerFiles(Model):
    """The files of the owner, newest first."""

    customer_files: tuple[CustomerFile, ...]


class CustomerDecision(Model):
    """A decision about a row, in the order in which they were made."""

    number: int
    decided_at: str
    #: The id of the key that it was made with.
    key_id: str
    #: As its client wrote it.
    decision: dict[str, Any]


class CustomerDecisions(Model):
    """A page of decisions, the oldest first."""

    decisions: tuple[CustomerDecision, ...]
    has_more: bool
