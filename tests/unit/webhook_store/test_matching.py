"""Matching of events and webhooks."""

from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import CompanyKey, Country, company_key
from common.contracts.events import EventType
from tests.builders.webhooks import a_webhook
from webhook_store.matching import Subject, event_keys, match_keys, patterns_of
from webhook_store.models import EventFilter, Webhook

KINDS = st.sampled_from([kind for kind in EventType if kind is not EventType.WEBHOOK_TEST])
COUNTRIES = st.sampled_from(Country)
#: Few numbers, so that events and filters meet.
VATS = st.sampled_from(["12345674", "87654325"])
COMPANIES = st.builds(company_key, COUNTRIES, VATS)
PATTERNS = st.one_of(KINDS.map(str), KINDS.map(lambda kind: patterns_of(kind)[1]), st.just("*"))
FILTERS = st.builds(
    EventFilter,
    countries=st.lists(COUNTRIES, unique=True).map(tuple),
    companies=st.lists(COMPANIES, unique=True).map(tuple),
)
WEBHOOKS = st.builds(
    lambda events, limits: a_webhook(events=tuple(events), filter=limits),
    st.lists(PATTERNS, min_size=1, unique=True),
    st.none() | FILTERS,
)


def is_for(webhook: Webhook, kind: EventType, country: Country, vat: str) -> bool:
    """Reference implementation of the rule."""
    limits = webhook.filter or EventFilter()
    family = kind.split(".")[0]
    return (
        any(pattern in (kind, f"{family}.*", "*") for pattern in webhook.events)
        and (not limits.countries or country in limits.countries)
        and (not limits.companies or company_key(country, vat) in limits.companies)
    )


@given(WEBHOOKS, KINDS, COUNTRIES, VATS)
def test_index_keys_find_exactly_the_matching_webhooks(
    webhook: Webhook, kind: EventType, country: Country, vat: str
) -> None:
    listed = not set(match_keys(webhook)).isdisjoint(event_keys(Subject(kind, country, vat)))
    found = listed and not set(webhook.events).isdisjoint(patterns_of(kind))

    assert found == is_for(webhook, kind, country, vat)


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
    companies = (CompanyKey("dk:12345674"), CompanyKey("no:123456785"))
    webhook = a_webhook(filter=EventFilter(countries=(Country.NO,), companies=companies))

    assert match_keys(webhook) == ["no:123456785"]


def test_a_filter_that_never_matches_has_no_keys() -> None:
    limits = EventFilter(countries=(Country.NO,), companies=(CompanyKey("dk:12345674"),))

    assert match_keys(a_webhook(filter=limits)) == []
