"""Texts of pages: languages, pasted texts, links, filters, forms, and sentences for people."""

from datetime import UTC, datetime
from typing import Any

import pytest
from multidict import MultiDict

from company_registry import Event, Webhook, WebhookFilter
from company_registry.errors import FieldError, problem_error
from company_registry.watchlist_models import WatchlistChange
from portal.domain import facts
from portal.domain.facts import email_link, phone_link, website_link
from portal.domain.languages import formats_for
from portal.domain.pasted import (
    companies_in,
    countries_of,
    fault_of,
    has_letters,
    in_words,
    readings_of,
)
from portal.domain.webhooks import EventFilter, arrivals, form_of, read_filter, read_form
from portal.domain.wording import (
    detail,
    effect,
    faults,
    happening,
    sentence,
    without_members,
)
from tests.builders.answers import a_webhook, an_event

BOTH, DK, NO = ("dk", "no"), ("dk",), ("no",)


def test_contacts_of_a_register_become_links_that_run_nothing() -> None:
    phones = {
        ("12345678", "dk"): "tel:+4512345678",
        ("22 33 44 55", "no"): "tel:+4722334455",
        ("+46 8 123", "no"): "tel:+468123",
        ("none", "dk"): None,
        ("12345678", "se"): None,
    }
    emails = {
        "post@example.com": "mailto:post@example.com",
        "ø+1@example.com": "mailto:%C3%B8%2B1@example.com",
        "post@example.com?subject=x": None,
        "a@b@example.com": None,
        "javascript:alert(1)//@example.com": None,
        "post": None,
    }
    websites = {
        "www.example.com": "https://www.example.com",
        "example.com:8080/a?b#c": "https://example.com:8080/a?b#c",
        "http://example.com": "http://example.com",
        "HTTPS://Example.com/": "HTTPS://Example.com/",
        "blåbær.example": "https://blåbær.example",
        "javascript:alert(1)": None,
        "java.script:alert(1)": None,
        "data:text/html,<script>": None,
        "//example.com": None,
        "https://user@example.com": None,
        "https://example.com/ onclick=": None,
        "post@example.com": None,
        "none": None,
        "": None,
    }

    assert {phone: phone_link(*phone) for phone in phones} == phones
    assert {address: email_link(address) for address in emails} == emails
    assert {text: website_link(text) for text in websites} == websites


def test_codes_are_in_words_and_unknown_ones_as_they_are() -> None:
    assert [facts.role(code).name for code in ("board_chair", "new_role", None)] == [
        "Chair of the board",
        "New role",
        "Unknown",
    ]
    assert facts.roles(["owner", "new_role", "owner", None]) == [
        facts.Term("Owner", "has a share of the company.")
    ]
    forms = [("dk", "80"), ("dk", "20"), ("no", "ESEK"), ("dk", "999")]
    assert [facts.form(*form) for form in forms] == [
        "Private limited company",
        "Estate of a deceased person",
        "Condominium",
        "",
    ]
    assert [facts.register("vat"), facts.register("political_parties")] == [
        "VAT Register",
        "Register of Political Parties",
    ]
    assert [facts.language("nn"), facts.language("se"), facts.language(None)] == [
        "Norwegian, Nynorsk",
        "se",
        "",
    ]


@pytest.mark.parametrize(
    "moment, age",
    [
        ("2026-03-02T12:00:30Z", "just now"),
        ("2026-03-02T11:59:01Z", "just now"),
        ("2026-03-02T11:59:00.000Z", "1 minute ago"),
        ("2026-03-02T11:00:01Z", "59 minutes ago"),
        ("2026-03-02T12:00:00+01:00", "1 hour ago"),
        ("2026-03-01T12:00:01Z", "23 hours ago"),
        ("2026-03-01T12:00:00Z", "1 Mar 2026"),
        ("2026-02-28T23:30:00Z", "1 Mar 2026"),
        (datetime(2026, 3, 2, 10, tzinfo=UTC), "2 hours ago"),
        ("2026-03-02", "2026-03-02"),
        ("soon", "soon"),
        ("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+01:00"),
    ],
)
def test_a_moment_of_the_last_day_is_an_age(moment: str | datetime, age: str) -> None:
    formats = formats_for("en-GB", "Europe/Copenhagen")

    assert formats.ago(moment, datetime(2026, 3, 2, 12, tzinfo=UTC)) == age


