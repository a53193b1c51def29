"""What an alert is about, in words, and how often it would come."""

import pytest

from company_registry.webhook_models import Webhook
from portal.domain.alerts import EVERYTHING, TOPICS, chosen, followers, frequency, said
from tests.builders.answers import a_webhook


def test_topics_become_the_events_and_fields_of_a_filter() -> None:
    assert chosen(["owners", "accounts"]) == (
        ("owners.changed", "company.accounts_published"),
        ("owners", "annual_accounts"),
    )
    assert chosen([EVERYTHING, "owners"]) == chosen([]) == ((), ())


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_is_said_as_it_was_chosen(name: str) -> None:
    label = TOPICS[name].label

    assert said(*chosen([name])) == f"{label[0].lower()}{label[1:]}"


def test_everything_is_not_said_and_others_are_by_their_names() -> None:
    assert said(("*",), ()) == ""
    assert said(("einvoicing.*",), ()) == "einvoicing.*"


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "none in the last 30 days"),
        (1, "about 1 a month"),
        (13, "about 3 a week"),
        (450, "about 15 a day"),
    ],
)
def test_a_frequency_is_of_the_shortest_time_with_some(count: int, text: str) -> None:
    assert frequency(count, is_complete=True) == text
    assert "more than" in frequency(500, is_complete=False)


def test_a_company_is_followed_by_its_number_a_list_or_a_webhook_of_all() -> None:
    filters = [
        None,
        {"companies": ["dk:12345674"]},
        {"watchlists": ["wl_1"]},
        {"countries": ["dk"]},
        {"countries": ["no"]},
        {"companies": ["dk:12345682"]},
        {"industries": ["62"]},
    ]
    webhooks = [
        Webhook.model_validate(a_webhook(id=str(at), filter=one)) for at, one in enumerate(filters)
    ]

    found = followers(webhooks, company="dk:12345674", lists=["wl_1"])

    assert [each.id for each in found] == ["0", "1", "2", "3"]
