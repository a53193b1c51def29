"""The operations on files of customers, which the service keeps and does not read."""

import json
from collections.abc import Mapping
from typing import Any, Final

from company_registry.customer_file_models import (
    CustomerDecision,
    CustomerDecisions,
    CustomerFile,
    CustomerFiles,
)
from company_registry.http import Request
from company_registry.operations import Operation, get, segment

_FILES: Final = "/api/customer-files"

#: Parts of a file, and bytes of one, as JSON.
MAX_PARTS: Final = 400
MAX_PART_SIZE: Final = 256 * 1024


def list_customer_files() -> Operation[tuple[CustomerFile, ...]]:
    """Returns the files of the owner, newest first."""
    return Operation(
        get(_FILES), lambda body: CustomerFiles.model_validate_json(body).customer_files
    )


def create_customer_file(name: str, *, rows: int) -> Operation[CustomerFile]:
    """Creates a file without parts. Raises CustomerFileLimitReached."""
    request = Request("POST", _FILES, body={"name": name, "rows": rows}, repeatable=False)
    return Operation(request, CustomerFile.model_validate_json)


def get_customer_file(file_id: str) -> Operation[CustomerFile]:
    """Returns a file. Raises CustomerFileNotFound."""
    return Operation(get(_file(file_id)), CustomerFile.model_validate_json)


def delete_customer_file(file_id: str) -> Operation[None]:
    """Deletes a file with its parts and decisions. Raises CustomerFileNotFound."""
    return Operation(Request("DELETE", _file(file_id)), lambda _body: None)


def put_customer_part(file_id: str, part: int, content: Mapping[str, Any]) -> Operation[None]:
    """Stores a part of a file, or another in its place.

    Raises CustomerFileNotFound or CustomerFileLimitReached.
    """
    request = Request("PUT", f"{_file(file_id)}/parts/{part}", body=dict(content))
    return Operation(request, lambda _body: None)


def customer_part(file_id: str, part: int) -> Operation[dict[str, Any]]:
    """Returns a part of a file as it was stored. Raises CustomerFileNotFound."""
    return Operation(get(f"{_file(file_id)}/parts/{part}"), _object)


def add_customer_decision(file_id: str, decision: Mapping[str, Any]) -> Operation[CustomerDecision]:
    """Stores a decision about a row, as JSON of at most 4 KiB; its key and time are added.

    Raises CustomerFileNotFound or CustomerFileLimitReached.
    """
    path = f"{_file(file_id)}/decisions"
    request = Request("POST", path, body=dict(decision), repeatable=False)
    return Operation(request, CustomerDecision.model_validate_json)


def customer_decisions(file_id: str, *, after: int = 0) -> Operation[CustomerDecisions]:
    """Returns the decisions that follow a number, 500 at most. Raises CustomerFileNotFound."""
    query = {"after": str(after)}
    request = get(f"{_file(file_id)}/decisions", query)
    return Operation(request, CustomerDecisions.model_validate_json)


def _file(file_id: str) -> str:
    return f"{_FILES}/{segment(file_id)}"


def _object(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("a part is a JSON object")
    return found
