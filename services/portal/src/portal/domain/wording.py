"""Problems of the API in words for people, who see a page and not a request."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from company_registry.change_words import Brief, brief_of, heading_of
from company_registry.errors import ApiError, CompanyRemoved, FieldError
from company_registry.models import Change, Event, Model
from company_registry.watchlist_models import WatchlistChange

NO_RESPONSE: Final = "The company registry does not respond. Try again in a moment."
NOT_UNDERSTOOD: Final = (
    "The company registry answered in a way that this portal does not understand."
)

#: By problem code; the others have a detail that can be shown.
_DETAILS: Final = {
    "forbidden": "Your key may not do this. “Key” shows what it may do; "
    "the operator of this service issues keys.",
    "rate_limited": "Your key has made as many requests as it may for now. Try again in {wait}.",
    "service_unavailable": "The service cannot answer at the moment. Try again in {wait}.",
    "lookup_timeout": "The search took too long. Try again, or search for fewer words.",
    "internal_error": "The service failed. Its operator can find the request as {request_id}.",
    "company_not_found": "No company has this number.",
    "company_removed": "Its register had this company removed on {removed_on}. "
    "Nothing else of it may be shown.",
    "watchlist_not_found": "You have no such watchlist. It may have been deleted.",
    "webhook_not_found": "You have no such webhook. It may have been deleted.",
    "delivery_not_found": "This webhook has no such delivery, or it is no longer kept.",
    "key_not_found": "You have no such key. It may have ended.",
    "webhook_disabled": "The webhook is disabled. Enable it first.",
    "delivery_pending": "An attempt is being made already. Its result appears here.",
    "idempotency_conflict": "This form was sent before with other values. Open it again.",
}

#: The requirement of a field, by the beginning of a message that speaks of requests.
_FIELDS: Final = {
    "url": {"is required": "Enter the address that deliveries are sent to."},
    "type": {"": "Choose one of the listed event types."},
    "types": {"": "Choose one of the listed event types."},
    "countries": {"": "Choose Denmark or Norway."},
    "companies": {"must be": "Write each as country and number, such as dk:12345674."},
    "employees_max": {"must not be less": "Enter no fewer than in “Employees from”."},
    "founded_to": {"must not be before": "Enter a day that is not before “Founded from”."},
    "ended_to": {"must not be before": "Enter a day that is not before “Ended from”."},
    "status_since_to": {"must not be before": "Enter a day that is not before the first one."},
    "owned_by": {
        "must be": "Write it as country and number, such as dk:12345674.",
        "needs country": "Its companies are in its own register: choose that one, or both.",
    },
}

#: Causes of failed and cancelled deliveries, by the API's words for them.
_CAUSES: Final = {
    "timeout": "No complete response in time",
    "dns": "The host name has no address",
    "blocked_address": "The address is private, and not called",
    "connection_refused": "The connection was refused",
    "connection_reset": "The receiver closed the connection",
    "connection_failed": "The connection failed",
    "tls": "The TLS certificate is not valid, or there is none",
    "invalid_response": "The response is not HTTP, or is too large",
    "redirect": "A redirect, which is not followed",
    "http_status": "The receiver refused it",
    "webhook_disabled": "The webhook was disabled",
    "webhook_deleted": "The webhook was deleted",
    "company_removed": "The register removed the company",
    "delivery_failed": "All attempts of a delivery failed",
    "gone": "The receiver answered 410: it wants no more",
    "owner": "By you or a colleague",
    "operator": "By the operator of this service",
}

#: Unknown companies that a sentence names.
_NAMED: Final = 5

#: The part of a description that begins with `data`, and what leads to it.
_MEMBERS: Final = re.compile(r"[;,:]?(?: and)? `?data\b")


class LimitReached(Exception):
    """A limit of this process, with the page that says so."""

    status = 503
    title = "Unavailable for the moment"
    detail = "Try again in a moment."


def cause(name: str | None) -> str:
    """Returns the cause of a failed or cancelled delivery, or of a disabled webhook."""
    return _CAUSES.get(name or "", (name or "unknown").replace("_", " ").capitalize())


def detail(error: ApiError) -> str:
    """Returns a sentence that says what happened and what to do."""
    text = _DETAILS.get(error.code)
    # An operator's decision has a detail of its own.
    if text is None or (error.code == "webhook_disabled" and "operator" in error.detail):
        return sentence(error.detail)
    seconds = max(1, round(error.retry_after or 0))
    wait = "a moment" if error.retry_after is None else f"{seconds} second{'s'[: seconds > 1]}"
    removed_on = error.removed_on if isinstance(error, CompanyRemoved) else ""
    request_id = error.request_id or "unknown"
    return text.format(wait=wait, request_id=request_id, removed_on=removed_on)


def faults(errors: Sequence[FieldError], given: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Messages by the field of a form that they belong to: `filter.companies[0]` to `companies`.

    `given` are the values of the fields that are lists, of which a message names the wrong one.
    """
    found: dict[str, list[str]] = {}
    for each in errors:
        name, _, rest = each.parameter.removeprefix("filter.").partition("[")
        name, place = name.partition(".")[0], rest.partition("]")[0]
        known = _FIELDS.get(name, {}).items()
        own = (text for start, text in known if each.message.startswith(start))
        message = next(own, None) or sentence(each.message)
        values = given.get(name, ())
        if place.isdecimal() and int(place) < len(values):
            message = f"“{values[int(place)]}” is not valid. {message}"
        found.setdefault(name, []).append(message)
    return {name: " ".join(dict.fromkeys(lines)) for name, lines in found.items()}


def without_members(text: str) -> str:
    """Returns the description of an event type without what it says about the members of a body."""
    return f"{_MEMBERS.split(text)[0].removesuffix('.')}."


def sentence(text: str) -> str:
    """With a capital and a full stop, and without the marks of code."""
    plain = text.replace("`", "").strip()
    end = "" if plain.endswith((".", "?", "!")) else "."
    return plain and f"{plain[0].upper()}{plain[1:]}{end}"


def happening(type_: str, changes: Sequence[Change]) -> str:
    """Returns the heading of an event of this type, such as `Name and status changed`."""
    return heading_of(type_, [change.model_dump() for change in changes])


def brief(event: Event) -> Brief:
    """Returns what an event says, for one line."""
    data = event.data
    given = [change.model_dump() for change in data.changes]
    after = _plain(data.production_unit or data.company)
    return brief_of(event.type, given, after, _plain(data.accounts))


def _plain(given: Model | None) -> dict[str, Any] | None:
    return None if given is None else given.model_dump(mode="json", by_alias=True)


def effect(change: WatchlistChange, removed: Sequence[str] = ()) -> str:
    """Returns what a change did, in a sentence or two; `removed` are names of those removed."""
    parts = [
        f"{count:,} {words}"
        for count, words in (
            (change.added, "added"),
            (change.present, "there already"),
            (change.removed, "removed"),
        )
        if count
    ]
    said = f"{', '.join(parts).capitalize() or 'Nothing changed'}."
    if change.removed and len(removed) == change.removed and not change.added:
        said = f"{said.removesuffix('.')}: {_listed(removed)}."
    if change.unknown:
        said = f"{said} In no register, and not added: {_listed(change.unknown)}."
    if change.invalid:
        faults = [f"{one.value} ({one.message})" for one in change.invalid]
        said = f"{said} Not read: {_listed(faults)}."
    return said


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
