"""Bodies of requests: what they mean, and the path and hint of each error."""

from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import FailureCode
from common.contracts.webhook_api import FilterWords
from common.contracts.webhooks import WebhookFilter, WebhookStatus
from tests.builders.webhooks import NOON, URL, a_draft
from webhook_registry.replies import Rejected
from webhook_registry.watchlists.watchlist_bodies import ListChanges, NewList
from webhook_registry.webhook_bodies import (
    MAX_DESCRIPTION_LENGTH,
    Body,
    ExampleRequest,
    NewWebhook,
    WebhookChanges,
    Window,
)

DAY = timedelta(days=1)


def faults(read: Callable[[], object]) -> dict[str, str]:
    """Messages by parameter."""
    with pytest.raises(Rejected) as caught:
        read()
    failure = caught.value.failure
    assert failure.code is FailureCode.INVALID_BODY
    return {error.parameter: error.message for error in failure.errors}


def faults_of(body: type[Body], **fields: Any) -> dict[str, str]:
    given = a_draft(**fields) if body is NewWebhook else orjson.dumps(fields)
    return faults(lambda: body.parse(given))


def a_filter(**parts: Any) -> WebhookFilter | None:
    return NewWebhook.parse(a_draft(filter=parts)).filter


def test_a_new_webhook_requires_only_url_and_events() -> None:
    least = NewWebhook.parse(a_draft(headers=None))
    most = NewWebhook.parse(
        a_draft(
            events=["company.updated", "owners.*", "owners.*"],
            filter={"countries": ["DK", "dk"], "companies": ["DK:01234567"]},
            description="nightly sync",
            headers={"Authorization": "Bearer x", "X-Tenant": "a b"},
        )
    )

    assert (least.filter, least.description, least.headers) == (None, None, {})
    assert (most.url.url, most.events) == (URL, ("company.updated", "owners.*"))
    companies = (CompanyKey.parse("dk:01234567"),)
    assert most.filter == WebhookFilter(countries=(Country.DK,), companies=companies)
    assert most.description == "nightly sync"
    assert most.headers == {"Authorization": "Bearer x", "X-Tenant": "a b"}
    assert "Bearer" not in repr(most)


def test_changes_contain_only_the_given_fields() -> None:
    changes = WebhookChanges.parse(b'{"description": null, "status": "disabled"}')

    assert changes.model_fields_set == {"description", "status"}
    assert changes.status is WebhookStatus.DISABLED


