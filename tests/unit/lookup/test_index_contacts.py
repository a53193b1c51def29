"""The search for an e-mail address or a domain in a built index."""

from collections.abc import Sequence

import pytest

from common.contracts.company import Status
from common.domain.contacts import read_contacts
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import IndexedCompany
from tests.builders.indexed import an_indexed_company, filled


def reachable(
    number: int, email: str | None = None, website: str | None = None, *, employees: int = 0
) -> IndexedCompany:
    return an_indexed_company(
        f"Nordlys {number}",
        number=number,
        employees=employees,
        contacts=tuple(read_contacts(email, website).terms),
    )


@pytest.mark.parametrize(
    "contact, found",
    [
        # Whose address it is, before the larger company with its domain.
        ("salg@alfa.example", [(1, 100.0)]),
        ("post@alfa.example", [(2, 80.0), (3, 80.0), (1, 80.0)]),
        ("alfa.example", [(2, 100.0), (3, 100.0), (1, 100.0)]),
        ("ola@gmail.com", [(4, 100.0)]),
        ("kari@gmail.com", []),
        ("gmail.com", []),
        ("beta.example", []),
    ],
)
def test_a_contact_finds_the_companies_that_have_it(
    index: SearchIndex, contact: str, found: Sequence[tuple[int, float]]
) -> None:
    filled(
        index,
        reachable(1, "salg@alfa.example"),
        reachable(2, "kontor@alfa.example", employees=50),
        reachable(3, website="https://www.alfa.example/", employees=20),
        reachable(4, "ola@gmail.com"),
        reachable(5, website="https://facebook.com/fem"),
    )

    hits = index.search_contacts(contact, 6)

    assert [(int(hit.key.vat), hit.score) for hit in hits] == found


def test_the_companies_with_the_same_contact_are_counted(index: SearchIndex) -> None:
    filled(
        index,
        *(reachable(n, website="alfa.example") for n in range(1, 9)),
        reachable(9, "a@b.example"),
    )

    hits = [index.search_contacts(contact, 1)[0] for contact in ("alfa.example", "a@b.example")]

    assert [hit.others for hit in hits] == [7, 0]


def test_an_active_company_precedes_one_that_has_ended(index: SearchIndex) -> None:
    ended = an_indexed_company(
        number=1, status=Status.ENDED, employees=50, contacts=("alfa.example",)
    )
    filled(index, ended, reachable(2, website="alfa.example"))

    assert [int(hit.key.vat) for hit in index.search_contacts("alfa.example", 1)] == [2]
