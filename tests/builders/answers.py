"""Documents as the public API answers them, with defaults for everything."""

from typing import Any, Final

from tests.builders.companies import a_company

AT: Final = "2026-03-02T12:00:00Z"

Document = dict[str, Any]


def a_found_company(**fields: Any) -> Document:
    return {
        **a_company().model_dump(mode="json"),
        "revision": 1,
        "match": {"type": "vat", "score": 100},
        "source": {"register": "cvr"},
        **fields,
    }


def a_summary(**fields: Any) -> Document:
    """A company of a list of suggestions or alternatives."""
    return {"vat": "12345682", "name": "Alfa ApS", "status": "active", "score": 90, **fields}


def an_event(id_: str = "e1", **fields: Any) -> Document:
    return {"id": id_, "type": "webhook.test", "occurred_at": AT, **fields}


def a_page(*events: Document, cursor: str = "c1", has_more: bool = False) -> Document:
    return {"events": list(events), "cursor": cursor, "has_more": has_more}


def a_webhook(**fields: Any) -> Document:
    return {
        "id": "wh_1",
        "url": "https://example.com/hooks",
        "events": ["*"],
        "status": "enabled",
        "created_at": AT,
        "updated_at": AT,
        **fields,
    }


def an_attempt(**fields: Any) -> Document:
    return {
        "delivery_id": "d1",
        "event_id": "e1",
        "event_type": "webhook.test",
        "attempt": 1,
        "status": "failed",
        "error": "connection_refused",
        "duration_ms": 7,
        "attempted_at": AT,
        **fields,
    }


def a_problem(code: str, status: int = 400, detail: str = "a detail", **members: Any) -> Document:
    return {"code": code, "status": status, "detail": detail, **members}


def an_invalid(parameter: str, message: str, *, code: str = "invalid_parameter") -> Document:
    """The problem of a request with one invalid parameter, or of a body with an invalid field."""
    errors = [{"parameter": parameter, "message": message}]
    return a_problem(code, detail="the request is invalid", errors=errors)


def a_history_entry(**fields: Any) -> Document:
    return {
        "time": AT,
        "dated": False,
        "type": "owners.changed",
        "revision": 2,
        "production_unit": None,
        "changes": [{"field": "trade_names", "old": [], "new": ["Prøven"], "partial": True}],
        **fields,
    }


def a_group(**fields: Any) -> Document:
    """A company, its owner, who has an owner, and an ended subsidiary."""
    return {
        "country": "dk",
        "vat": "12345674",
        "companies": [
            {"vat": "12345674", "name": "Prøve ApS", "status": "active", "level": 0},
            {"vat": "12345682", "name": "Ejer ApS", "status": "active", "level": -1},
            {"vat": "12345712", "name": "Gammel ApS", "status": "ended", "level": 1},
        ],
        "holders": [{"id": "12345682/0", "name": "Carla Prøve", "type": "person", "vat": None}],
        "links": [
            {"owner": "12345682", "owned": "12345674", "share": {"min": "50", "max": "66.67"}},
            {"owner": "12345682/0", "owned": "12345682", "share": {"min": "100", "max": "100"}},
            {"owner": "12345674", "owned": "12345712"},
        ],
        "ultimate_owners": [
            {
                "owner": "12345682/0",
                "name": "Carla Prøve",
                "type": "person",
                "share": {"min": "50", "max": "66.67"},
            }
        ],
        "shares_truncated": False,
        "truncated": False,
        "shareholders_known": True,
        **fields,
    }
