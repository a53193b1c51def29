"""Changes of webhooks."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.failures import FailureCode
from common.contracts.webhooks import DisabledReason, Webhook, WebhookFilter, WebhookStatus
from tests.builders.webhooks import NOON, a_webhook
from webhook_registry.replies import Rejected
from webhook_registry.webhook_bodies import WebhookChanges
from webhook_registry.webhooks import changed, disabled, enabled, stopped_by_operator

LATER = NOON + timedelta(hours=1)
ID = {"id": "wh_1"}
NORWAY = (Country.NO,)
FILTERED: dict[str, Any] = {**ID, "filter": WebhookFilter(countries=NORWAY, forms=("AS",))}
WITH_HEADERS: dict[str, Any] = {**ID, "headers": ("X-Tenant", "Authorization")}
TEN = tuple(f"X-{number}" for number in range(10))


def after(webhook: Webhook, **fields: Any) -> Webhook:
    return changed(webhook, WebhookChanges.parse(orjson.dumps(fields)), at=LATER)


def a_disabled_webhook(reason: DisabledReason = DisabledReason.DELIVERY_FAILED) -> Webhook:
    return a_webhook(
        id="wh_1",
        status=WebhookStatus.DISABLED,
        disabled_at=NOON,
        disabled_reason=reason,
        generation=2,
    )


@pytest.mark.parametrize(
    "before, given, changes",
    [
        (
            {"events": ("company.*",), "description": "before"},
            {"description": "after"},
            {"description": "after"},
        ),
        (
            {},
            {"url": "https://Other.example.com/x"},
            {"url": "https://Other.example.com/x", "host": "other.example.com"},
        ),
        ({}, {"events": ["owners.*"]}, {"events": ("owners.*",)}),
        (
            FILTERED,
            {"filter": {"municipalities": ["Oslo"]}},
            {"filter": WebhookFilter(countries=NORWAY, forms=("AS",), municipalities=("Oslo",))},
        ),
        (
            FILTERED,
            {"filter": {"forms": ["ASA"]}},
            {"filter": WebhookFilter(countries=NORWAY, forms=("ASA",))},
        ),
        (FILTERED, {"filter": {"forms": None}}, {"filter": WebhookFilter(countries=NORWAY)}),
        (FILTERED, {"filter": {"forms": None, "countries": []}}, {"filter": None}),
        (FILTERED, {"filter": None, "description": None}, {"filter": None}),
        (
            WITH_HEADERS,
            {"headers": {"X-Stage": "test", "x-tenant": "8"}},
            {
                "headers": ("Authorization", "X-Stage", "x-tenant"),
                "new_headers": {"X-Stage": "test", "x-tenant": "8"},
            },
        ),
        (
            WITH_HEADERS,
            {"headers": {"x-tenant": None}},
            {"headers": ("Authorization",), "new_headers": {}},
        ),
        (WITH_HEADERS, {"headers": None}, {"headers": (), "new_headers": {}}),
        (
            {"headers": TEN},
            {"headers": {"X-0": None, "X-10": "1"}},
            {"headers": (*TEN[1:], "X-10"), "new_headers": {"X-10": "1"}},
        ),
        # Without an effect, the time of the last change stays.
        (FILTERED, {"filter": {}}, None),
        (WITH_HEADERS, {"headers": {}}, None),
        ({"description": "same"}, {"description": "same", "status": "enabled"}, None),
        ({}, {}, None),
    ],
)
def test_a_change_is_a_merge_patch(
    before: dict[str, Any], given: dict[str, Any], changes: dict[str, Any] | None
) -> None:
    webhook = a_webhook(**{**ID, **before})

    found = after(webhook, **given)

    expected = before if changes is None else {**before, **changes, "updated_at": LATER}
    assert found == a_webhook(**{**ID, **expected})
    assert found.new_headers == expected.get("new_headers")


@pytest.mark.parametrize(
    "before, given, parameter",
    [
        ({"filter": WebhookFilter(forms=("AS",))}, {"filter": {"countries": ["dk"]}}, ".forms[0]"),
        ({"headers": TEN}, {"headers": {"X-10": "1"}}, ""),
    ],
)
def test_a_part_that_does_not_fit_the_parts_that_stay_is_refused(
    before: dict[str, Any], given: dict[str, Any], parameter: str
) -> None:
    with pytest.raises(Rejected) as caught:
        after(a_webhook(**before), **given)

    [field] = given
    assert [error.parameter for error in caught.value.failure.errors] == [field + parameter]


def test_an_enabled_webhook_starts_a_new_generation() -> None:
    webhook = after(a_disabled_webhook(), status="enabled")

    assert webhook == a_webhook(id="wh_1", generation=3, updated_at=LATER)


def test_a_webhook_shows_that_its_owner_disabled_it_and_keeps_the_first_reason() -> None:
    by_owner = after(a_webhook(), status="disabled")
    gone = a_disabled_webhook(DisabledReason.GONE)

    assert by_owner.status is WebhookStatus.DISABLED
    assert (by_owner.disabled_at, by_owner.disabled_reason) == (LATER, DisabledReason.OWNER)
    assert by_owner.generation == 2
    assert after(gone, status="disabled") == gone


def test_an_owner_can_describe_and_not_enable_a_webhook_that_an_operator_disabled() -> None:
    webhook = a_disabled_webhook(DisabledReason.OPERATOR)

    with pytest.raises(Rejected) as caught:
        after(webhook, status="enabled")

    assert caught.value.failure.code is FailureCode.WEBHOOK_DISABLED
    assert after(webhook, description="ours").description == "ours"


def test_an_operator_can_disable_a_disabled_webhook_and_enable_it() -> None:
    stopped = stopped_by_operator(a_disabled_webhook(DisabledReason.OWNER), at=LATER)
    started = enabled(stopped, at=LATER)

    assert (stopped.disabled_reason, stopped.generation) == (DisabledReason.OPERATOR, 2)
    assert (started.enabled, started.generation) == (True, 3)


def test_repeated_enabling_and_disabling_change_nothing() -> None:
    running, standing = a_webhook(), a_disabled_webhook()

    assert enabled(running, at=LATER) == running
    assert disabled(standing, DisabledReason.OWNER, at=LATER) == standing
