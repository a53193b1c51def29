"""What a reader of a company's page should know first."""

from datetime import date
from typing import Any

import pytest

from company_registry.group_models import Group
from company_registry.models import Company
from portal.domain.summaries import Summary, summary_of
from tests.builders.accounts import accounts_of
from tests.builders.answers import a_found_company, a_group

TODAY = date(2026, 11, 29)
ADDRESS = {"text": "Prøvevej 1, 1112 København K"}


def summary(group: dict[str, Any] | None = None, **fields: Any) -> Summary:
    company = Company.model_validate({**a_found_company(), "address": ADDRESS, **fields})
    found = None if group is None else Group.model_validate(group)
    return summary_of(company, found, today=TODAY)


def an_accounts(**fields: Any) -> dict[str, Any]:
    return accounts_of(**fields).model_dump(mode="json")


@pytest.mark.parametrize(
    "fields, text, since",
    [
        ({"status": "bankrupt", "status_since": "2026-03-16"}, "Bankrupt", "2026-03-16"),
        ({"status": "under_reconstruction"}, "Under reconstruction", None),
        ({"status": "ended", "ended": "2019-08-30"}, "Ended", "2019-08-30"),
        (
            {"remarks": [{"text": "Tvangsoppløsning", "since": "2026-01-01"}]},
            "Remark",
            "2026-01-01",
        ),
        (
            {"dissolution": {"reasons": [{"reason": "no_accounts", "since": "2026-01-01"}]}},
            "To be dissolved: no annual accounts",
            "2026-01-01",
        ),
        (
            {
                "form": {"code": "80"},
                "accounts_state": "ok",
                "annual_accounts": [an_accounts(year=2023)],
            },
            "Accounts are late",
            "2025-12-31",
        ),
        ({"address": None}, "No address", None),
    ],
    ids=["bankrupt", "reconstruction", "ended", "remark", "dissolution", "late", "address"],
)
def test_what_is_wrong_is_a_warning(fields: dict[str, Any], text: str, since: str | None) -> None:
    [warned] = summary(**fields).warnings

    assert (warned.text, warned.since) == (text, since)


def test_a_company_in_order_has_no_warning() -> None:
    fields: dict[str, Any] = {"form": {"code": "80"}, "accounts_state": "ok"}

    assert summary(**fields, annual_accounts=[an_accounts(year=2025)]).warnings == ()
    # Whether accounts that were not read are late is not known.
    assert summary(form={"code": "80"}, accounts_state="unknown", accounts="2019").warnings == ()


def test_an_owner_that_has_ended_and_what_the_auditor_remarked_are_warnings() -> None:
    group = a_group()
    group["companies"][1]["status"] = "ended"
    accounts = an_accounts(year=2025, audit={"opinion": "qualified"})

    found = summary(group, annual_accounts=[accounts])

    assert [each.text for each in found.warnings] == [
        "Accounts to 31 Dec 2025: qualified opinion of the auditor",
        "Its owner Ejer ApS has ended",
    ]


def test_the_facts_are_in_a_few_words() -> None:
    accounts = an_accounts(year=2025, revenue="12345678", profit="1100000", currency="DKK")
    owners = [
        {"name": "Ejer ApS", "type": "company", "share": {"min": "66.67", "max": "90"}},
        {"name": "Carla", "type": "person", "share": {"min": "10", "max": "15"}},
    ]
    roles = [{"role": "director", "name": "Anna", "type": "person"}]

    found = summary(
        a_group(), founded="1999-11-30", annual_accounts=[accounts], owners=owners, roles=roles
    )

    assert found.age == "26 years"
    assert found.accounts == "2025: revenue 12.3 m DKK, profit 1.1 m"
    assert [each.name for each in found.top_owners] == ["Ejer ApS"]
    assert [each.name for each in found.directors] == ["Anna"]
    assert [each.name for each in found.ultimate] == ["Carla Prøve"]
