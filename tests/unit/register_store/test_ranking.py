"""The stored rank of companies that match equally well."""

from common.contracts.company import Employees, Status
from register_store.documents import sort_text
from tests.builders.companies import a_company


def test_stored_ranks_sort_active_then_large_then_old_companies_first() -> None:
    large = Employees(min=100, max=199)
    best_first = [
        a_company(vat="30000004", employees=large, founded="2001-01-01"),
        a_company(vat="30000003", employees=large, founded="2002-01-01"),
        a_company(vat="30000001", employees=None, founded="1990-01-01"),
        a_company(vat="30000002", employees=None, founded="1990-01-01"),
        a_company(vat="30000000", employees=large, status=Status.BANKRUPT),
        a_company(vat="20000000", employees=large, status=Status.ENDED),
    ]

    assert sorted(best_first, key=sort_text) == best_first
