"""Languages, pasted texts, filters, forms and pages of lists."""

import pytest
from multidict import MultiDict

from company_registry import Webhook, WebhookFilter
from portal.domain.event_filter import read_filter
from portal.domain.languages import formats_for
from portal.domain.pasted import countries_of, has_letters, readings_of
from portal.domain.webhook_form import form_of, read_form


@pytest.mark.parametrize(
    "accept, date, number",
    [
        ("da-DK,da;q=0.9,en;q=0.5", "2. mar. 2026", "1.234,5"),
        ("nb", "2. mars 2026", "1\xa0234,5"),
        ("en-US;q=0.5, de;q=0.8", "02.03.2026", "1.234,5"),
        ("en-US", "Mar 2, 2026", "1,234.5"),
        ("", "2 Mar 2026", "1,234.5"),
        ("xx-invalid, *;q=0.1", "2 Mar 2026", "1,234.5"),
        ("da;q=0", "2 Mar 2026", "1,234.5"),
    ],
)
def test_dates_and_numbers_are_the_languages(accept: str, date: str, number: str) -> None:
    formats = formats_for(accept)

    assert (formats.date("2026-03-02"), formats.number(1234.5)) == (date, number)


def test_unknown_and_odd_values_are_shown_as_they_are() -> None:
    formats = formats_for("en")

    assert (formats.date(None), formats.moment(None), formats.number(None)) == ("–", "–", "–")
    assert (formats.date("soon"), formats.moment("soon"), formats.number("x")) == (
        "soon",
        "soon",
        "x",
    )


@pytest.mark.parametrize(
    "zone, shown",
    [
        ("", "2 Mar 2026, 11:00:00 UTC"),
        ("Europe/Oslo", "2 Mar 2026, 12:00:00 CET"),
        ("Europe", "2 Mar 2026, 11:00:00 UTC"),
        ("/etc/passwd", "2 Mar 2026, 11:00:00 UTC"),
    ],
)
def test_a_moment_is_in_the_zone_or_in_utc(zone: str, shown: str) -> None:
    assert formats_for("", zone).moment("2026-03-02T12:00:00+01:00") == shown


def test_a_typed_time_is_of_the_zone() -> None:
    read = formats_for("", "Europe/Oslo").read

    assert read("2026-07-02T12:00").isoformat() == "2026-07-02T10:00:00+00:00"
    with pytest.raises(ValueError, match="outside"):
        read("0001-01-01T00:00")


@pytest.mark.parametrize(
    "text, countries",
    [
        ("prøvefabrikken", ("dk", "no")),
        ("12345674", ("dk", "no")),
        ("DK12345674", ("dk",)),
        ("DK 12 34 56 74", ("dk",)),
        ("+45 12 34 56 78", ("dk",)),
        ("NO 310 345 679 MVA", ("no",)),
        ("310345679", ("no",)),
        ("310 345 679 MVA", ("no",)),
        ("0047 22334455", ("no",)),
        ("1012345670", ("dk",)),
        ("0184:12345674", ("dk",)),
        ("0192:310345679", ("no",)),
        ("Norsk Prøve 12", ("dk", "no")),
        ("5790000000005", ("dk", "no")),
        ("", ("dk", "no")),
    ],
)
def test_the_register_of_a_pasted_text_is_recognised(text: str, countries: tuple[str, ...]) -> None:
    assert countries_of(text) == countries


@pytest.mark.parametrize(
    "text, letters, readings",
    [
        ("holding", True, ("a name",)),
        ("Torggate 16", True, ("a name", "an address")),
        ("12345674", False, ("a number",)),
        ("+45 12 34 56 78", False, ("a number",)),
        ("DK1234", True, ("a name",)),
        ("%%", False, ("a name",)),
        ("x", False, ("a name",)),
    ],
)
def test_a_text_is_read_as_a_name_an_address_or_a_number(
    text: str, readings: tuple[str, ...], *, letters: bool
) -> None:
    assert (has_letters(text), readings_of(text)) == (letters, readings)


def test_a_forms_lists_are_read_as_words() -> None:
    form = read_form(
        {
            "url": [" https://example.com/ "],
            "companies": ["dk:12345674, no:310345679\nno:310345806"],
            "municipalities": ["Høje Taastrup, Oslo"],
        }
    )

    assert form.url == "https://example.com/"
    assert form.filter == WebhookFilter(
        companies=("dk:12345674", "no:310345679", "no:310345806"),
        municipalities=("Høje Taastrup", "Oslo"),
    )


@pytest.mark.parametrize(
    "choice, events",
    [
        ("all", ("*",)),
        ("families", ("company.*",)),
        ("types", ("owners.changed",)),
        ("invented", ("*",)),
        (None, ("*",)),
    ],
)
def test_only_the_list_of_the_choice_counts(choice: str | None, events: tuple[str, ...]) -> None:
    lists = {"families": ["company.*"], "types": ["owners.changed"]}

    form = read_form(lists if choice is None else {"choice": [choice], **lists})

    assert form.events == events


def test_a_form_without_a_filter_selects_everything() -> None:
    assert read_form({"companies": [" "]}).filter is None


def test_headers_are_lines_with_a_name_and_a_value() -> None:
    form = read_form({"headers": ["X-Token: a:b\n\nX-Empty"]})

    assert form.header_values == {"X-Token": "a:b", "X-Empty": ""}


def a_webhook(*events: str) -> Webhook:
    return Webhook(
        id="wh_1",
        url="https://example.com/",
        events=events,
        filter=WebhookFilter(countries=("dk",), fields=("address",)),
        status="enabled",
        created_at="…",
        updated_at="…",
    )


TYPES = ("company.created", "company.updated", "owners.changed")


def test_a_webhooks_form_has_its_fields() -> None:
    webhook = a_webhook("*")

    form = form_of(webhook, TYPES)

    assert form.filter == webhook.filter
    assert form.headers == ""


@pytest.mark.parametrize(
    "events, choice, shown",
    [
        (("*",), "all", ("*",)),
        (("company.created", "*"), "all", ("*",)),
        (("company.*",), "families", ("company.*",)),
        (("owners.changed", "company.created"), "types", ("company.created", "owners.changed")),
        (("company.*", "owners.changed"), "types", TYPES),
    ],
)
def test_a_webhooks_events_are_one_choice(
    events: tuple[str, ...], choice: str, shown: tuple[str, ...]
) -> None:
    form = form_of(a_webhook(*events), TYPES)

    assert (form.choice, form.events) == (choice, shown)


def test_an_event_filter_leaves_out_empty_values() -> None:
    query = MultiDict([("type", ""), ("country", "dk"), ("companies", "dk:1, no:2")])

    chosen = read_filter(query)

    assert (chosen.types, chosen.countries, chosen.companies) == ((), ("dk",), ("dk:1", "no:2"))
