"""Validation of request bodies."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import FailureCode
from common.contracts.webhooks import WebhookFilter, WebhookStatus
from tests.builders.webhooks import NOON, URL, a_draft
from webhook_registry.replies import Rejected
from webhook_registry.webhook_bodies import (
    MAX_DESCRIPTION_LENGTH,
    read_changes,
    read_draft,
    read_test,
    read_window,
)

DAY = timedelta(days=1)


def faults(read: Callable[[], object]) -> dict[str, str]:
    """Messages by parameter."""
    with pytest.raises(Rejected) as caught:
        read()
    failure = caught.value.failure
    assert failure.code is FailureCode.INVALID_BODY
    return {error.parameter: error.message for error in failure.errors}


def faults_of_draft(**fields: Any) -> dict[str, str]:
    return faults(lambda: read_draft(a_draft(**fields)))


def test_a_draft_may_have_every_field() -> None:
    body = a_draft(
        events=["company.updated", "owners.*"],
        filter={"countries": ["dk"], "companies": ["dk:01234567"]},
        description="nightly sync",
    )

    draft = read_draft(body)

    assert draft.fields["url"] == URL
    assert draft.events == ("company.updated", "owners.*")
    assert draft.filter == WebhookFilter(
        countries=(Country.DK,), companies=(CompanyKey.parse("dk:01234567"),)
    )
    assert draft.description == "nightly sync"


def test_a_draft_requires_only_url_and_events() -> None:
    draft = read_draft(a_draft())

    assert (draft.filter, draft.description) == (None, None)


@pytest.mark.parametrize(
    "body, words",
    [
        *((body, "not JSON") for body in (b"", b"{", b"\xff", b'{"url": NaN}', b'"\\ud800"')),
        *((body, "not a JSON object") for body in (b"[]", b"null", b'"text"', b"7")),
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        read_draft(body)


def test_every_missing_invalid_and_unknown_field_is_named() -> None:
    missing = faults(lambda: read_draft(b"{}"))
    invalid = faults_of_draft(url="http://a.example", events=["company"], description=7)
    unknown = faults_of_draft(filters={"countries": ["dk"]})

    assert missing == {"url": "is required", "events": "is required"}
    assert invalid.keys() == {"url", "events[0]", "description"}
    assert unknown == {"filters": "unknown field; did you mean filter?"}


def test_the_case_of_a_country_does_not_matter() -> None:
    limits = {"countries": ["DK", "dk"], "companies": ["DK:12345674", "no:123456785"]}

    filtered = read_draft(a_draft(filter=limits)).filter

    assert filtered is not None
    assert filtered.countries == (Country.DK,)
    assert filtered.companies == ("dk:12345674", "no:123456785")


@pytest.mark.parametrize("events", [None, [], "company.updated", {"company.updated": True}])
def test_events_must_be_a_list_of_patterns(events: object) -> None:
    assert "at least one pattern" in faults_of_draft(events=events)["events"]


@pytest.mark.parametrize(
    "pattern", ["company", "company.", "company.renamed", "*.updated", "**", "COMPANY.*", 7, None]
)
def test_an_unknown_pattern_is_named_by_its_index(pattern: object) -> None:
    assert faults_of_draft(events=["*", pattern]).keys() == {"events[1]"}


def test_a_misspelt_pattern_gets_the_nearest_one() -> None:
    [fault] = faults_of_draft(events=["einvoicing.chnaged"]).values()

    assert fault.endswith("did you mean einvoicing.changed?")


def test_a_pattern_given_twice_counts_once() -> None:
    assert read_draft(a_draft(events=["*", "*"])).events == ("*",)


@pytest.mark.parametrize("limits", [None, {}, {"countries": []}, {"forms": None}])
def test_a_filter_without_restrictions_is_stored_as_null(limits: object) -> None:
    assert read_draft(a_draft(filter=limits)).filter is None


@pytest.mark.parametrize(
    "limits, parameter",
    [
        ("dk", "filter"),
        ([], "filter"),
        ({"country": ["dk"]}, "filter.country"),
        ({"forms": "AS"}, "filter.forms"),
        ({"forms": ["as"]}, "filter.forms[0]"),
        ({"countries": ["dk"], "forms": ["80", "AS"]}, "filter.forms[1]"),
        ({"countries": ["no"], "municipalities": ["København"]}, "filter.municipalities[0]"),
        ({"countries": ["no"], "companies": ["dk:12345674"]}, "filter.companies"),
        ({"industries": ["62", "6x"]}, "filter.industries[1]"),
        ({"municipalities": [""]}, "filter.municipalities[0]"),
        ({"fields": ["colour"]}, "filter.fields[0]"),
        ({"fields": ["name"] * 101}, "filter.fields"),
        ({"countries": "dk"}, "filter.countries"),
        ({"countries": ["dk", "se"]}, "filter.countries[1]"),
        ({"countries": [["dk"]]}, "filter.countries[0]"),
        ({"companies": "dk:12345674"}, "filter.companies"),
        ({"companies": ["12345674"]}, "filter.companies[0]"),
        ({"companies": ["dk:12345674", "no:12345674"]}, "filter.companies[1]"),
        ({"companies": ["dk:1234567٤"]}, "filter.companies[0]"),
        ({"companies": [12345674]}, "filter.companies[0]"),
        ({"companies": [f"dk:{number:08}" for number in range(1001)]}, "filter.companies"),
    ],
)
def test_an_invalid_filter_is_named_by_its_path(limits: object, parameter: str) -> None:
    assert faults_of_draft(filter=limits).keys() == {parameter}


@pytest.mark.parametrize(
    "part, value, nearest",
    [
        ("municipalities", "Ozlo", "Oslo"),
        ("municipalities", "Kobenhavn", "København"),
        ("forms", "as", "AS"),
        ("forms", "ApS", "80"),
        ("industries", "99999", "9900"),
        ("industries", "62.99", "6290"),
        ("fields", "adress", "address"),
    ],
)
def test_a_value_that_no_company_has_gets_the_nearest(part: str, value: str, nearest: str) -> None:
    [message] = faults_of_draft(filter={part: [value]}).values()

    assert "did you mean" in message
    assert nearest in message.partition("did you mean")[2].rstrip("?").split()


def test_an_unknown_value_without_a_similar_one_gets_an_example() -> None:
    assert faults_of_draft(filter={"forms": ["ZZZ"]}) == {
        "filter.forms[0]": "give the code of a legal form as companies have it, such as 80 or AS"
    }


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
    ],
)
def test_a_filter_that_could_match_is_accepted(limits: dict[str, Any]) -> None:
    assert read_draft(a_draft(filter=limits)).filter is not None


def test_a_thousand_companies_are_accepted() -> None:
    companies = [f"dk:{number:08}" for number in range(1000)]

    draft = read_draft(a_draft(filter={"companies": companies}))

    assert draft.filter is not None
    assert draft.filter.companies == tuple(companies)


def test_a_description_is_not_longer_than_its_limit() -> None:
    longest = "ø" * MAX_DESCRIPTION_LENGTH

    assert read_draft(a_draft(description=longest)).description == longest
    assert faults_of_draft(description=longest + "ø").keys() == {"description"}


def test_changes_contain_only_the_given_fields() -> None:
    changes = read_changes(orjson.dumps({"description": None, "status": "disabled"}))

    assert changes.given == {"description", "status"}
    assert changes.status is WebhookStatus.DISABLED
    assert changes.destination is None


@pytest.mark.parametrize(
    "fields, parameter",
    [
        ({"url": None}, "url"),
        ({"events": []}, "events"),
        ({"filter": 7}, "filter"),
        ({"status": "paused"}, "status"),
        ({"status": None}, "status"),
        ({"status": ["enabled"]}, "status"),
        ({"secret": "whsec_mine"}, "secret"),
        ({"id": "wh_1"}, "id"),
    ],
)
def test_an_invalid_change_is_named(fields: dict[str, Any], parameter: str) -> None:
    assert faults(lambda: read_changes(orjson.dumps(fields))).keys() == {parameter}


@pytest.mark.parametrize(
    "fields, since, until",
    [
        ({"since": "2026-03-01T13:00:00+01:00"}, NOON - DAY, NOON),
        # It starts at a whole second, does not reach into the future, and goes back thirty days.
        ({"since": "2026-03-01T12:00:00.750Z"}, NOON - DAY, NOON),
        ({"since": NOON - DAY, "until": NOON + DAY}, NOON - DAY, NOON),
        ({"since": NOON - 30 * DAY}, NOON - 30 * DAY, NOON),
        ({"since": NOON - 2 * DAY, "until": NOON - DAY}, NOON - 2 * DAY, NOON - DAY),
    ],
)
def test_a_window_ends_now_by_default(
    fields: dict[str, object], since: datetime, until: datetime
) -> None:
    window = read_window(orjson.dumps(fields), now=NOON)

    assert (window.since, window.until) == (since, until)


@pytest.mark.parametrize(
    "body, parameter",
    [
        (b"{}", "since"),
        (b'{"since": null}', "since"),
        (b'{"since": 1770000000}', "since"),
        (b'{"since": "2026-03-01"}', "since"),
        (b'{"since": "2026-03-01T12:00:00"}', "since"),
        (b'{"since": "yesterday"}', "since"),
        (b'{"since": "0001-01-01T00:00:00+14:00"}', "since"),
        (b'{"since": "2026-01-31T11:59:59Z"}', "since"),
        (b'{"since": "2026-03-02T12:00:00Z"}', "since"),
        (b'{"since": "2026-03-01T12:00:00Z", "until": "2026-03-01T12:00:00Z"}', "since"),
        (b'{"since": "2026-03-01T12:00:00Z", "until": "now"}', "until"),
    ],
)
def test_an_invalid_window_is_refused(body: bytes, parameter: str) -> None:
    assert faults(lambda: read_window(body, now=NOON)).keys() == {parameter}


#: Names of headers that the service or a proxy sets, in forms that servers treat alike.
RESERVED = """
    Content-Length x-signature Webhook-Id X_Signature x.timestamp Transfer_Encoding
    webhook_signature Proxy_Connection Forwarded X-Forwarded-For X_Real_IP Via
