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


def after(webhook: Webhook, **fields: Any) -> Webhook:
    return changed(webhook, WebhookChanges.parse(orjson.dumps(fields)), at=LATER)


def a_disabled_webhook(reason: DisabledReason = DisabledReason.DELIVERY_FAILED) -> Webhook:
    return a_webhook(
        status=WebhookStatus.DISABLED, disabled_at=NOON, disabled_reason=reason, generation=2
    )


def test_absent_fields_stay_unchanged() -> None:
    webhook = a_webhook(description="before", events=("company.*",))

    assert after(webhook, description="after") == a_webhook(
        id=webhook.id, description="after", events=("company.*",), updated_at=LATER
    )


def test_a_new_url_changes_the_host() -> None:
    webhook = after(a_webhook(), url="https://Other.example.com/x")

    assert (webhook.url, webhook.host) == ("https://Other.example.com/x", "other.example.com")


def test_absent_parts_of_a_filter_stay_and_null_clears_them() -> None:
    webhook = a_webhook(filter=WebhookFilter(countries=(Country.NO,), forms=("AS",)))

    assert after(webhook, filter={"municipalities": ["Oslo"]}).filter == WebhookFilter(
        countries=(Country.NO,), forms=("AS",), municipalities=("Oslo",)
    )
    assert after(webhook, filter={"forms": ["ASA"]}).filter == WebhookFilter(
        countries=(Country.NO,), forms=("ASA",)
    )
    assert after(webhook, filter={"forms": None}).filter == WebhookFilter(countries=(Country.NO,))
    assert after(webhook, filter={"forms": None, "countries": []}).filter is None
    assert after(webhook, filter={}) == webhook


def test_a_part_that_excludes_the_parts_that_stay_is_refused() -> None:
    webhook = a_webhook(filter=WebhookFilter(forms=("AS",)))

    with pytest.raises(Rejected) as caught:
        after(webhook, filter={"countries": ["dk"]})

    assert [error.parameter for error in caught.value.failure.errors] == ["filter.forms[0]"]


def test_headers_that_are_not_given_stay_and_null_removes_one_or_all() -> None:
    webhook = a_webhook(headers=("X-Tenant", "Authorization"))

    added = after(webhook, headers={"X-Stage": "test", "x-tenant": "8"})
    assert added.headers == ("Authorization", "X-Stage", "x-tenant")
    assert added.new_headers == {"X-Stage": "test", "x-tenant": "8"}
    assert after(webhook, headers={"x-tenant": None}).headers == ("Authorization",)
    assert after(webhook, headers=None).headers == ()
    assert after(webhook, headers={}) == webhook


def test_a_change_cannot_add_more_headers_than_a_webhook_may_have() -> None:
    webhook = a_webhook(headers=tuple(f"X-{number}" for number in range(10)))

    replaced = after(webhook, headers={"X-0": None, "X-10": "1"})
    assert len(replaced.headers) == 10
    with pytest.raises(Rejected) as caught:
        after(webhook, headers={"X-10": "1"})
    assert [error.parameter for error in caught.value.failure.errors] == ["headers"]


def test_null_removes_filter_and_description() -> None:
    webhook = after(a_webhook(description="before"), description=None, filter=None)

    assert (webhook.description, webhook.filter) == (None, None)


def test_a_change_without_effect_keeps_the_time() -> None:
    webhook = a_webhook(description="same")

    assert after(webhook, description="same", status="enabled") == webhook


def test_an_enabled_webhook_starts_a_new_generation() -> None:
    webhook = after(a_disabled_webhook(), status="enabled")

    assert webhook.enabled
    assert (webhook.disabled_at, webhook.disabled_reason) == (None, None)
    assert webhook.generation == 3


def test_a_webhook_shows_that_its_owner_disabled_it() -> None:
    webhook = after(a_webhook(), status="disabled")

    assert webhook.status is WebhookStatus.DISABLED
    assert (webhook.disabled_at, webhook.disabled_reason) == (LATER, DisabledReason.OWNER)
    assert webhook.generation == 2


def test_a_webhook_that_is_disabled_twice_keeps_the_first_reason() -> None:
    webhook = a_disabled_webhook(DisabledReason.GONE)

    assert after(webhook, status="disabled") == webhook


def test_an_owner_cannot_enable_a_webhook_that_an_operator_disabled() -> None:
    with pytest.raises(Rejected) as caught:
        after(a_disabled_webhook(DisabledReason.OPERATOR), status="enabled")

    assert caught.value.failure.code is FailureCode.WEBHOOK_DISABLED


def test_an_owner_can_describe_a_webhook_that_an_operator_disabled() -> None:
    webhook = after(a_disabled_webhook(DisabledReason.OPERATOR), description="ours")

    assert webhook.description == "ours"


def test_an_operator_can_disable_a_disabled_webhook() -> None:
    webhook = stopped_by_operator(a_disabled_webhook(DisabledReason.OWNER), at=LATER)

    assert webhook.disabled_reason is DisabledReason.OPERATOR
    assert webhook.generation == 2


def test_an_operator_can_enable_a_webhook_that_an_operator_disabled() -> None:
    stopped = stopped_by_operator(a_webhook(), at=NOON)

    started = enabled(stopped, at=LATER)

    assert started.enabled
    assert started.generation == 3


def test_repeated_enabling_and_disabling_change_nothing() -> None:
    running, standing = a_webhook(), a_disabled_webhook()

    assert enabled(running, at=LATER) == running
    assert disabled(standing, DisabledReason.OWNER, at=LATER) == standing
