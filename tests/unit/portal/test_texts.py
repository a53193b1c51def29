"""Texts of pages: languages, pasted texts, links, filters, forms, and sentences for people."""

from typing import Any

import pytest
from multidict import MultiDict

from company_registry import Webhook, WebhookFilter
from company_registry.errors import FieldError, problem_error
from portal.domain import facts
from portal.domain.arrivals import arrivals
from portal.domain.contacts import email_link, phone_link, website_link
from portal.domain.event_filter import read_filter
from portal.domain.languages import formats_for
from portal.domain.pasted import countries_of, fault_of, has_letters, in_words, readings_of
from portal.domain.webhook_form import form_of, read_form
from portal.domain.wording import detail, faults, sentence, without_members
from tests.builders.answers import a_webhook

# Links and codes


@pytest.mark.parametrize(
    "phone, country, link",
    [
        ("12345678", "dk", "tel:+4512345678"),
        ("22 33 44 55", "no", "tel:+4722334455"),
        ("+46 8 123", "no", "tel:+468123"),
        ("none", "dk", None),
        ("12345678", "se", None),
    ],
)
def test_a_phone_link_has_the_calling_code(phone: str, country: str, link: str | None) -> None:
    assert phone_link(phone, country) == link


@pytest.mark.parametrize(
    "address, link",
    [
        ("post@example.com", "mailto:post@example.com"),
        ("ø+1@example.com", "mailto:%C3%B8%2B1@example.com"),
        ("post@example.com?subject=x", None),
        ("a@b@example.com", None),
        ("javascript:alert(1)//@example.com", None),
        ("post", None),
    ],
)
def test_an_email_link_is_one_address(address: str, link: str | None) -> None:
    assert email_link(address) == link


@pytest.mark.parametrize(
    "text, link",
    [
        ("www.example.com", "https://www.example.com"),
        ("example.com:8080/a?b#c", "https://example.com:8080/a?b#c"),
        ("http://example.com", "http://example.com"),
        ("HTTPS://Example.com/", "HTTPS://Example.com/"),
        ("blåbær.example", "https://blåbær.example"),
        ("javascript:alert(1)", None),
        ("java.script:alert(1)", None),
        ("data:text/html,<script>", None),
        ("//example.com", None),
        ("https://user@example.com", None),
        ("https://example.com/ onclick=", None),
        ("post@example.com", None),
        ("none", None),
        ("", None),
    ],
)
def test_a_website_link_is_of_the_web(text: str, link: str | None) -> None:
    assert website_link(text) == link


def test_a_code_without_a_word_is_shown_as_it_is() -> None:
    assert facts.role("new_role").name == "New role"
    assert facts.roles(["owner", "new_role", "owner", None]) == [facts.role("owner")]
    assert facts.form("dk", "999") == ""


# Languages, pasted texts, filters and forms


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
    "countries, texts",
    [
        (("dk", "no"), ["prøvefabrikken", "12345674", "Norsk Prøve 12", "5790000000005", ""]),
        (("dk",), ["DK12345674", "DK 12 34 56 74", "+45 12 34 56 78", "1012345670"]),
        (("dk",), ["0184:12345674", "CVR-nr. 12345674", "P-nr 1012345670", "tel:+4512345678"]),
        (("no",), ["NO 310 345 679 MVA", "310345679", "Org.nr. 310 345 679 MVA", "0047 22334455"]),
        (("no",), ["0192:310345679"]),
    ],
)
def test_the_register_of_a_pasted_text_is_recognised(
    countries: tuple[str, ...], texts: list[str]
) -> None:
    for text in texts:
        assert (text, countries_of(text)) == (text, countries)


def test_a_number_that_no_company_can_have_is_said_to_be_none() -> None:
    assert "check digit is wrong" in fault_of("DK99999999", "dk")
    assert [fault_of(text, "dk") for text in ("DK12345674", "Prøven", "310345679")] == [""] * 3
    assert in_words("this is a Norwegian one: give country=no") == (
        "this is a Norwegian one: choose Norway"
    )


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


def of_events(*events: str) -> Webhook:
    limits = {"countries": ["dk"], "fields": ["address"]}
    return Webhook.model_validate(a_webhook(events=list(events), filter=limits))


TYPES = ("company.created", "company.updated", "owners.changed")


def test_a_webhooks_form_has_its_fields() -> None:
    webhook = of_events("*")

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
    form = form_of(of_events(*events), TYPES)

    assert (form.choice, form.events) == (choice, shown)


