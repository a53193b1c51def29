"""Matching of events and webhooks."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId
from tests.builders.webhooks import a_webhook, is_for
from webhook_registry.event_types import example_events
from webhook_store.matching import Limits, MatchIndex, Subject, event_keys, match_keys
from webhook_store.webhooks import webhook_fields

KINDS = st.sampled_from([kind for kind in EventType if not kind.startswith("webhook.")])
COUNTRIES = st.sampled_from(Country)
#: Few values, so that events and filters meet.
VATS = st.sampled_from(["12345674", "87654325"])
COMPANIES = st.builds(CompanyKey, COUNTRIES, VATS)
PATTERNS = st.one_of(KINDS.map(str), KINDS.map(lambda kind: kind.patterns[1]), st.just("*"))
LISTS = st.sampled_from(["wl_1", "wl_2"])
FIELDS = st.sampled_from(["address", "address.street", "address.city", "name"])


def some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, unique=True, max_size=2).map(tuple)


FILTERS = st.builds(
    WebhookFilter,
    countries=some(COUNTRIES),
    companies=some(COMPANIES),
    forms=some(st.sampled_from(["80", "AS"])),
    industries=some(st.sampled_from(["62", "62.01", "620100", "41"])),
    municipalities=some(st.sampled_from(["Oslo", "KØBENHAVN", "0301", "101"])),
    fields=some(FIELDS),
    watchlists=some(LISTS),
)
WEBHOOKS = st.builds(
    lambda events, limits: a_webhook(events=tuple(events), filter=limits),
    st.lists(PATTERNS, min_size=1, unique=True),
    st.none() | FILTERS,
)
SUBJECTS = st.builds(
    Subject,
    KINDS,
    COUNTRIES,
    VATS,
    form=st.none() | st.sampled_from(["80", "AS", "ENK"]),
    industries=some(st.sampled_from(["620100", "62010", "412000"])),
    municipality=st.none() | st.sampled_from(["OSLO", "København"]),
    municipality_code=st.none() | st.sampled_from(["0301", "0101"]),
    fields=some(FIELDS),
    watchlists=some(LISTS),
)


@given(WEBHOOKS, SUBJECTS)
def test_index_keys_and_comparison_find_exactly_the_matching_webhooks(
    webhook: Webhook, subject: Subject
) -> None:
    listed = not set(match_keys(webhook)).isdisjoint(event_keys(subject))
    subscribed = not set(webhook.events).isdisjoint(subject.event_type.patterns)
    stored = (webhook.filter or WebhookFilter()).model_dump()

    found = listed and subscribed and Limits.of(stored).select(subject)

    assert found == is_for(webhook, subject)


def test_the_properties_of_an_event_are_its_companys_and_its_changes() -> None:
    event = example_events()[EventType.COMPANY_UPDATED]

    subject = Subject.of(event, Country.DK, "12345674")

    assert subject == Subject(
        EventType.COMPANY_UPDATED,
        Country.DK,
        "12345674",
        form="80",
        industries=("620100",),
        municipality="KØBENHAVN",
        fields=("name", "phone"),
    )


def test_an_event_is_looked_up_under_seven_keys() -> None:
    keys = event_keys(Subject(EventType.COMPANY_UPDATED, Country.DK, "12345674"))

    assert keys == [
        "dk:12345674",
        "company.updated|dk",
        "company.updated|*",
        "company.*|dk",
        "company.*|*",
        "*|dk",
        "*|*",
    ]


def test_a_webhook_with_companies_is_indexed_only_under_them() -> None:
    companies = (CompanyKey.parse("dk:12345674"), CompanyKey.parse("no:123456785"))
    webhook = a_webhook(filter=WebhookFilter(countries=(Country.NO,), companies=companies))

    assert match_keys(webhook) == ["no:123456785"]


def test_a_filter_that_never_matches_has_no_keys() -> None:
    limits = WebhookFilter(countries=(Country.NO,), companies=(CompanyKey.parse("dk:12345674"),))

    assert match_keys(a_webhook(filter=limits)) == []


def test_a_webhook_stored_by_name_and_one_by_code_are_both_found() -> None:
    """Index keys of names are those that earlier releases stored."""
    event = Subject(
        EventType.COMPANY_UPDATED,
        Country.NO,
        "123456785",
        municipality="HERØY",
        municipality_code="1515",
    )
    herøy, code, other = (
        a_webhook(filter=WebhookFilter(municipalities=(value,)))
        for value in ("Herøy", "1515", "1818")
    )

    assert match_keys(herøy) == ["municipality:herøy|*"]
    assert match_keys(code) == ["municipality:1515|*"]
    assert {"municipality:herøy|*", "municipality:1515|*"} <= set(event_keys(event))
    assert not set(match_keys(other)) & set(event_keys(event))


def test_a_webhook_with_many_pairs_is_indexed_under_its_industries() -> None:
    limits = WebhookFilter(
        industries=tuple(f"{number}" for number in range(10, 50)),
        municipalities=tuple(f"Prøveby {number}" for number in range(40)),
    )

    keys = match_keys(a_webhook(filter=limits))

    assert keys == [f"industry:{prefix}|*" for prefix in limits.industries]


@given(st.lists(st.tuples(WEBHOOKS, st.booleans()), max_size=6), SUBJECTS)
def test_the_index_finds_what_matches_after_any_changes(
    changes: list[tuple[Webhook, bool]], subject: Subject
) -> None:
    index = MatchIndex()
    kept: dict[WebhookId, Webhook] = {}
    for number, (webhook, is_removed) in enumerate(changes):
        webhook_id = WebhookId(f"wh_{number % 3}")
        if is_removed:
            index.remove(webhook_id)
            kept.pop(webhook_id, None)
        else:
            index.put({"_id": webhook_id, **webhook_fields(webhook)})
            kept[webhook_id] = webhook
    filters = {one: webhook.filter or WebhookFilter() for one, webhook in kept.items()}
    by_number = {one for one, limits in filters.items() if limits.companies}

    found = index.matching(subject)

    expected = {one for one, webhook in kept.items() if is_for(webhook, subject)}
    assert found.keys() - by_number == expected - by_number
    assert found.keys() <= expected
    assert index.has_lists == any(
        (one.filter or WebhookFilter()).watchlists for one in kept.values()
    )
