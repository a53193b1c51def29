"""The requests that operations build, and how answers and errors are read."""

import pytest

from company_registry import (
    ApiError,
    Client,
    CompanyNotFound,
    InvalidParameter,
    InvalidResponse,
    Retries,
    WebhookFilter,
)
from company_registry.errors import FieldError
from company_registry.http import Response
from company_registry.operations import event_page, lookup, perform, search
from company_registry.webhook_operations import (
    create_webhook,
    get_webhook,
    list_webhooks,
    update_webhook,
)
from tests.fakes.client import FakeTransport, answer, problem


def test_a_lookup_is_of_the_endpoint_of_its_type() -> None:
    request = lookup("no", "22334455", by="phone", include=["owners", "roles"]).request

    assert request.path == "/api/phone"
    assert dict(request.query) == {"country": "no", "q": "22334455", "include": "owners,roles"}


def test_a_search_asks_for_alternatives_once() -> None:
    request = search("dk", "prøven", include=["alternatives", "owners"]).request

    assert dict(request.query)["include"] == "alternatives,owners"


@pytest.mark.parametrize(
    "webhook_id, path",
    [("wh_1", "/api/webhooks/wh_1"), ("../keys?x", "/api/webhooks/%2E%2E%2Fkeys%3Fx")],
)
def test_an_id_stays_within_its_path_segment(webhook_id: str, path: str) -> None:
    assert get_webhook(webhook_id).request.path == path


def test_a_filter_is_sent_without_the_fields_that_are_not_set() -> None:
    request = create_webhook(
        "https://example.com/", filter=WebhookFilter(companies=("dk:12345674",))
    ).request

    assert request.body["filter"] == {"companies": ["dk:12345674"]}


def test_a_change_sends_only_its_fields() -> None:
    assert update_webhook("wh_1", status="disabled").request.body == {"status": "disabled"}
    assert update_webhook("wh_1", filter=None).request.body == {"filter": None}
    parts = WebhookFilter(forms=("AS",), municipalities=())
    assert update_webhook("wh_1", filter=parts).request.body == {
        "filter": {"forms": ["AS"], "municipalities": []}
    }


def test_a_held_request_has_that_much_longer() -> None:
    with Client("https://registry.example.com", timeout=5) as client:
        timeout = client.arguments(event_page("c1", wait=20).request)["timeout"]

    assert (timeout.connect, timeout.read) == (5, 25)


def test_a_problem_is_raised_as_the_type_of_its_code() -> None:
    transport = FakeTransport([problem("company_not_found", 404)])

    with pytest.raises(CompanyNotFound, match="it is company_not_found") as raised:
        transport.run(perform(lookup("dk", "12345674"), Retries()))

    assert raised.value.status == 404


def test_invalid_parameters_are_named() -> None:
    document = {
        "code": "invalid_parameter",
        "detail": "q: 8 digits",
        "request_id": "r1",
        "errors": [{"parameter": "q", "message": "8 digits"}],
    }

    with pytest.raises(InvalidParameter) as raised:
        FakeTransport([answer(document, 400)]).run(perform(lookup("dk", "1"), Retries()))

    assert raised.value.errors == (FieldError("q", "8 digits"),)
    assert raised.value.request_id == "r1"


@pytest.mark.parametrize(
    "content", [b'{"code": "of_a_later_release", "detail": "new"}', b"<html>", b"[]", b"{}"]
)
def test_an_unknown_problem_is_an_error_with_its_status(content: bytes) -> None:
    with pytest.raises(ApiError) as raised:
        FakeTransport([Response(418, {}, content)]).run(perform(list_webhooks(), Retries()))

    assert type(raised.value) is ApiError
    assert raised.value.status == 418


@pytest.mark.parametrize("content", [b"<html>", b"{}", b'{"webhooks": [{"id": 5}]}', b""])
def test_an_answer_of_another_shape_is_an_invalid_response(content: bytes) -> None:
    with pytest.raises(InvalidResponse, match="/api/webhooks"):
        FakeTransport([Response(200, {}, content)]).run(perform(list_webhooks(), Retries()))


def test_a_field_of_a_later_release_is_kept() -> None:
    body = {
        "id": "wh_1",
        "url": "https://example.com/",
        "events": ["*"],
        "status": "enabled",
        "created_at": "2026-03-02T12:00:00Z",
        "updated_at": "2026-03-02T12:00:00Z",
        "colour": "blue",
    }

    webhook = FakeTransport([answer(body)]).run(perform(get_webhook("wh_1"), Retries()))

    assert webhook.model_dump(exclude_unset=True)["colour"] == "blue"
