"""The portal's lists of companies: filters, what narrows them down, pages and downloads."""

import csv
import io
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from portal.adapters import spreadsheets
from portal.adapters.http.views import companies
from tests.builders.answers import a_found_company, an_invalid
from tests.fakes.portal import Portal
from tests.fakes.portal import portal as a_portal

FACETS = {
    "industry": [{"value": "620100", "count": 3}, {"value": "412000", "count": 1}],
    "status": [{"value": "active", "count": 4}],
}


def a_list(*companies: dict[str, Any], **members: Any) -> dict[str, Any]:
    listed = [a_found_company(**each) for each in companies]
    return {"companies": listed, "total": len(listed), "cursor": None, **members}


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        portal.api.give("/api/companies", a_list({}))
        await portal.sign_in()
        yield portal


async def test_the_filters_of_a_form_are_those_of_the_api(portal: Portal) -> None:
    query = "municipality=Oslo,%20Moss&has=phone&has=email&q=&status=any&sort=-founded"

    await portal.shown(f"/companies?{query}")

    expected = {"municipality=Oslo,Moss", "has=phone,email", "status=any", "sort=-founded"}
    assert expected | {"facets=industry,municipality,form,status", "limit=25"} == {
        part for part in portal.api.queries if part
    }


async def test_a_list_has_what_it_is_narrowed_down_by_and_its_next_page(portal: Portal) -> None:
    page = a_list({"status": "bankrupt"}, total=1234, cursor="c2", facets=FACETS)
    portal.api.give("/api/companies", page)

    text = await portal.shown("/companies?city=Oslo&after=c1")

    assert "1,234 companies" in text
    assert '<span class="state state-bad">Bankrupt</span>' in text
    assert 'href="/companies?industry=62&amp;city=Oslo"' in text
    assert "Computer programming and consultancy (62)" in text
    assert 'id="facet-status"' not in text
    assert 'href="/companies?city=Oslo&amp;after=c2" rel="next"' in text
    assert "First page" in text
    assert re.search(r'<a href="/companies" data-list><span class="[^"]+">Remove </span>Town', text)


async def test_bankruptcies_of_the_week_are_a_link_with_their_days(portal: Portal) -> None:
    company = {"status": "bankrupt", "status_since": "2026-11-24"}
    portal.api.give("/api/companies", a_list(company))
    [link] = re.findall(r'href="([^"]+)">Bankruptcies this week', await portal.shown("/companies"))

    text = await portal.shown(link.replace("&amp;", "&"))

    assert {"status=bankrupt", "sort=-status_since"} <= set(portal.api.queries)
    assert any(part.startswith("status_since_from=20") for part in portal.api.queries)
    assert re.search(r'<th [^>]*aria-sort="descending"><a href="[^"]*sort=status_since"', text)
    assert re.search(r'data-label="Status since"[^>]*>[^<]*24[^<]*2026', text)
    assert re.search(r'<th [^>]*><a href="[^"]*sort=name" data-list>Name', text)


async def test_a_town_that_is_nearly_one_is_a_link_to_it(portal: Portal) -> None:
    near = [{"parameter": "city", "value": "Olso", "near": ["OSLO"]}]
    portal.api.give("/api/companies", a_list(did_you_mean=near))

    text = await portal.shown("/companies?city=Olso,Moss&form=AS")

    expected = (
        'Town: no company has Olso. Did you mean <a href="/companies?city=OSLO%2C+Moss&amp;form=AS"'
    )
    assert expected in text


async def test_a_filter_that_the_api_refuses_has_its_fault_at_the_field(portal: Portal) -> None:
    refused = an_invalid("municipality", "must be the name; did you mean Oslo?")
    portal.api.give("/api/companies", refused, 400)

    response = await portal.get("/companies?municipality=Ozlo")

    text = await response.text()
    assert response.status == 400
    assert "Must be the name; did you mean Oslo?" in text
    assert re.search(r'<input id="municipality"[^>]* aria-invalid="true"[^>]* autofocus', text)
    assert "<table" not in text


async def test_a_fault_of_a_folded_field_unfolds_it(portal: Portal) -> None:
    portal.api.give("/api/companies", an_invalid("form", "must be a code"), 400)

    assert re.search(r'<details id="more" open>', await portal.shown("/companies?form=zzz"))


async def test_an_invalid_number_is_refused_before_any_request(portal: Portal) -> None:
    response = await portal.get("/companies?employees_min=many")

    assert response.status == 400
    assert "Enter a whole number." in await response.text()
    assert "/api/companies" not in [path for _, path, _ in portal.api.requests]
    assert (await portal.get("/companies.csv?employees_min=many")).status == 400


async def test_a_cursor_that_was_never_given_is_refused(portal: Portal) -> None:
    portal.api.give("/api/companies", an_invalid("after", "must be a cursor"), 400)

    assert "Invalid request" in await portal.shown("/companies?after=zzz")


async def test_a_list_without_companies_says_so(portal: Portal) -> None:
    portal.api.give("/api/companies", a_list())

    assert "No company fits all of these filters" in await portal.shown("/companies?q=ingen")


@pytest.mark.parametrize("total, is_said", [(10_000, False), (10_001, True)])
async def test_a_long_list_names_the_export(portal: Portal, total: int, *, is_said: bool) -> None:
    portal.api.give("/api/companies", a_list({}, total=total))

    assert ("A download has the first 10,000" in await portal.shown("/companies")) is is_said


def rows_of(content: bytes, format_: str) -> list[list[Any]]:
    if format_ == "csv":
        assert content.startswith(b"\xef\xbb\xbf")
        return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    return CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0).to_python()


@pytest.mark.parametrize("format_", ["csv", "xlsx"])
async def test_a_download_has_the_companies_as_texts_that_nothing_acts_on(
    portal: Portal, format_: str
) -> None:
    hostile = {"name": '=HYPERLINK("https://evil.example")', "vat": "01234567"}
    portal.api.give("/api/companies", a_list(hostile, {"name": "https://example.com/"}))

    response = await portal.get(f"/companies.{format_}?q=as")

    assert re.fullmatch(
        rf'attachment; filename="companies-\d{{4}}-\d\d-\d\d\.{format_}"',
        response.headers["Content-Disposition"],
    )
    header, first, second = rows_of(await response.read(), format_)
    assert header[:3] == ["Country", "Registration number", "Name"]
    assert first[1:3] == ["01234567", '\'=HYPERLINK("https://evil.example")']
    assert second[2] == "https://example.com/"
    assert "q=as" in portal.api.queries


async def test_a_download_has_all_pages_up_to_its_limit(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companies, "MAX_DOWNLOADED", 300)
    portal.api.give("/api/companies", a_list({}, cursor="c2"))

    response = await portal.get("/companies.csv")

    assert len(rows_of(await response.read(), "csv")) == 1 + 3
    assert portal.api.queries.count("after=c2") == 2


async def test_a_download_that_fails_is_a_page(portal: Portal) -> None:
    portal.api.fail("/api/companies", 429, "rate_limited")

    response = await portal.get("/companies.xlsx")

    assert response.status == 429
    assert "Too many requests" in await response.text()


async def test_a_download_waits_for_its_turn_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheets, "_TURN", 0.01)
    monkeypatch.setattr(spreadsheets, "MAX_WRITING", 0)
    async with a_portal() as portal:
        await portal.sign_in()

        response = await portal.get("/companies.csv")
        text = await response.text()

    assert response.status == 503
    assert "Other spreadsheets are being written" in text