def test_dates_and_numbers_are_the_languages() -> None:
    shown = {
        "da-DK,da;q=0.9,en;q=0.5": ("2. mar. 2026", "1.234,5"),
        "nb": ("2. mars 2026", "1\xa0234,5"),
        "en-US;q=0.5, de;q=0.8": ("02.03.2026", "1.234,5"),
        "en-US": ("Mar 2, 2026", "1,234.5"),
        "": ("2 Mar 2026", "1,234.5"),
        "xx-invalid, *;q=0.1": ("2 Mar 2026", "1,234.5"),
        "da;q=0": ("2 Mar 2026", "1,234.5"),
    }
    english = formats_for("en")

    assert {
        accept: (formats_for(accept).date("2026-03-02"), formats_for(accept).number(1234.5))
        for accept in shown
    } == shown
    assert (english.date(None), english.moment(None), english.number(None)) == ("–", "–", "–")
    assert [english.date("soon"), english.moment("soon"), english.number("x")] == [
        *("soon", "soon", "x")
    ]


def test_times_are_in_the_zone_or_in_utc() -> None:
    shown = {
        "": "2 Mar 2026, 11:00:00 UTC",
        "Europe/Oslo": "2 Mar 2026, 12:00:00 CET",
        "Europe": "2 Mar 2026, 11:00:00 UTC",
        "/etc/passwd": "2 Mar 2026, 11:00:00 UTC",
    }
    read = formats_for("", "Europe/Oslo").read

    assert {zone: formats_for("", zone).moment("2026-03-02T12:00:00+01:00") for zone in shown} == (
        shown
    )
    assert read("2026-07-02T12:00").isoformat() == "2026-07-02T10:00:00+00:00"
    with pytest.raises(ValueError, match="outside"):
        read("0001-01-01T00:00")


# Pasted texts


def test_the_register_of_a_pasted_text_is_recognised() -> None:
    texts = {
        **dict.fromkeys(["prøven", "12345674", "Norsk Prøve 12", "5790000000005", ""], BOTH),
        **dict.fromkeys(["DK12345674", "DK 12 34 56 74", "+45 12 34 56 78", "1012345670"], DK),
        **dict.fromkeys(["0184:12345674", "CVR-nr. 12345674", "P-nr 1012345670"], DK),
        "tel:+4512345678": DK,
        **dict.fromkeys(["NO 310 345 679 MVA", "310345679", "Org.nr. 310 345 679 MVA"], NO),
        **dict.fromkeys(["0047 22334455", "0192:310345679"], NO),
    }

    assert {text: countries_of(text) for text in texts} == texts


def test_a_number_that_no_company_can_have_is_said_to_be_none() -> None:
    assert "check digit is wrong" in fault_of("DK99999999", "dk")
    assert [fault_of(text, "dk") for text in ("DK12345674", "Prøven", "310345679")] == [""] * 3
    assert in_words("this is a Norwegian one: give country=no") == (
        "this is a Norwegian one: choose Norway"
    )


def test_a_text_is_read_as_a_name_an_address_or_a_number() -> None:
    texts = {
        "holding": (True, ("a name",)),
        "Torggate 16": (True, ("a name", "an address")),
        "12345674": (False, ("a number",)),
        "+45 12 34 56 78": (False, ("a number",)),
        "DK1234": (True, ("a name",)),
        "%%": (False, ("a name",)),
        "x": (False, ("a name",)),
    }

    assert {text: (has_letters(text), readings_of(text)) for text in texts} == texts