"""


@pytest.mark.parametrize(
    "headers, parameter",
    [
        ([], "headers"),
        ({f"X-{number}": "1" for number in range(11)}, "headers"),
        ({"X-A": "1", "x-a": "2"}, "headers"),
        ({"X A": "1"}, "headers.X A"),
        ({"X-A": "1", "X_A": "2"}, "headers"),
        *(({name: "1"}, f"headers.{name}") for name in RESERVED.split()),
        ({"X-A": ""}, "headers.X-A"),
        ({"X-A": "a\r\nX-B: b"}, "headers.X-A"),
        ({"X-A": "é"}, "headers.X-A"),
        ({"X-A": 1}, "headers.X-A"),
        ({"X-A": "1" * 1025}, "headers.X-A"),
    ],
)
def test_an_invalid_header_is_named_without_its_value(headers: object, parameter: str) -> None:
    assert faults_of_draft(headers=headers).keys() == {parameter}


def test_as_many_headers_are_changed_at_once_as_a_webhook_may_have() -> None:
    new = {f"X-New-{number}": "1" for number in range(11)}
    old = {f"X-Old-{number}": None for number in range(11)}
    replaced = dict(islice(new.items(), 10)) | dict(islice(old.items(), 10))

    assert read_changes(orjson.dumps({"headers": replaced})).headers == replaced
    assert faults(lambda: read_changes(orjson.dumps({"headers": new}))).keys() == {"headers"}
    assert faults(lambda: read_changes(orjson.dumps({"headers": old}))).keys() == {"headers"}


def test_headers_are_read_with_their_values() -> None:
    draft = read_draft(a_draft(headers={"Authorization": "Bearer x", "X-Tenant": "a b"}))

    assert draft.headers == {"Authorization": "Bearer x", "X-Tenant": "a b"}
    assert read_draft(a_draft(headers=None)).headers == {}
    assert "Bearer" not in repr(draft)


@pytest.mark.parametrize(
    "body, event_type",
    [
        (b"", "webhook.test"),
        (b"{}", "webhook.test"),
        (b'{"type": "company.removed"}', "company.removed"),
    ],
)
def test_a_test_event_has_the_type_that_its_request_names(body: bytes, event_type: str) -> None:
    assert read_test(body) == event_type


def test_a_test_event_of_an_unknown_type_is_refused() -> None:
    assert faults(lambda: read_test(b'{"type": "company.sold"}')).keys() == {"type"}
