"""The Python client against the whole system; the portal and the guides use the rest of it."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from company_registry import Client, CompanyFilter, Lookup
from tests.e2e.conftest import Running

pytestmark = pytest.mark.e2e


@pytest.fixture
def blocking(running: Running) -> Iterator[Client]:
    with Client(running.system.base_url, running.key) as client:
        yield client


def test_a_company_is_found_by_number_and_by_text_with_every_included_part(
    blocking: Client,
) -> None:
    company = blocking.lookup(
        "dk", "12345674", include=["owners", "roles", "production_units", "einvoicing"]
    )
    past = blocking.lookup(
        "dk", "12345674", as_of=datetime.now(ZoneInfo("Europe/Copenhagen")).date()
    )
    group = blocking.group("dk", "12345674")
    did = list(blocking.history("dk", "12345674"))
    by_phone = blocking.lookup("no", "+47 22 33 44 55", by="phone")
    searched = blocking.search("dk", "+45 12 34 56 78")
    suggested = blocking.suggest("dk", "prøvefab", limit=2)
    [norwegian] = blocking.suggest("no", "prøvefabrikken n", limit=1)

    assert blocking.me().owner == "e2e"
    assert company.name == "Prøvefabrikken ApS"
    assert company.owners
    assert company.roles
    assert past.known_from is not None
    assert {"12345682"} <= {one.vat for one in group.companies if one.level < 0}
    assert "1999-11-15" in {entry.time for entry in did if entry.dated}
    assert company.production_units
    assert company.einvoicing
    assert by_phone.vat == "310345679"
    assert (searched.vat, searched.match.type, searched.alternatives) == ("12345674", "phone", ())
    assert suggested[0].vat == "12345674"
    assert len(suggested) == 2
    assert norwegian.vat == "310345679"


def test_a_copy_of_a_watchlist_has_its_companies(blocking: Client) -> None:
    watchlist = blocking.create_watchlist("Copied")
    blocking.change_watched(watchlist.id, add=["dk:12345674", "no:310345679"])
    watched = CompanyFilter(watchlist=watchlist.id)

    found = [
        (one.country, one.vat, bool(one.owners))
        for country in ("dk", "no")
        for one in blocking.export(country, watched, include=["owners"])
    ]
    blocking.delete_watchlist(watchlist.id)

    assert [each[:2] for each in found] == [("dk", "12345674"), ("no", "310345679")]
    assert found[0][2]


def test_lists_turn_round_and_name_a_town_that_is_nearly_given(blocking: Client) -> None:
    every = CompanyFilter(status=("any",), q="prøvefabrikken")
    rising, falling = (
        [(one.country, one.vat) for one in blocking.find(every, sort=sort)]
        for sort in ("founded", "-founded")
    )
    dated = [(one.country, one.vat) for one in blocking.find(every) if one.founded]
    since = CompanyFilter(country=("no",), status_since_from="2000-01-01")
    bankrupt = list(blocking.find(since, sort="-status_since"))
    mistyped = blocking.find_page(CompanyFilter(country=("no",), city=("Olso",)))

    assert len(rising) == len(falling) > 1
    assert set(rising[: len(dated)]) == set(falling[: len(dated)]) == set(dated)
    days = [one.status_since or "" for one in bankrupt]
    assert days == sorted(days, reverse=True)
    assert all(day >= "2000-01-01" for day in days)
    assert [hint.near[0].casefold() for hint in mistyped.did_you_mean] == ["oslo"]


def test_a_batch_of_any_number_has_its_results_in_order(blocking: Client) -> None:
    known, unknown = Lookup("dk", "12345674"), Lookup("no", "999999999")
    invalid, inferred = Lookup("dk", "1"), Lookup("no", "prøvefabrikken norge", by=None)

    results = list(blocking.batch([known, unknown, invalid, inferred] * 30))

    assert [result.lookup for result in results] == [known, unknown, invalid, inferred] * 30
    assert [result.company.vat if result.company else None for result in results[:4]] == [
        "12345674",
        None,
        None,
        "310345679",
    ]
    assert [result.error and result.error.code for result in results[:4]] == [
        None,
        "company_not_found",
        "invalid_parameter",
        None,
    ]