def test_companies_are_read_as_they_are_pasted() -> None:
    texts = {
        "dk:12345674, NO 310345679;DK12345682": ["dk:12345674", "NO 310345679", "DK12345682"],
        "NO 310 345 679\n12345674 310345679": ["NO 310 345 679", "12345674", "310345679"],
        "CVR-nr. 12345674, Org.nr. 310 345 679 MVA": [
            *("CVR-nr. 12345674", "Org.nr. 310 345 679 MVA")
        ],
        "12 34 56 74 12 34 56 82 x": ["12 34 56 74", "12 34 56 82", "x"],
        "dk:12345674 dk:12345674": ["dk:12345674"],
        "se:12345674 rubbish 1": ["se:12345674", "rubbish", "1"],
        " ,;\n": [],
    }

    assert {text: companies_in(text) for text in texts} == texts


# Forms


def test_a_forms_fields_are_those_of_the_api() -> None:
    form = read_form(
        {
            "url": [" https://example.com/ "],
            "companies": ["dk:12345674, no:310345679\nno:310345806"],
            "municipalities": ["Høje Taastrup, Oslo"],
            "headers": ["X-Token: a:b\n\nX-Empty"],
        }
    )

    assert form.url == "https://example.com/"
    assert form.filter == WebhookFilter(
        companies=("dk:12345674", "no:310345679", "no:310345806"),
        municipalities=("Høje Taastrup", "Oslo"),
    )
    assert form.header_values == {"X-Token": "a:b", "X-Empty": ""}
    assert read_form({"companies": [" "]}).filter is None


def test_only_the_list_of_the_choice_counts() -> None:
    lists = {"families": ["company.*"], "types": ["owners.changed"]}
    chosen = {"families": ("company.*",), "types": ("owners.changed",)}
    chosen |= dict.fromkeys(("all", "invented", ""), ("*",))

    assert {each: read_form({"choice": [each], **lists}).events for each in chosen} == chosen
    assert read_form(lists).events == ("*",)


@pytest.mark.parametrize(
    "events, choice, shown",
    [
        ("*", "all", "*"),
        ("company.created *", "all", "*"),
        ("company.*", "families", "company.*"),
        ("owners.changed company.created", "types", "company.created owners.changed"),
        (
            "company.* owners.changed",
            "types",
            "company.created company.updated owners.changed",
        ),
    ],
)
def test_a_webhook_that_exists_is_a_form(events: str, choice: str, shown: str) -> None:
    limits = {"countries": ["dk"], "fields": ["address"]}
    webhook = Webhook.model_validate(a_webhook(events=events.split(), filter=limits))

    form = form_of(webhook, ("company.created", "company.updated", "owners.changed"))

    assert (form.choice, form.events) == (choice, tuple(shown.split()))
    assert (form.filter, form.headers) == (webhook.filter, "")


def test_an_event_filter_leaves_out_empty_values() -> None:
    query = MultiDict([("type", ""), ("country", "dk"), ("companies", "dk:1, no:2")])

    assert read_filter(query) == EventFilter((), ("dk",), ("dk:1", "no:2"), ())


# Sentences

COUNTRIES = {"dk": "Denmark", "no": "Norway"}


@pytest.mark.parametrize(
    "events, limits, shown",
    [
        (("*",), {}, "every event about any company in both registers"),
        (("*",), {"countries": BOTH}, "every event about any company in both registers"),
        (("company.*",), {"countries": DK}, "company.* events about any company in Denmark"),
        (
            ("company.created", "owners.changed"),
            {"companies": ("dk:12345674",)},
            "company.created and owners.changed events about the company dk:12345674",
        ),
        (
            ("a.a", "a.b", "a.c", "a.d"),
            {"companies": ("dk:1", "dk:2"), "countries": NO},
            "the events of 4 chosen types about 2 chosen companies in Norway",
        ),
        (
            ("*",),
            {"forms": ("80", "AS"), "industries": ("62",), "municipalities": tuple("abcd")},
            "every event about any company in both registers, with the legal form 80 or AS, "
            "in an industry whose code begins with 62, in one of 4 municipalities",
        ),
        (
            ("*",),
            {"countries": NO, "fields": ("address", "phone")},
            "every event about any company in Norway, if address or phone changed",
        ),
        (
            ("*",),
            {"watchlists": ("wl_1", "wl_2"), "companies": ("dk:1",)},
            "every event about any company of 2 watchlists or the company dk:1",
        ),
        (("webhook.disabled",), {}, "webhook.disabled events about your other webhooks"),
    ],
)
def test_a_sentence_says_what_a_webhook_receives(
    events: tuple[str, ...], limits: dict[str, tuple[str, ...]], shown: str
) -> None:
    said = arrivals(events, WebhookFilter(**limits), COUNTRIES)

    assert said == f"This webhook receives {shown}."
    assert "choose at least one" in arrivals((), None, COUNTRIES)


