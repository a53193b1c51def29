"""Settings that would lose or double deliveries stop the process."""

from datetime import timedelta
from ipaddress import IPv4Network

import pytest
from pydantic import ValidationError

from tests.builders.deliveries import dispatcher_settings as settings


def test_the_schedule_is_1_5_30_and_120_minutes_unless_it_is_set() -> None:
    minutes = [delay / timedelta(minutes=1) for delay in settings().webhook_retry_delays]

    assert minutes == [1, 5, 30, 120]


def test_the_schedule_is_one_setting() -> None:
    delays = settings(webhook_retry_delays="PT0.2S, PT3S").webhook_retry_delays

    assert delays == (timedelta(milliseconds=200), timedelta(seconds=3))


def test_private_networks_are_blocked_by_default() -> None:
    assert settings().webhook_extra_allowed_networks == ()
    assert settings(webhook_extra_allowed_networks="").webhook_extra_allowed_networks == ()
    assert settings().webhook_extra_ca_file is None


def test_networks_are_a_list() -> None:
    allowed = settings(webhook_extra_allowed_networks="127.0.0.0/8").webhook_extra_allowed_networks

    assert allowed == (IPv4Network("127.0.0.0/8"),)


@pytest.mark.parametrize(
    "name,value,words",
    [
        ("webhook_lease", "PT10S", "WEBHOOK_LEASE must be a second longer"),
        ("webhook_post_timeout", "PT30S", "WEBHOOK_LEASE must be a second longer"),
        ("broker_consumer_timeout", "PT30S", "WEBHOOK_LEASE must be shorter"),
        ("webhook_retry_delays", "1m", "ISO 8601"),
        ("webhook_retry_delays", "60", "ISO 8601"),
        ("webhook_retry_delays", "PT0S", "at least a millisecond"),
        ("webhook_secret_keys", "k1:short", "base64"),
        ("webhook_extra_allowed_networks", "everything", "everything"),
        ("webhook_max_posts_per_webhook", "0", "greater than or equal to 1"),
    ],
)
def test_a_bad_value_is_refused_with_a_sentence(name: str, value: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**{name: value})
