"""The requests that operations build, how answers are read, and which requests are retried."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, cast

import pytest

from company_registry import (
    ApiError,
    Client,
    CompanyFilter,
    InvalidParameter,
    InvalidResponse,
    Lookup,
    NoResponse,
    RateLimited,
    Retries,
    ServiceUnavailable,
    WebhookFilter,
    operations,
)
from company_registry import watchlist_operations as watchlists
from company_registry import webhook_operations as webhooks
from company_registry.errors import CompanyNotFound, CompanyRemoved, FieldError
from company_registry.http import Outcome, Request, Response, Unanswered
from company_registry.operations import (
    Operation,
    event_page,
    event_types,
    find_page,
    lookup,
    lookup_document,
    perform,
    search,
)
from company_registry.retries import exchange, retry_after
from tests.builders.answers import a_problem, a_webhook
from tests.fakes.client import FakeTransport, answer, problem

NOON, DAY = datetime(2026, 3, 2, 12, tzinfo=UTC), date(2026, 1, 31)
READ = Request("GET", "/api")
WRITE = Request("POST", "/api/webhooks/wh_1/recover", repeatable=False)

UNAVAILABLE = problem("service_unavailable", 503, retry_after="5")
LATE = problem("lookup_timeout", 504)
BROKEN = Unanswered("the connection broke", sent=True)
REFUSED = Unanswered("could not connect", sent=False)
OK = answer({})


FOUND = CompanyFilter(
    country=("dk", "no"),
    industry=("62", "70"),
    employees_min=0,
    advertising_protected=False,
    watchlist="wl_1",
)
EMPTIED = WebhookFilter(forms=("AS",), municipalities=())
#: The path of an operation, and its query or the named members of its body.
REQUESTS: list[tuple[Operation[Any], str, dict[str, Any]]] = [
    (
        lookup("no", "22334455", by="phone", include=["owners", "roles"]),
        "/api/phone",
        {"country": "no", "q": "22334455", "include": "owners,roles"},
    ),
    (
        lookup_document("no", "310345679", format="xml"),
        "/api/vat",
        {"country": "no", "q": "310345679", "format": "xml"},
    ),
    (
        find_page(FOUND, sort="-founded", facets=["form"], limit=5, after="x"),
        "/api/companies",
        {
            "country": "dk,no",
            "industry": "62,70",
            "employees_min": "0",
            "advertising_protected": "false",
            "watchlist": "wl_1",
            "sort": "-founded",
            "facets": "form",
            "limit": "5",
            "after": "x",
        },
    ),
    (
        search("dk", "prøven", include=["alternatives", "owners"]),
        "/api",
        {"country": "dk", "search": "prøven", "include": "alternatives,owners"},
    ),
    (webhooks.get_webhook("wh_1"), "/api/webhooks/wh_1", {}),
    # An id stays within its segment.
    (webhooks.get_webhook("../keys?x"), "/api/webhooks/%2E%2E%2Fkeys%3Fx", {}),
    (
        webhooks.create_webhook("https://e", filter=WebhookFilter(companies=("dk:12345674",))),
        "/api/webhooks",
        {"url": "https://e", "filter": {"companies": ["dk:12345674"]}},
    ),
    (
        webhooks.update_webhook("wh_1", status="disabled"),
        "/api/webhooks/wh_1",
        {"status": "disabled"},
    ),
    (webhooks.update_webhook("wh_1", filter=None), "/api/webhooks/wh_1", {"filter": None}),
    (
        webhooks.update_webhook("wh_1", filter=EMPTIED),
        "/api/webhooks/wh_1",
        {"filter": {"forms": ["AS"], "municipalities": []}},
    ),
]


@pytest.mark.parametrize("operation, path, sent", REQUESTS)
def test_an_operation_is_a_request(
    operation: Operation[Any], path: str, sent: dict[str, Any]
) -> None:
    request = operation.request
    given = dict(request.query) if request.body is None else request.body
    if request.method == "POST":
        given = {name: given[name] for name in sent}

    assert (request.path, given) == (path, sent)


def test_a_held_request_has_that_much_longer() -> None:
    with Client("https://registry.example.com", timeout=5) as client:
        timeout = client.arguments(event_page("c1", wait=20).request)["timeout"]

    assert (timeout.connect, timeout.read) == (5, 25)


def test_a_problem_is_raised_as_the_type_of_its_code_with_its_members() -> None:
    errors = [{"parameter": "q", "message": "8 digits"}]
    invalid = a_problem("invalid_parameter", request_id="r1", errors=errors)
    removed = a_problem("company_removed", 410, removed_on="2026-03-02")

    def raised(outcome: Outcome, kind: type[ApiError]) -> Any:
        with pytest.raises(kind) as failed:
            FakeTransport([outcome]).run(perform(lookup("dk", "12345674"), Retries()))
        return failed.value

    missing = raised(problem("company_not_found", 404), CompanyNotFound)
    assert (missing.status, "it is company_not_found" in str(missing)) == (404, True)
    gone = raised(answer(removed, 410), CompanyRemoved)
    assert (gone.status, gone.removed_on) == (410, "2026-03-02")
    wrong = raised(answer(invalid, 400), InvalidParameter)
    assert (wrong.errors, wrong.request_id) == ((FieldError("q", "8 digits"),), "r1")


@pytest.mark.parametrize(
    "content", [b'{"code": "of_a_later_release", "detail": "new"}', b"<html>", b"[]", b"{}"]
)
def test_an_unknown_problem_is_an_error_with_its_status(content: bytes) -> None:
    transport = FakeTransport([Response(418, {}, content)])

    with pytest.raises(ApiError) as raised:
        transport.run(perform(webhooks.list_webhooks(), Retries()))

    assert type(raised.value) is ApiError
    assert raised.value.status == 418


@pytest.mark.parametrize("content", [b"<html>", b"{}", b'{"webhooks": [{"id": 5}]}', b""])
def test_an_answer_of_another_shape_is_an_invalid_response(content: bytes) -> None:
    transport = FakeTransport([Response(200, {}, content)])

    with pytest.raises(InvalidResponse, match="/api/webhooks"):
        transport.run(perform(webhooks.list_webhooks(), Retries()))


def test_a_field_of_a_later_release_is_kept() -> None:
    transport = FakeTransport([answer(a_webhook(colour="blue"))])

    webhook = transport.run(perform(webhooks.get_webhook("wh_1"), Retries()))

    assert webhook.model_dump(exclude_unset=True)["colour"] == "blue"


@pytest.mark.parametrize(
    "request_, failure",
    [
        pytest.param(READ, UNAVAILABLE, id="503"),
        pytest.param(READ, LATE, id="504"),
        pytest.param(READ, answer("a proxy's page", 502), id="502"),
        pytest.param(READ, BROKEN, id="broken"),
        pytest.param(READ, REFUSED, id="refused"),
        pytest.param(WRITE, REFUSED, id="write-refused"),
        pytest.param(WRITE, problem("rate_limited", 429, retry_after="1"), id="write-429"),
    ],
)
def test_a_request_that_may_succeed_later_is_sent_again(
    request_: Request, failure: Outcome
) -> None:
    transport = FakeTransport([failure, OK])

    assert transport.run(exchange(request_, Retries())) == OK
    assert transport.requests == [request_, request_]


@pytest.mark.parametrize("failure", [UNAVAILABLE, LATE], ids=["503", "504"])
def test_a_request_that_may_have_been_carried_out_is_not_repeated_unless_it_is_safe(
    failure: Outcome,
) -> None:
    assert FakeTransport([failure]).run(exchange(WRITE, Retries())) == failure


def test_a_broken_connection_is_not_repeated_unless_it_is_safe() -> None:
    with pytest.raises(NoResponse, match="the connection broke"):
        FakeTransport([BROKEN]).run(exchange(WRITE, Retries()))


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500])
def test_a_refusal_is_not_repeated(status: int) -> None:
    transport = FakeTransport([problem("some_code", status)])

    assert transport.run(exchange(READ, Retries())).status == status
    assert transport.slept == []


@pytest.mark.parametrize(
    "value, seconds",
    [
        ("37", 37),
        ("Mon, 02 Mar 2026 12:00:00 GMT", 0),
        ("Mon, 02 Mar 99999999999999 12:00:00 GMT", None),
        ("soon", None),
    ],
)
def test_retry_after_is_in_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


def test_a_longer_retry_after_than_allowed_is_an_error_with_its_seconds() -> None:
    limited = problem("rate_limited", 429, retry_after="3600")

    with pytest.raises(RateLimited) as raised:
        FakeTransport([limited]).run(perform(event_types(), Retries()))

    assert raised.value.retry_after == 3600


def test_attempts_end() -> None:
    transport = FakeTransport([UNAVAILABLE] * 3)

    with pytest.raises(ServiceUnavailable):
        transport.run(perform(event_types(), Retries(attempts=3)))

    assert transport.slept == [5, 5]


@pytest.mark.parametrize("attempt, maximum", [(1, 1), (2, 2), (3, 4), (4, 4), (1000, 4)])
def test_backoff_doubles_up_to_its_maximum(attempt: int, maximum: float) -> None:
    delay = Retries(first_delay=1, max_delay=4).backoff(attempt)

    assert maximum / 2 <= delay <= maximum


def test_creating_a_webhook_is_safe_to_repeat_by_its_idempotency_key() -> None:
    requests = [webhooks.create_webhook("https://example.com/").request for _ in range(2)]

    assert requests[0].repeatable
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 2


@pytest.mark.parametrize(
    "operation",
    [
        webhooks.rotate_secret("wh_1"),
        webhooks.recover("wh_1", datetime(2026, 3, 2, 12, tzinfo=UTC)),
        webhooks.retry_delivery("wh_1", "x"),
    ],
)
def test_operations_whose_answer_cannot_be_had_twice_are_not_repeated(operation: Any) -> None:
    assert not operation.request.repeatable


TEXT: Any = "2026-01-31"


@pytest.mark.parametrize(
    "mistake, said",
    [
        (lambda: operations.lookup("dk", "1", by=cast(Any, "cvr")), "not 'cvr'; did you mean vat"),
        (lambda: operations.lookup_document("dk", "1", by=cast(Any, "id")), "one of vat, name"),
        (lambda: Lookup("no", "1", by=cast(Any, "orgnr")), "not 'orgnr'; did you mean vat"),
        (
            lambda: operations.lookup("dk", "1", as_of=TEXT),
            r"as_of must be a datetime.date, not str: date.fromisoformat\('2026-01-31'\)",
        ),
        (
            lambda: operations.history_page("dk", "1", since=TEXT),
            "since must be a datetime.date, n",
        ),
        (lambda: operations.event_page(since=TEXT), "since must be a datetime.datetime, not str"),
        (lambda: operations.event_page(since=cast(Any, DAY)), "datetime.datetime, not date$"),
        (lambda: webhooks.recover("wh_1", TEXT), "since must be a datetime.datetime"),
        (lambda: webhooks.recover("wh_1", NOON, TEXT), "until must be a datetime.datetime"),
        (lambda: webhooks.list_attempts("wh_1", since=TEXT), r"datetime.fromisoformat\('2026-01"),
        (lambda: operations.find_page(cast(Any, {"country": "se"})), "country"),
    ],
)
def test_a_natural_mistake_gets_a_sentence(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mistake()


def query_of(operation: Any) -> dict[str, str]:
    return dict(operation.request.query)


#: One text where a list is due.
ONE: Any = "dk"


@pytest.mark.parametrize(
    "operation, name, value",
    [
        (operations.lookup("dk", "1", include=cast(Any, "owners")), "include", "owners"),
        (
            operations.lookup("dk", "1", include=cast(Any, "owners, roles")),
            "include",
            "owners,roles",
        ),
        (operations.search("dk", "1", include=cast(Any, "roles")), "include", "roles,alternatives"),
        (operations.event_page(countries=ONE), "countries", "dk"),
        (operations.event_page(types="company.*"), "types", "company.*"),
        (operations.event_page(companies="dk:12345674"), "companies", "dk:12345674"),
        (operations.event_page(watchlists="wl_1"), "watchlist", "wl_1"),
        (operations.codes("forms", countries=ONE), "country", "dk"),
        (operations.suggest("dk", "prø", status="active"), "status", "active"),
        (operations.find_page(facets=cast(Any, "form")), "facets", "form"),
        (operations.find_page(CompanyFilter(country=cast(Any, "DK"))), "country", "dk"),
        (operations.find_page(CompanyFilter(form=cast(Any, "ApS"))), "form", "ApS"),
        (operations.find_page(CompanyFilter(founded_from=cast(Any, DAY))), "founded_from", TEXT),
        (operations.find_page(cast(Any, {"city": "Oslo"})), "city", "Oslo"),
        (operations.lookup("dk", "1", as_of=NOON), "as_of", "2026-03-02"),
        (operations.history_page("dk", "1", since=DAY), "since", TEXT),
    ],
)
def test_one_text_is_a_list_of_one(operation: Any, name: str, value: str) -> None:
    assert query_of(operation)[name] == value


def test_one_text_is_a_list_of_one_in_a_body() -> None:
    webhook = webhooks.create_webhook(
        "https://example.com/", "company.*", filter=WebhookFilter(countries=ONE)
    )

    assert webhook.request.body["events"] == ["company.*"]
    assert webhook.request.body["filter"] == {"countries": ["dk"]}
    added = watchlists.change_watched("wl_1", add="dk:12345674").request
    assert added.body["add"] == ["dk:12345674"]
    replaced = watchlists.replace_watched("wl_1", "dk:12345674").request
    assert replaced.body["companies"] == ["dk:12345674"]
    assert Lookup("dk", "1", include=cast(Any, "owners")).fields["include"] == ["owners"]
