"""The operations on the keys of an owner, with a key that has the scope `keys`."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from company_registry.arguments import moment, texts
from company_registry.http import Request
from company_registry.key_models import IssuedKey, KeyRate, KeyRequest, KeyRequests, Keys
from company_registry.operations import Operation, get, segment

_KEYS: Final = "/api/keys"


def list_keys() -> Operation[Keys]:
    """Returns the keys of the owner with their use, newest first."""
    return Operation(get(_KEYS), Keys.model_validate_json)


def create_key(  # noqa: PLR0913 (the members of the body)
    name: str,
    *,
    scopes: Iterable[str] = (),
    expires_at: datetime | None = None,
    rate: KeyRate | None = None,
    origins: Iterable[str] = (),
    visitor_rate: KeyRate | None = None,
) -> Operation[IssuedKey]:
    """Creates a key of the same owner, which may do no more than the client's own.

    With `origins` it is publishable: pages of these origins look up and suggest with it. A time
    without an offset is taken as local time. Raises Forbidden or KeyLimitReached.
    """
    body: dict[str, object] = {"name": name}
    if chosen := list(texts(scopes)):
        body["scopes"] = chosen
    if allowed := list(texts(origins)):
        body["origins"] = allowed
    if expires_at is not None:
        body["expires_at"] = moment("expires_at", expires_at)
    for member, value in (("rate", rate), ("visitor_rate", visitor_rate)):
        if value is not None:
            body[member] = value.model_dump()
    request = Request("POST", _KEYS, body=body, repeatable=False)
    return Operation(request, IssuedKey.model_validate_json)


def rotate_key(key_id: str, *, overlap_seconds: int | None = None) -> Operation[IssuedKey]:
    """Replaces a key, which goes on for a day unless `overlap_seconds` is given.

    Raises KeyNotFound, Forbidden or KeyLimitReached.
    """
    body = {} if overlap_seconds is None else {"overlap_seconds": overlap_seconds}
    request = Request("POST", f"{_key(key_id)}/rotate", body=body, repeatable=False)
    return Operation(request, IssuedKey.model_validate_json)


def end_key(key_id: str) -> Operation[None]:
    """Ends a key within 10 s. Raises KeyNotFound."""
    return Operation(Request("DELETE", _key(key_id)), lambda _body: None)


def key_requests(
    key_id: str, *, status: str | None = None, request_id: str | None = None, limit: int = 100
) -> Operation[tuple[KeyRequest, ...]]:
    """Returns the last requests of a key, newest first: the client's own, or with the scope `keys`.

    `status` is one such as `404`, or `4xx`; `limit` is at most 1,000. Raises KeyNotFound.
    """
    query = {"limit": str(limit), "status": status or "", "request_id": request_id or ""}
    return Operation(
        get(f"{_key(key_id)}/requests", query),
        lambda body: KeyRequests.model_validate_json(body).requests,
    )


def _key(key_id: str) -> str:
    return f"{_KEYS}/{segment(key_id)}"
