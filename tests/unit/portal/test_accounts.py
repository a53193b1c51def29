"""Annual accounts side by side: bars, missing figures, remarks and links."""

import json
from typing import Any

from company_registry.models import AnnualAccounts
from portal.domain.accounts import BARS_HEIGHT, MAX_YEARS, Table, tables
from tests.builders.accounts import accounts_of


def of(year: int = 2025, **fields: Any) -> AnnualAccounts:
    given = json.loads(accounts_of(year, **fields).model_dump_json())
    return AnnualAccounts.model_validate(given)


def the(*accounts: AnnualAccounts) -> Table:
    [table] = tables(accounts)
    return table


def test_years_stand_side_by_side_the_oldest_first_and_at_most_five() -> None:
    table = the(*(of(year, profit=str(year)) for year in range(2025, 2018, -1)))

    assert [year.label for year in table.years] == ["2021", "2022", "2023", "2024", "2025"]
    assert table.rows[0].figures == ("2021", "2022", "2023", "2024", "2025")
    assert (len(table.years), table.currency) == (MAX_YEARS, "NOK")


def test_a_negative_figure_hangs_from_zero_and_a_missing_one_has_no_bar() -> None:
    [row] = the(of(2025, profit="-100"), of(2024), of(2023, profit="300")).rows

    loss, gain = row.bars[1], row.bars[0]
    assert row.figures == ("300", None, "-100")
    assert (gain.y, gain.height, gain.is_negative) == (0, row.y_zero, False)
    assert (loss.y, loss.height, loss.is_negative) == (row.y_zero, BARS_HEIGHT // 4, True)
    assert loss.x - gain.x == 2 * 20


def test_the_least_figure_is_seen_and_zero_has_no_bar() -> None:
    [row] = the(of(2025, profit="1"), of(2024, profit="0"), of(2023, profit="1000000")).rows

    assert [bar.height for bar in row.bars] == [BARS_HEIGHT, 2]
    [nothing] = the(of(profit="0")).rows
    assert nothing.bars == ()


def test_company_group_and_accounts_of_either_are_apart() -> None:
    found = tables([of(scope="unknown"), of(scope="group"), of(scope="company")])

    assert [table.title for table in found] == [
        "The company alone",
        "The group",
        "The company or its group: the document does not say which",
    ]
    assert tables([]) == []


def test_bars_of_two_currencies_are_not_compared() -> None:
    profits = the(of(2025, profit="1", employees="7"), of(2024, profit="9", currency="EUR"))

    profit, employees = profits.rows
    assert (len(profit.bars), len(employees.bars)) == (1, 1)
    assert [year.label for year in profits.years] == ["2024 EUR", "2025 NOK"]
    assert profits.currency == ""


def test_remarks_are_told_of_each_year_the_newest_first() -> None:
    qualified: Any = {"type": "audit", "opinion": "qualified", "going_concern": True}
    missing: Any = {"type": "missing"}

    table = the(of(2025, audit=qualified), of(2024), of(2023, audit=missing, liquidation=True))

    assert table.remarks == [
        ("2025", "qualified opinion of the auditor, doubt about going concern"),
        ("2023", "auditor’s report not delivered, on liquidation"),
    ]


def test_notes_say_how_the_figures_came_about() -> None:
    period: Any = {"start": "2024-07-01", "end": "2025-06-30"}
    [year] = the(
        of(
            period=period,
            standard="ifrs",
            size_class="C_large",
            basis="comparative",
            warnings=("unbalanced", "conflict:gross_profit", "a_new_one"),
        )
    ).years

    assert year.label == "1 Jul 2024 to 30 Jun 2025"
    assert year.notes == (
        "IFRS",
        "class C large",
        "as told in the accounts of the year after",
        "assets differ from equity and liabilities",
        "gross profit is given twice and differs, and left out",
        "a new one",
    )


def test_only_addresses_of_the_web_become_links() -> None:
    given = of().model_dump(mode="json", by_alias=True)
    given["source"] |= {"pdf": "javascript:alert(1)", "document": "http://documents.example/a.xml"}

    [year] = the(AnnualAccounts.model_validate(given)).years

    assert (year.pdf, year.document) == (None, "http://documents.example/a.xml")