@pytest.mark.parametrize(
    "code, members, shown",
    [
        ("rate_limited", {"retry_after": 12}, "may for now. Try again in 12 seconds."),
        ("rate_limited", {"retry_after": 0.2}, "may for now. Try again in 1 second."),
        ("service_unavailable", {}, "at the moment. Try again in a moment."),
        ("internal_error", {"request_id": "r-7"}, "can find the request as r-7."),
        ("webhook_disabled", {"detail": "PATCH it"}, "The webhook is disabled. Enable it first."),
        ("webhook_disabled", {"detail": "the operator did it"}, "The operator did it."),
        ("new_code", {"detail": "use `this`"}, "Use this."),
    ],
)
def test_a_problem_says_what_to_do_and_speaks_of_no_request(
    code: str, members: dict[str, Any], shown: str
) -> None:
    retry_after = members.get("retry_after")

    said = detail(problem_error({"code": code, **members}, status=400, retry_after=retry_after))

    assert said.endswith(shown)


def test_sentences_end_and_begin_as_sentences() -> None:
    descriptions = {
        "A production unit ended.": "A production unit ended.",
        "The owners changed; data.changes has both lists.": "The owners changed.",
        "The owners changed; `data.changes` has both lists.": "The owners changed.",
        "It is no longer kept, and `data.company` is null.": "It is no longer kept.",
        "A test of the owner; `data` is empty.": "A test of the owner.",
    }

    assert [sentence("did you mean Oslo?"), sentence("")] == ["Did you mean Oslo?", ""]
    assert {text: without_members(text) for text in descriptions} == descriptions


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
    "change, said",
    [
        ({"added": 1200, "present": 3}, "1,200 added, 3 there already."),
        ({}, "Nothing changed."),
        (
            {"removed": 1, "unknown": [f"no:{number}" for number in range(7)]},
            "1 removed. In no register, and not added: no:0, no:1, no:2, no:3, no:4 and 2 more.",
        ),
        (
            {"invalid": [{"parameter": "add[0]", "value": "se:1", "message": "not covered"}]},
            "Nothing changed. Not read: se:1 (not covered).",
        ),
    ],
)
def test_a_change_of_a_watchlist_is_described_in_words(
    change: dict[str, object], said: str
) -> None:
    counts = {"added": 0, "present": 0, "removed": 0, "size": 1}

    assert effect(WatchlistChange.model_validate(counts | change)) == said


@pytest.mark.parametrize(
    "type_, fields, heading",
    [
        ("company.updated", ["name"], "Name changed"),
        (
            "company.updated",
            ["address.street", "address.city", "phone"],
            "Address and phone changed",
        ),
        (
            "company.updated",
            ["trade_names", "phone", "email"],
            "Trade names, phone and e-mail changed",
        ),
        ("company.updated", list("abcd"), "A, b and 2 other fields changed"),
        ("company.updated", [], "Company changed"),
        ("owners.changed", ["owners"], "Owners changed"),
        ("company.moved", [], "Company moved"),
    ],
)
def test_an_event_has_a_heading_in_words(type_: str, fields: list[str], heading: str) -> None:
    data = {"changes": [{"field": name} for name in fields]}

    event = Event.model_validate(an_event(type=type_, data=data))

    assert happening(event.type, event.data.changes) == heading
