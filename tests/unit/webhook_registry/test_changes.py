"""What changes make of webhooks."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from common.contracts.failures import FailureCode
from common.contracts.webhooks import DisabledReason, WebhookStatus
from tests.builders.webhooks import NOON, a_webhook
from webhook_registry.domain.bodies import read_changes
from webhook_registry.domain.changes import changed, disabled, enabled, stopped_by_operator
from webhook_registry.domain.refusals import Rejected
from webhook_store.models import Webhook

LATER = NOON + timedelta(hours=1)


def after(webhook: Webhook, **fields: Any) -> Webhook:
    return changed(webhook, read_changes(orjson.dumps(fields)), at=LATER)


def a_disabled_webhook(reason: DisabledReason = DisabledReason.DELIVERY_FAILED) -> Webhook:
    return a_webhook(
        status=WebhookStatus.DISABLED, disabled_at=NOON, disabled_reason=reason, generation=2
    )


def test_what_is_not_given_stays() -> None:
    webhook = a_webhook(description="before", events=("company.*",))

    assert after(webhook, description="after") == a_webhook(
        id=webhook.id, description="after", events=("company.*",), updated_at=LATER
    )


def test_a_new_url_brings_its_host() -> None:
    webhook = after(a_webhook(), url="https://Other.example.com/x")

    assert (webhook.url, webhook.host) == ("https://Other.example.com/x", "other.example.com")


def test_null_takes_filter_and_description_away() -> None:
    webhook = after(a_webhook(description="before"), description=None, filter=None)

    assert (webhook.description, webhook.filter) == (None, None)


def test_a_change_that_changes_nothing_leaves_the_time() -> None:
    webhook = a_webhook(description="same")

    assert after(webhook, description="same", status="enabled") == webhook


def test_a_webhook_that_is_enabled_again_is_of_a_new_generation() -> None:
    webhook = after(a_disabled_webhook(), status="enabled")

    assert webhook.enabled
    assert (webhook.disabled_at, webhook.disabled_reason) == (None, None)
    assert webhook.generation == 3


def test_a_webhook_that_its_owner_disables_says_so() -> None:
    webhook = after(a_webhook(), status="disabled")

    assert webhook.status is WebhookStatus.DISABLED
    assert (webhook.disabled_at, webhook.disabled_reason) == (LATER, DisabledReason.OWNER)
    assert webhook.generation == 2


def test_a_webhook_that_is_disabled_twice_keeps_the_first_reason() -> None:
    webhook = a_disabled_webhook(DisabledReason.GONE)

    assert after(webhook, status="disabled") == webhook


def test_what_the_operator_disabled_its_owner_cannot_enable() -> None:
    with pytest.raises(Rejected) as caught:
        after(a_disabled_webhook(DisabledReason.OPERATOR), status="enabled")

    assert caught.value.failure.code is FailureCode.WEBHOOK_DISABLED


def test_what_the_operator_disabled_its_owner_may_describe() -> None:
    webhook = after(a_disabled_webhook(DisabledReason.OPERATOR), description="ours")

    assert webhook.description == "ours"


def test_the_operator_stops_a_webhook_for_good_whoever_stopped_it_before() -> None:
    webhook = stopped_by_operator(a_disabled_webhook(DisabledReason.OWNER), at=LATER)

    assert webhook.disabled_reason is DisabledReason.OPERATOR
    assert webhook.generation == 2


def test_the_operator_can_start_what_the_operator_stopped() -> None:
    stopped = stopped_by_operator(a_webhook(), at=NOON)

    started = enabled(stopped, at=LATER)

    assert started.enabled
    assert started.generation == 3


def test_starting_what_runs_and_stopping_what_stands_change_nothing() -> None:
    running, standing = a_webhook(), a_disabled_webhook()

    assert enabled(running, at=LATER) == running
    assert disabled(standing, DisabledReason.OWNER, at=LATER) == standing