@pytest.mark.parametrize(
    "body, words",
    [
        *((body, "not JSON") for body in (b"", b"{", b"\xff", b'{"url": NaN}', b'"\\ud800"')),
        *((body, "not a JSON object") for body in (b"[]", b"null", b'"text"', b"7")),
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        NewWebhook.parse(body)


def test_every_missing_invalid_and_unknown_field_is_named() -> None:
    missing = faults(lambda: NewWebhook.parse(b"{}"))
    invalid = faults_of(NewWebhook, url="http://a.example", events=["company"], description=7)
    unknown = faults_of(NewWebhook, filters={"countries": ["dk"]})

    assert missing == {"url": "is required", "events": "is required"}
    assert list(invalid) == ["url", "events[0]", "description"]
    assert unknown == {"filters": "unknown field; did you mean filter?"}


@pytest.mark.parametrize("limits", [None, {}, {"countries": []}, {"forms": None}])
def test_a_filter_without_restrictions_is_stored_as_null(limits: object) -> None:
    assert NewWebhook.parse(a_draft(filter=limits)).filter is None


TEXTS = "give a list of at most 100 texts"
NO_COMPANY = "no company in no has København"
COMPANY = "give country and registration number"
PATTERN = "give an event type"
NO_PATTERNS: list[object] = [None, [], "company.updated", {"company.updated": True}]
#: Names of headers that the service or a proxy sets, in forms that servers treat alike.
RESERVED = """
    Content-Length x-signature Webhook-Id X_Signature x.timestamp Transfer_Encoding
    webhook_signature Proxy_Connection Forwarded X-Forwarded-For X_Real_IP Via
"""


@pytest.mark.parametrize(
    "field, value, path, words",
    [
        *(("events", events, "", "give a list of at least one pattern") for events in NO_PATTERNS),
        *(
            ("events", ["*", pattern], "[1]", PATTERN)
            for pattern in ("company", "company.", "*.updated", "**", "COMPANY.*", 7, None)
        ),
        ("events", ["einvoicing.chnaged"], "[0]", "did you mean einvoicing.changed?"),
        ("filter", "dk", "", "give null or an object with any of countries, companies"),
        ("filter", [], "", "give null or an object"),
        ("filter", {"country": ["dk"]}, ".country", "did you mean countries?"),
        ("filter", {"forms": "AS"}, ".forms", TEXTS),
        ("filter", {"forms": ["asz"]}, ".forms[0]", "give the code or the name of a legal form"),
        ("filter", {"forms": ["ZZZ"]}, ".forms[0]", "such as 80, AS or ApS"),
        ("filter", {"countries": ["dk"], "forms": ["80", "ASA"]}, ".forms[1]", "in dk has ASA"),
        (
            "filter",
            {"countries": ["no"], "municipalities": ["København"]},
            ".municipalities[0]",
            NO_COMPANY,
        ),
        (
            "filter",
            {"countries": ["no"], "companies": ["dk:12345674"]},
            ".companies",
            "none of them is in no",
        ),
        ("filter", {"industries": ["62", "6x"]}, ".industries[1]", "give an industry code"),
        ("filter", {"municipalities": [""]}, ".municipalities[0]", "give the name or the code"),
        ("filter", {"fields": ["colour"]}, ".fields[0]", "give a field of a company"),
        ("filter", {"fields": ["name"] * 101}, ".fields", TEXTS),
        ("filter", {"fields": [7]}, ".fields[0]", "such as name or address.street"),
        ("filter", {"countries": "dk"}, ".countries", "give a list"),
        ("filter", {"countries": ["dk", "se"]}, ".countries[1]", "give one of dk, no"),
        ("filter", {"countries": [["dk"]]}, ".countries[0]", "give one of dk, no"),
        ("filter", {"companies": "dk:12345674"}, ".companies", "at most 1000 companies"),
        *(
            ("filter", {"companies": ["dk:12345674", company]}, ".companies[1]", COMPANY)
            for company in ("12345675", "no:12345674", "dk:1234567٤", 12345674)
        ),
        ("filter", {"companies": ["dk:12345674"] * 1001}, ".companies", "at most 1000"),
        ("filter", {"watchlists": ["wl_1"]}, ".watchlists[0]", "give the id of a watchlist"),
        ("headers", [], "", "give an object of at most 10 header names"),
        ("headers", {f"X-{number}": "1" for number in range(11)}, "", "at most 10"),
        ("headers", {"X-A": "1", "x-a": "2"}, "", "give each name once"),
        ("headers", {"X-A": "1", "X_A": "2"}, "", "give each name once"),
        ("headers", {"X A": "1"}, ".X A", "give names of letters"),
        *(("headers", {name: "1"}, f".{name}", "is set by") for name in RESERVED.split()),
        *(
            ("headers", {"X-A": value}, ".X-A", "give a value of 1 to 1024")
            for value in ("", "a\r\nX-B: b", "é", 1, None, "1" * 1025)
        ),
        ("description", "ø" * (MAX_DESCRIPTION_LENGTH + 1), "", "give at most 500 characters"),
        ("status", "enabled", "", "unknown field"),
    ],
)
def test_an_error_of_a_new_webhook_has_its_path_and_a_hint(
    field: str, value: object, path: str, words: str
) -> None:
    [(parameter, message)] = faults_of(NewWebhook, **{field: value}).items()

    assert parameter == field + path
    assert words in message


@pytest.mark.parametrize(
    "body, fields, parameter, words",
    [
        (WebhookChanges, {"url": None}, "url", "give the URL as a string"),
        (WebhookChanges, {"events": []}, "events", "at least one pattern"),
        (WebhookChanges, {"filter": 7}, "filter", "give null or an object"),
        *(
            (WebhookChanges, {"status": status}, "status", "give one of enabled, disabled")
            for status in ("paused", None, ["enabled"])
        ),
        (WebhookChanges, {"secret": "whsec_mine"}, "secret", "unknown field"),
        (ExampleRequest, {"type": "company.sold"}, "type", "give an event type"),
        (Window, {}, "since", "is required"),
        *(
            (Window, {"since": since}, "since", "give a time with its offset")
            for since in (
                *(None, 1770000000, "2026-03-01", "2026-03-01T12:00:00"),
                *("yesterday", "0001-01-01T00:00:00+14:00"),
            )
        ),
        (Window, {"since": NOON, "until": "now"}, "until", "give a time with its offset"),
    ],
)
def test_an_error_of_other_bodies_has_its_path_and_a_hint(
    body: type[Body], fields: dict[str, Any], parameter: str, words: str
) -> None:
    [(path, message)] = faults_of(body, **fields).items()

    assert path == parameter
    assert words in message


@pytest.mark.parametrize(
    "part, value, nearest",
    [
        ("municipalities", "Ozlo", "Oslo"),
        ("municipalities", "Kobenhavn", "København"),
        ("forms", "ApSS", "80"),
        ("forms", "orgll", "ORGL"),
        ("industries", "99999", "9900"),
        ("industries", "62.99", "6290"),
        ("fields", "adress", "address"),
    ],
)
def test_a_value_that_no_company_has_gets_the_nearest(part: str, value: str, nearest: str) -> None:
    [message] = faults_of(NewWebhook, filter={part: [value]}).values()

    assert nearest in message.partition("did you mean")[2].rstrip("?").split()


@pytest.mark.parametrize(
    "parts",
    [
        {"municipalities": ["Xyzzy"]},
        {"municipalities": ["Ozlo"], "countries": ["dk"]},
        {"industries": ["software"]},
        {"industries": ["6x"]},
        {"forms": ["ApSS"], "countries": ["no"]},
    ],
)
def test_a_value_that_is_like_none_of_the_countries_gets_no_suggestion(
    parts: dict[str, Any],
) -> None:
    [message] = faults_of(NewWebhook, filter=parts).values()

    assert "did you mean" not in message


def test_a_filter_reads_what_a_list_of_companies_reads() -> None:
    found = a_filter(
        countries=["Denmark", "no"],
        companies=["DK12345674", "no 310 345 679 MVA", "12345674"],
        forms=["ApS", "A/S", "asa"],
    )

    assert found is not None
    assert found.countries == (Country.DK, Country.NO)
    assert found.companies == ("dk:12345674", "no:310345679")
    assert found.forms == ("80", "60", "ASA")


def test_words_of_a_filter_are_the_codes_that_they_mean() -> None:
    draft = a_draft(filter={"industries": ["software", "6x", "62"], "forms": ["shipping partners"]})
    words = (
        FilterWords(part="industries", words="software", codes=("62", "5829")),
        FilterWords(part="industries", words="6x", near=("six", "sex")),
        FilterWords(part="forms", words="shipping partners", codes=("PRE",)),
    )

    read = NewWebhook.parse(draft.replace(b'"6x",', b""), words).filter
    refused = faults(lambda: NewWebhook.parse(draft, words))
    many = (words[0].model_copy(update={"codes": tuple(map(str, range(101)))}),)
    most = faults(lambda: NewWebhook.parse(draft, many))

    assert read == WebhookFilter(industries=("62", "5829"), forms=("PRE",))
    assert "did you mean six or sex?" in refused["filter.industries[1]"]
    assert "a list has at most 100" in most["filter.industries[0]"]


@pytest.mark.parametrize(
    "limits",
    [
        {"forms": ["80", "AS", "SÆR", "285"]},
        # DB07 and SN2007, DB25 and SN2025, codes of before 2008, and those of unknown industries.
        {"industries": ["6", "62", "62.010", "620100", "6210", "622000", "62.200", "726000"]},
        {"industries": ["00.000", "980000", "999999", "01.1"]},
        {"municipalities": ["OSLO", "tana", "Deatnu - Tana", "ÅRHUS", "Aarhus", "SØLLERØD"]},
        {"municipalities": ["Skedsmo", "LONGYEARBYEN"], "countries": ["no"]},
        {"municipalities": ["1515", "0301", "101", "Herøy"]},
        {"companies": ["dk:12345674", "no:123456785"], "countries": ["no"]},
        {"companies": [f"dk:{number:08}" for number in range(1000)]},
        {"companies": ["dk:12345674"], "countries": ["no"], "watchlists": ["wl_" + "0" * 32]},
        {"fields": ["name"] * 100},
    ],
)
def test_a_filter_that_could_match_is_accepted(limits: dict[str, Any]) -> None:
    found = a_filter(**limits)

    assert found is not None
    assert {name: list(getattr(found, name)) for name in limits} == {
        name: list(dict.fromkeys(values)) for name, values in limits.items()
    }


def test_a_description_is_as_long_as_its_limit() -> None:
    longest = "ø" * MAX_DESCRIPTION_LENGTH

    assert NewWebhook.parse(a_draft(description=longest)).description == longest


def test_as_many_headers_are_changed_at_once_as_a_webhook_may_have() -> None:
    new = {f"X-New-{number}": "1" for number in range(11)}
    old = {f"X-Old-{number}": None for number in range(11)}
    replaced = dict(islice(new.items(), 10)) | dict(islice(old.items(), 10))

    assert WebhookChanges.parse(orjson.dumps({"headers": replaced})).headers == replaced
    assert faults_of(WebhookChanges, headers=new).keys() == {"headers"}
    assert faults_of(WebhookChanges, headers=old).keys() == {"headers"}


@pytest.mark.parametrize(
    "since, until, expected",
    [
        ("2026-03-01T13:00:00+01:00", None, (NOON - DAY, NOON)),
        # It starts at a whole second, does not reach into the future, and goes back thirty days.
        ("2026-03-01T12:00:00.750Z", None, (NOON - DAY, NOON)),
        (NOON - DAY, NOON + DAY, (NOON - DAY, NOON)),
        (NOON - 30 * DAY, None, (NOON - 30 * DAY, NOON)),
        (NOON - 2 * DAY, NOON - DAY, (NOON - 2 * DAY, NOON - DAY)),
        (NOON - 30 * DAY - timedelta(seconds=1), None, "2026-01-31T12:00:00Z or later"),
        (NOON, None, "before until and before now"),
        (NOON - DAY, NOON - DAY, "before until and before now"),
    ],
)
def test_a_window_is_whole_recent_and_ends_now_by_default(
    since: object, until: object, expected: object
) -> None:
    window = Window.parse(orjson.dumps({"since": since, "until": until}))

    if isinstance(expected, str):
        assert expected in faults(lambda: window.until_now(NOON))["since"]
    else:
        assert window.until_now(NOON) == expected


@pytest.mark.parametrize(
    "body, event_type",
    [(b"{}", "webhook.test"), (b'{"type": "company.removed"}', "company.removed")],
)
def test_a_test_event_has_the_type_that_its_request_names(body: bytes, event_type: str) -> None:
    assert ExampleRequest.parse(body).type == event_type


@pytest.mark.parametrize(
    "name", ["", " ", "a" * 101, "a\nb", "a\x00", "\x1b[31mred", "a\u2028b", 7]
)
@pytest.mark.parametrize("body", [NewList, ListChanges])
def test_a_name_of_a_list_is_a_short_line_without_control_characters(
    body: type[Body], name: object
) -> None:
    assert faults_of(body, name=name).keys() == {"name"}
    assert (
        body.parse(orjson.dumps({"name": " Kunder\u00a0🇩🇰 "})).model_dump()["name"]
        == "Kunder\u00a0🇩🇰"
    )