def test_an_event_filter_leaves_out_empty_values() -> None:
    query = MultiDict([("type", ""), ("country", "dk"), ("companies", "dk:1, no:2")])

    chosen = read_filter(query)

    assert (chosen.types, chosen.countries, chosen.companies) == ((), ("dk",), ("dk:1", "no:2"))


# Sentences

COUNTRIES = {"dk": "Denmark", "no": "Norway"}


@pytest.mark.parametrize(
    "events, limits, shown",
    [
        (("*",), {}, "every event about any company in both registers"),
        (("*",), {"countries": ("dk", "no")}, "every event about any company in both registers"),
        (("company.*",), {"countries": ("dk",)}, "company.* events about any company in Denmark"),
        (
            ("company.created", "owners.changed"),
            {"companies": ("dk:12345674",)},
            "company.created and owners.changed events about the company dk:12345674",
        ),
        (
            ("a.a", "a.b", "a.c", "a.d"),
            {"companies": ("dk:1", "dk:2")},
            "the events of 4 chosen types about 2 chosen companies",
        ),
        (
            ("*",),
            {"forms": ("80", "AS"), "industries": ("62",), "municipalities": tuple("abcd")},
            "every event about any company in both registers, with the legal form 80 or AS, "
            "in an industry whose code begins with 62, "
            "in one of 4 municipalities",
        ),
        (
            ("*",),
            {"countries": ("no",), "fields": ("address", "phone")},
            "every event about any company in Norway, if address or phone changed",
        ),
        (("webhook.disabled",), {}, "webhook.disabled events about your other webhooks"),
    ],
)
def test_a_sentence_says_what_a_webhook_receives(
    events: tuple[str, ...], limits: dict[str, tuple[str, ...]], shown: str
) -> None:
    said = arrivals(events, WebhookFilter(**limits), COUNTRIES)

    assert said == f"This webhook receives {shown}."


def test_a_webhook_without_events_receives_nothing() -> None:
    assert "choose at least one" in arrivals((), None, COUNTRIES)


def a_problem(code: str, text: str = "a detail", **members: Any) -> str:
    retry_after = members.pop("retry_after", None)
    problem = {"code": code, "detail": text, **members}
    return detail(problem_error(problem, status=400, retry_after=retry_after))


def test_a_problem_says_what_to_do() -> None:
    assert a_problem("rate_limited", retry_after=12).endswith("Try again in 12 seconds.")
    assert a_problem("rate_limited", retry_after=0.2).endswith("Try again in 1 second.")
    assert a_problem("service_unavailable").endswith("Try again in a moment.")
    assert "as r-7" in a_problem("internal_error", request_id="r-7")


@pytest.mark.parametrize(
    "code, text, shown",
    [
        (
            "webhook_disabled",
            'the webhook is disabled; PATCH it with {"status": "enabled"} first',
            "The webhook is disabled. Enable it first.",
        ),
        ("webhook_disabled", "the operator disabled it", "The operator disabled it."),
        ("new_code", "use `this`", "Use this."),
    ],
)
def test_a_problem_is_a_sentence_that_speaks_of_no_request(
    code: str, text: str, shown: str
) -> None:
    assert a_problem(code, text) == shown


@pytest.mark.parametrize("text, shown", [("did you mean Oslo?", "Did you mean Oslo?"), ("", "")])
def test_a_question_keeps_its_question_mark(text: str, shown: str) -> None:
    assert sentence(text) == shown


def test_a_fault_names_the_value_that_is_wrong() -> None:
    errors = [
        *[FieldError("filter.companies[1]", "give country and registration number")] * 2,
        FieldError("url", "is required"),
        FieldError("filter.forms[9]", "give a code"),
        FieldError("headers.X-A", "give a value"),
    ]

    assert faults(errors, {"companies": ("dk:12345674", "se:1")}) == {
        "companies": "“se:1” is not valid. Give country and registration number.",
        "url": "Enter the address that deliveries are sent to.",
        "forms": "Give a code.",
        "headers": "Give a value.",
    }


@pytest.mark.parametrize(
    "text, shown",
    [
        ("A production unit ended.", "A production unit ended."),
        ("The owners changed; data.changes has both lists.", "The owners changed."),
        ("The owners changed; `data.changes` has both lists.", "The owners changed."),
        ("It is no longer kept, and `data.company` is null.", "It is no longer kept."),
        ("A test of the owner; `data` is empty.", "A test of the owner."),
    ],
)
def test_a_description_for_people_has_no_members_of_a_body(text: str, shown: str) -> None:
    assert without_members(text) == shown
