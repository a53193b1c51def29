"""When digests are sent, and whose fault a refusal is."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from common.contracts.watchlists import Digest, DigestId, Period, WatchlistId
from webhook_registry.settings import DigestSettings
from webhook_registry.watchlists.digest_sender import Schedule, is_about, retry_delay
from webhook_registry.watchlists.mailer import FailureReason, Step, reason_of
from webhook_store.recipients import address_key, mailbox_key

SCHEDULE = Schedule(time(6), ZoneInfo("Europe/Copenhagen"), timedelta(seconds=30))
REQUIRED: dict[str, Any] = {
    "amqp_url": "amqp://broker.example:5672/",
    "mongo_url": "mongodb://database.example:27017/?replicaSet=rs0",
    "webhook_secret_keys": "k1:" + "A" * 43 + "=",
    "smtp_host": "mail.example.com",
    "mail_from": "News <news@example.com>",
    "public_url": "https://registry.example.com/",
}


@pytest.mark.parametrize(
    "events, fields, is_sent",
    [
        (("*",), (), True),
        (("company.*",), (), True),
        (("company.updated",), ("address",), True),
        (("*",), ("address.street",), True),
        (("owners.*",), (), False),
        (("company.updated",), ("name",), False),
    ],
)
def test_a_digest_is_about_its_events_and_fields(
    events: tuple[str, ...],
    fields: tuple[str, ...],
    is_sent: bool,  # noqa: FBT001
) -> None:
    change = {"field": "address.street", "old": "A", "new": "B"}
    event = {"type": "company.updated", "data": {"changes": [change]}}
    digest = Digest(
        id=DigestId("dg_1"),
        owner="acme",
        watchlist_id=WatchlistId("wl_1"),
        address="news@example.com",
        period=Period.DAILY,
        events=events,
        fields=fields,
        created_at=datetime(2026, 3, 2, tzinfo=UTC),
    )

    assert is_about(digest, event) is is_sent


@pytest.mark.parametrize("after, due", [
    ("2026-01-10T04:59:59", "2026-01-10T05:00:00"),
    ("2026-01-10T05:00:00", "2026-01-11T05:00:00"),
    ("2026-01-10T23:30:00", "2026-01-11T05:00:00"),
    # Summer time begins on the 29th of March, and ends on the 25th of October.
    ("2026-03-28T05:00:00", "2026-03-29T04:00:00"),
    ("2026-10-24T04:00:00", "2026-10-25T05:00:00"),
])  # fmt: skip
def test_a_daily_digest_is_due_at_its_time_in_its_zone(after: str, due: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)

    assert SCHEDULE.next(Period.DAILY, moment) == datetime.fromisoformat(due).replace(tzinfo=UTC)


def test_a_time_that_summer_time_skips_is_due_once() -> None:
    skipped = Schedule(time(2, 30), ZoneInfo("Europe/Copenhagen"), timedelta(seconds=30))
    first = skipped.next(Period.DAILY, datetime(2026, 3, 28, 12, tzinfo=UTC))

    assert first == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert skipped.next(Period.DAILY, first) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)


def test_an_immediate_digest_is_due_after_its_interval() -> None:
    now = datetime(2026, 1, 10, tzinfo=UTC)

    assert SCHEDULE.next(Period.IMMEDIATE, now) == now + timedelta(seconds=30)


def test_delays_between_tries_double_up_to_an_hour() -> None:
    delays = [retry_delay(failures) // timedelta(minutes=1) for failures in (0, 1, 2, 5, 6, 10**9)]

    assert delays == [1, 2, 4, 32, 60, 60]


@pytest.mark.parametrize("step, code, reply, reason", [
    (Step.RCPT, 550, "5.1.1 no such user", FailureReason.RECIPIENT),
    (Step.RCPT, 550, "no such user", FailureReason.RECIPIENT),
    (Step.RCPT, 552, "5.2.2 mailbox full", FailureReason.RECIPIENT),
    (Step.RCPT, 550, "5.7.1 relaying denied", FailureReason.SENDER),
    (Step.RCPT, 550, "5.1.8 bad sender's system", FailureReason.SENDER),
    (Step.RCPT, 450, "4.2.0 greylisted", FailureReason.TEMPORARY),
    (Step.MAIL, 550, "5.1.0 sender rejected", FailureReason.SENDER),
    (Step.DATA, 554, "5.1.1 no valid recipients", FailureReason.SENDER),
    (Step.END, 550, "5.1.1 no such user", FailureReason.RECIPIENT),
    (Step.END, 554, "looks like spam", FailureReason.SENDER),
    (Step.END, 421, "4.3.2 shutting down", FailureReason.TEMPORARY),
])  # fmt: skip
def test_a_refusal_has_a_reason(step: Step, code: int, reply: str, reason: FailureReason) -> None:
    assert reason_of(step, code, reply) is reason


def test_a_mailbox_is_the_same_whatever_its_case_and_tag() -> None:
    keys = {
        mailbox_key(one) for one in ("a.b@example.com", "A.B+x@Example.com", "a.b+@example.com")
    }

    assert len(keys) == 1
    assert mailbox_key("b@example.com") not in keys


@pytest.mark.parametrize("address, other, is_same", [
    ("o.ffi.cer@gmail.com", "Officer+x@GoogleMail.com", True),
    ("officer@icloud.com", "officer+x@me.com", True),
    ("anna-prove_1@proton.me", "anna.prove.1+x@protonmail.com", True),
    ("anna.prove@ya.ru", "anna-prove@yandex.com", True),
    ("anna-shop@yahoo.dk", "anna@yahoo.dk", True),
    ("any@anna.fastmail.com", "anna+x@fastmail.com", True),
    ("anna+x@hotmail.no", "anna@hotmail.no", True),
    # Dots, hyphens and other domains are another's.
    ("a.nna@outlook.com", "anna@outlook.com", False),
    ("a.nna@example.com", "anna@example.com", False),
    ("anna-shop@example.com", "anna@example.com", False),
    ("anna@yahoo.dk", "anna@yahoo.no", False),
    ("anna@gmail.com", "anna@outlook.com", False),
    # Nothing but ignored letters.
    ("-@yahoo.dk", "--@yahoo.dk", False),
])  # fmt: skip
def test_a_mailbox_is_what_its_provider_makes_of_an_address(
    address: str, other: str, *, is_same: bool
) -> None:
    assert (mailbox_key(address) == mailbox_key(other)) is is_same


def test_an_address_is_the_same_whatever_its_case_but_not_its_tag() -> None:
    assert address_key("A.B@Example.com") == address_key("a.b@example.com")
    assert address_key("a.b+x@example.com") != address_key("a.b@example.com")


@pytest.mark.parametrize("name, value", [
    ("mail_from", "News"),
    ("mail_from", "a@b.example\r\nBcc: c@d.example"),
    ("public_url", "registry.example.com"),
    ("public_url", ""),
    ("digest_time", "6"),
    ("digest_time", "24:00"),
    ("digest_time_zone", "Copenhagen"),
    ("digest_time_zone", "../etc/passwd"),
    ("smtp_tls", "none"),
    ("smtp_host", ""),
    ("digest_interval", "30m"),
])  # fmt: skip
def test_an_invalid_setting_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name.upper() if name == "smtp_tls" else name):
        DigestSettings(**{**REQUIRED, name: value})


def test_valid_settings_are_read() -> None:
    settings = DigestSettings(**{**REQUIRED, "smtp_host": "127.0.0.1", "smtp_tls": "none"})

    assert settings.mail_from.addr_spec == "news@example.com"
    assert settings.public_url == "https://registry.example.com"
