"""Sentences for people: the events of a webhook, and problems of the API."""

from typing import Any

import pytest

from company_registry import WebhookFilter
from company_registry.errors import FieldError, problem_error
from portal.domain.arrivals import arrivals
from portal.domain.wording import detail, faults, sentence, without_members

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


def test_no_problem_speaks_of_requests() -> None:
    text = 'the webhook is disabled; PATCH it with {"status": "enabled"} first'

    assert "PATCH" not in a_problem("webhook_disabled", text)


def test_an_operators_decision_is_shown() -> None:
    assert a_problem("webhook_disabled", "the operator disabled it") == "The operator disabled it."


def test_another_problem_is_a_sentence() -> None:
    assert a_problem("new_code", "use `this`") == "Use this."
    assert sentence("did you mean Oslo?") == "Did you mean Oslo?"
    assert sentence("") == ""


def test_a_fault_names_the_value_that_is_wrong() -> None:
    errors = [
        FieldError("filter.companies[1]", "give country and registration number"),
        FieldError("filter.companies[1]", "give country and registration number"),
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
