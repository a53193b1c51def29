"""Contents of the portal's pages: menus, times, searches, companies, groups, texts of others."""

import re
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from portal.adapters.http.context import Links
from tests.builders.accounts import accounts_of
from tests.builders.answers import (
    a_group,
    a_history_entry,
    a_page,
    a_summary,
    a_webhook,
    an_attempt,
    an_event,
    an_invalid,
)
from tests.fakes.portal import ME, Portal
from tests.fakes.portal import portal as a_portal

AT = "2026-07-02T22:30:00Z"
COMPANY: dict[str, Any] = {
    "country": "dk",
    "vat": "12345674",
    "name": "Prøve ApS",
    "status": "bankrupt",
    "status_text": "UNDER KONKURS",
    "form": {"code": "80", "description": "Anpartsselskab"},
    "phone": "12345678",
    "email": "post@example.com",
    "website": "www.example.com",
    "advertising_protected": True,
    "revision": 2,
    "match": {"type": "vat", "score": 100},
    "source": {"register": "cvr", "updated_at": AT},
    "owners": [
        {"name": "Ejer ApS", "type": "company", "vat": "12345682", "role": "owner"},
        {"name": "Carla Prøve", "type": "person", "role": "general_partner"},
    ],
    "roles": [{"role": "board_chair", "role_text": "FORMAND", "name": "A", "type": "person"}],
    "einvoicing": [],
}
ACCOUNTS = [
    one.model_dump(mode="json")
    for one in (
        accounts_of(
            profit="-1234567",
            revenue="5",
            currency="DKK",
            audit={"opinion": "qualified"},
            documents={"pdf": "http://documents.example/a.pdf", "document": "javascript:1"},
        ),
        accounts_of(2024, profit="7", currency="DKK"),
        accounts_of(scope="group", profit="8", currency="DKK"),
    )
]
WEBHOOK = a_webhook(secret="whsec_1", created_at=AT, updated_at=AT)
HOOK = "/api/webhooks/wh_1"
UNITS = "/api/companies/dk/12345674/production_units"
NO_UNITS: dict[str, Any] = {"production_units": [], "total": 0, "cursor": None}
HISTORY = "/api/companies/dk/12345674/history"
GROUP = "/api/companies/dk/12345674/group"
NO_HISTORY: dict[str, Any] = {"history": [], "known_from": None, "cursor": None}
NOT_FOUND = {"code": "company_not_found", "detail": "none"}
REMOVED = {"code": "company_removed", "detail": "gone", "removed_on": "2026-03-02"}


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    """A signed-in browser, of a key with every scope."""
    async with a_portal() as portal:
        portal.api.give(HOOK, WEBHOOK)
        portal.api.give("/api/vat", COMPANY)
        portal.api.give(UNITS, NO_UNITS)
        portal.api.give(HISTORY, NO_HISTORY)
        portal.api.give(f"{HOOK}/deliveries", {"deliveries": []})
        await portal.sign_in()
        yield portal


@pytest.mark.parametrize(
    "scopes, names",
    [
        (["lookup"], ["Home", "Companies", "Customers", "Key"]),
        (["webhooks", "events"], ["Home", "Webhooks", "Watchlists", "Events", "Key"]),
        ([], ["Home", "Key"]),
    ],
)
async def test_a_menu_has_only_what_the_key_may_use(scopes: list[str], names: list[str]) -> None:
    async with a_portal() as portal:
        portal.api.give("/api/me", {**ME, "scopes": scopes})
        portal.api.give("/api/vat", {**COMPANY, "owners": []})
        portal.api.give(UNITS, NO_UNITS)

        signed_in = await portal.sign_in()
        text = await portal.shown("/key")
        company = await portal.shown("/companies/dk/12345674")

    assert signed_in.headers["Location"] == "/"
    [menu] = re.findall(r"<nav aria-label=\"Main\">.*?</nav>", text, re.DOTALL)
    assert re.findall(r">([A-Z]\w+)</a>", menu) == names
    assert (">Alert me</a>" in company) is ("webhooks" in scopes)


async def test_pages_link_to_the_reference_and_to_where_a_key_comes_from() -> None:
    links = Links("https://api.example.com/docs", "mailto:keys@example.com")

    async with a_portal(links=links) as portal:
        text = await portal.shown("/sign-in")

    assert 'href="https://api.example.com/docs"' in text
    assert 'href="mailto:keys@example.com"' in text


async def test_all_times_are_in_one_zone_which_the_page_names(portal: Portal) -> None:
    times = {
        "Europe%2FCopenhagen": "3 Jul 2026, 00:30:00 CEST",
        "America/New_York": "2 Jul 2026, 18:30:00 EDT",
        "": "2 Jul 2026, 22:30:00 UTC",
        "../../etc/passwd": "2 Jul 2026, 22:30:00 UTC",
        "Europe/Nowhere": "2 Jul 2026, 22:30:00 UTC",
    }
    jar, url = portal.client.session.cookie_jar, portal.client.make_url("/")
    for cookie, time in times.items():
        jar.update_cookies({"zone": cookie}, url)

        text = await portal.shown("/webhooks/wh_1")

        assert f'<time datetime="{AT}">{time}</time>' in text
        assert re.search(r"All times are in \w+", text)

    jar.update_cookies({"zone": "Europe/Copenhagen"}, url)
    portal.api.give(f"{HOOK}/recover", {"count": 1}, 202)
    await portal.post("/webhooks/wh_1/recover", {"since": "2026-07-02T12:00"})
    assert portal.api.bodies[-1] == {"since": "2026-07-02T10:00:00Z"}
    assert "1 delivery is sent again." in await portal.shown("/webhooks/wh_1")


# Searches and companies: the answers of the API, a path, and what its page has and has not

OTHER = a_summary(name="Anden ApS")
#: By what is said: the match, and how the text was understood.
ONE_OF = {
    "11 companies have this name": (("name", 100, 10), "a name"),
    "2 companies match this name equally well": (("name", 91, 1), "a name"),
    "2 companies have this phone number": (("phone", 100, 1), "a phone number"),
    "1,201 companies are at this address": (("address", 100, 1200), "an address"),
}
EINVOICING = {"identifier": "0088:5790000000005", "scheme": "0088"}
PARTIAL = {"field": "einvoicing", "old": [], "new": [EINVOICING], "partial": True}
GONE = an_event(
    type="company.removed", country="dk", vat="12345674", data={"company": None, "changes": []}
)
ELSEWHERE = "a Danish registration number is 8 digits; this is a Norwegian one: give country=no"
UNIT = {"number": "1012345670", "name": "Prøve Aarhus", "status": "active"}
SEEN = a_history_entry()
DATED = a_history_entry(
    time="1999-11-15",
    dated=True,
    type="company.status_changed",
    changes=[{"field": "status_text", "old": None, "new": "NORMAL"}],
)
CIRCULAR = a_group(
    links=[
        {"owner": "12345682", "owned": "12345674", "circle": True},
        {"owner": "12345674", "owned": "12345682", "circle": True},
    ],
    ultimate_owners=None,
    truncated=True,
    shareholders_known=False,
)


#: Fields that the registers have of few companies, owners, roles and units.
OF_FEW = {
    "dissolution": {"reasons": [{"reason": "no_accounts", "since": "2026-03-02"}]},
    "financial_year": {
        "start": "07-01",
        "end": "06-30",
        "first": {"start": "2024-03-01", "end": "2025-06-30"},
    },
    "minor_owners": True,
    "remarks": [{"text": "Fejl ved indlæsning"}],
    "owners": [
        {
            "name": "EIER AS",
            "type": "company",
            "source": "no-konsern",
            "reported_on": "2019-02-01",
            "contribution": {"amount": "7000", "currency": "DKK"},
        }
    ],
    "roles": [
        {
            "name": "Kari Prøvesen",
            "type": "person",
            "role": "board_member",
            "elected_by": "employees",
            "group_changed": "2026-05-04",
        }
    ],
}
UNIT_OF_FEW = UNIT | {
    "fax": "33445566",
    "owner_changed": "2015-07-01",
    "voluntary_vat": {"activities": ["Utleie"]},
}


CROSSING = a_group(
    companies=[
        *a_group()["companies"],
        {
            "country": "no",
            "vat": "310345679",
            "name": "EIER AS",
            "city": None,
            "status": "active",
            "level": -2,
        },
    ],
    links=[
        {"owner": "12345682", "owned": "12345674"},
        {"owner": "310345679", "owned": "12345682", "source": "no-konsern"},
    ],
    ultimate_owners=[
        {"owner": "310345679", "name": "EIER AS", "type": "company", "vat": "310345679"}
    ],
)
CROSSING["companies"][1].update(other_records=[{"country": "no", "vat": "310346020"}])


def a_delivery(**fields: Any) -> dict[str, Any]:
    names = {"delivery_id": "d1", "event_id": "e1", "event_type": "webhook.test"}
    return {**names, "body": "{}", "attempts": [], **fields}


class Shown(NamedTuple):
    """A page, and what it has to say of the API's answers."""

    answers: dict[str, tuple[int, Any]]
    path: str
    status: int
    has: list[str]
    lacks: list[str]


SHOWN: dict[str, Shown] = {
    "a word of many names": Shown(
        {
            "/api": (404, NOT_FOUND),
            "/api/suggest": (
                200,
                {
                    "suggestions": [
                        a_summary(name="Prøve Holding ApS"),
                        a_summary(name="Ny ApS", matched_name="Gammel Holding ApS"),
                    ],
                    "cursor": "c2",
                },
            ),
        },
        "/?q=holding&country=dk",
        200,
        [
            "Searched as a name.",
            "Prøve Holding ApS",
            "as “Gammel Holding ApS”",
            "/?q=holding&amp;country=dk&amp;after=c2",
        ],
        ["No company matches", "First page"],
    ),
    "its next page": Shown(
        {"/api/suggest": (200, {"suggestions": [OTHER], "cursor": None})},
        "/?q=holding&country=dk&after=c2",
        200,
        ["First page", "Anden ApS"],
        ['rel="next"'],
    ),
    "a page that was never given": Shown(
        {"/api/suggest": (400, an_invalid("after", "must be a cursor"))},
        "/?q=holding&country=no&after=zzz",
        400,
        ["Invalid request"],
        [],
    ),
    "a text without any company": Shown(
        {
            "/api": (404, NOT_FOUND),
            "/api/suggest": (200, {"suggestions": [], "cursor": None}),
        },
        "/?q=Torggate+16",
        200,
        ["No company matches", "Searched as a name and as an address."],
        [],
    ),
    **{
        said: Shown(
            {
                "/api": (
                    200,
                    {
                        **COMPANY,
                        "match": dict(zip(("type", "score", "others"), match, strict=True)),
                        "alternatives": [OTHER],
                    },
                ),
                "/api/suggest": (200, {"suggestions": [a_summary(vat="12345674", name="Same")]}),
            },
            "/?q=Torggate+16&country=dk",
            200,
            [
                f"<strong>{said}</strong>; this is one of them.",
                f"Searched as {understood}.",
                "Anden ApS",
            ],
            ["Same"],
        )
        for said, (match, understood) in ONE_OF.items()
    },
    "an invalid text": Shown(
        {"/api": (400, an_invalid("search", "give at least `two` letters"))},
        "/?q=x",
        200,
        [
            '<p class="fault" id="q-fault" role="alert">Give at least two letters.</p>',
            'aria-describedby="q-fault"',
        ],
        [],
    ),
    "a mistyped number": Shown(
        {"/api": (404, NOT_FOUND)},
        "/?q=DK99999999",
        200,
        ["DK99999999 is no valid registration number: its check digit is wrong."],
        ["No company matches"],
    ),
    "a number of the other register": Shown(
        {"/api": (400, an_invalid("search", ELSEWHERE))},
        "/?q=NO+310+345+679+MVA&country=dk",
        200,
        ["this is a Norwegian one: choose Norway"],
        [],
    ),
    "a removed company": Shown(
        {"/api/vat": (410, REMOVED)},
        "/companies/dk/12345674",
        410,
        ["<h1>Removed</h1>", "Its register had this company removed on 2026-03-02."],
        [],
    ),
    "a removed company that is searched for": Shown(
        {"/api": (410, REMOVED)},
        "/?q=12345674&country=dk",
        200,
        ["Its register had this company removed on 2026-03-02."],
        [],
    ),
    "the event of a removal": Shown(
        {"/api/events": (200, a_page(GONE))},
        "/events",
        200,
        [
            '<strong class="subject">DK 12345674</strong> <strong>Company removed</strong>',
            "by its register: its name, its facts and its earlier changes are no longer kept",
        ],
        ['href="/companies/dk/12345674"'],
    ),
    "a company": Shown(
        {},
        "/companies/dk/12345674",
        200,
        [
            'href="tel:+4512345678"',
            'href="mailto:post@example.com"',
            'href="https://www.example.com" rel="noopener noreferrer nofollow"',
            "Private limited company",
            "Chair of the board",
            "is fully liable for a limited partnership",
            '<span class="state state-bad">Bankrupt</span>',
            "an administrator has taken over",
            'href="/companies/dk/12345674/group"',
            "Nothing is known.",
            '<li class="note note-bad"><strong>Bankrupt</strong>.',
            'The register says: <span lang="da">Under konkurs</span>.',
            '<span id="number">12345674</span> <button type="button" class="quiet copy"',
            "retrieved 2 Mar 2026, 12:05:00 UTC with the key ",
            '<a class="hint below screen" href="/companies?owned_by=dk:12345682&amp;status=any">',
            "Persons cannot be searched for here.",
        ],
        ["Show more"],
    ),
    "a company as on a date": Shown(
        {
            "/api/vat": (200, {**COMPANY, "as_of": "2015-01-01", "known_from": AT}),
            "/api/companies/dk/12345674/accounts": (
                200,
                {"annual_accounts": ACCOUNTS[:1], "accounts_state": "ok", "cursor": None},
            ),
            HISTORY: (200, {"history": [SEEN, DATED], "known_from": AT, "cursor": None}),
        },
        "/companies/dk/12345674?as_of=2015-01-01",
        200,
        [
            "As on <strong>1 Jan 2015</strong>",
            "there is only what the register itself dates",
            "Its group, production units and e-invoicing are known as of today only.",
            'href="/companies/dk/12345674.json?as_of=2015-01-01"',
            "None had been published by this day.",
            '<time datetime="1999-11-15">',
        ],
        ["New trade name", "Production units", "The whole group"],
    ),
    "a company as on no date": Shown(
        {},
        "/companies/dk/12345674?as_of=yesterday",
        400,
        ['id="as_of-fault">Enter a day, such as 2026-03-02.</p>', "<h1>Prøve ApS"],
        ["As on <strong>"],
    ),
    "a kind of changes": Shown(
        {HISTORY: (200, {"history": [SEEN, DATED], "known_from": AT, "cursor": None})},
        "/companies/dk/12345674?changes=status",
        200,
        ['#history" aria-current="true">Status</a>', '<time datetime="1999-11-15">'],
        ["New trade name"],
    ),
    "the accounts of a company and of its group": Shown(
        {"/api/vat": (200, {**COMPANY, "annual_accounts": ACCOUNTS, "accounts_state": "ok"})},
        "/companies/dk/12345674",
        200,
        [
            "<li>2025: qualified opinion of the auditor</li>",
            'The company alone <span class="hint">DKK</span>',
            'The group <span class="hint">DKK</span>',
            '<strong class="loss">−1,234,567</strong>',
            '<span class="none" title="not told">–</span>',
            'fill="url(#loss)"',
            'href="http://documents.example/a.pdf" rel="noopener noreferrer nofollow"',
            "which is not zero: small companies need not tell their revenue",
            "Source: CVR/Erhvervsstyrelsen.",
        ],
        ["javascript:"],
    ),
    **{
        f"a company whose accounts are {state}": Shown(
            {
                "/api/vat": (
                    200,
                    {
                        **COMPANY,
                        "accounts": "2024",
                        "annual_accounts": [],
                        "accounts_state": state,
                    },
                )
            },
            "/companies/dk/12345674",
            200,
            [text, "the last accounts it filed are those of 2024"],
            ["figure-bars"],
        )
        for state, text in (
            ("none", "The register has no annual accounts of this company."),
            ("unavailable", "such as banks and insurers in Norway"),
            ("unknown", "its register has not been read yet"),
            ("a_new_state", "its register has not been read yet"),
        )
    },
    "a long list": Shown(
        {
            "/api/vat": (
                200,
                {**COMPANY, "owners": [], "einvoicing": [EINVOICING], "einvoicing_total": 6500},
            ),
        },
        "/companies/dk/12345674",
        200,
        ["The first 1 of 6,500; the API"],
        [],
    ),
    "a company with what few have": Shown(
        {
            "/api/vat": (200, {**COMPANY, **OF_FEW}),
            UNITS: (200, {"production_units": [UNIT_OF_FEW], "total": 1, "cursor": None}),
        },
        "/companies/dk/12345674",
        200,
        [
            "To be dissolved: no annual accounts",
            "1 Mar 2024 to 30 Jun 2025",
            "The register does not name them",
            "Fejl ved indlæsning",
            '<span class="hint">by the register of groups</span>',
            '<span class="hint">reported 1 Feb 2019</span>',
            '<span class="hint">7,000 DKK</span>',
            '<span class="tag">elected by the employees</span>',
            '<span class="hint">changed 4 May 2026</span>',
            '<span class="hint">taken over 1 Jul 2015</span>',
            '<span class="hint">fax 33445566</span>',
            '<span class="hint">voluntary VAT (Utleie)</span>',
        ],
        [],
    ),
    "a Norwegian company without owners": Shown(
        {
            "/api/vat": (200, {**COMPANY, "country": "no", "vat": "310345679", "owners": None}),
            UNITS.replace("dk/12345674", "no/310345679"): (200, NO_UNITS),
        },
        "/companies/no/310345679",
        200,
        ["no other shareholders", "aksjeeierbok"],
        ["for this legal form"],
    ),
    "a webhook without a description": Shown(
        {"/api/webhooks": (200, {"webhooks": [a_webhook()]})},
        "/webhooks",
        200,
        [">https://example.com/hooks</a>"],
        ["https://example.com/hooks</span>"],
    ),
    "a delivery that succeeded": Shown(
        {f"{HOOK}/deliveries/d1": (200, a_delivery(status="succeeded"))},
        "/webhooks/wh_1/deliveries/d1",
        200,
        [">Send again</button>"],
        ["Retry now"],
    ),
    "a delivery that failed": Shown(
        {f"{HOOK}/deliveries/d1": (200, a_delivery(status="failed"))},
        "/webhooks/wh_1/deliveries/d1",
        200,
        [">Retry now</button>"],
        ["Send again"],
    ),
    "a change of a long list": Shown(
        {
            "/api/events": (
                200,
                a_page(an_event(type="company.updated", data={"changes": [PARTIAL]})),
            )
        },
        "/events",
        200,
        ["New e-invoicing identifier:", "0088:5790000000005"],
        ["Removed"],
    ),
    "the history of a company": Shown(
        {
            HISTORY: (200, {"history": [SEEN, DATED], "known_from": AT, "cursor": "h2"}),
        },
        "/companies/dk/12345674?history=h1",
        200,
        [
            '<span class="what">New trade name:</span> <span class="new">Prøven</span>',
            '<li class="divider">Before 2 Jul 2026: dates from the register</li>',
            '<time datetime="1999-11-15">15 Nov 1999</time>',
            'href="/companies/dk/12345674?history=h2#history" rel="next">Show more</a>',
            'href="/companies/dk/12345674#history">Newest</a>',
        ],
        ["cannot be shown"],
    ),
    "a company whose history fails": Shown(
        {
            HISTORY: (503, {"code": "service_unavailable", "detail": "no database"}),
        },
        "/companies/dk/12345674",
        200,
        ["<h1>Prøve ApS", "The history cannot be shown. The service cannot answer"],
        [],
    ),
    "a company whose history cannot be read": Shown(
        {HISTORY: (200, {"nothing": "known"})},
        "/companies/dk/12345674",
        200,
        ["<h1>Prøve ApS", "The history cannot be shown."],
        [],
    ),
    "a group": Shown(
        {GROUP: (200, a_group())},
        "/companies/dk/12345674/group",
        200,
        [
            "<h1>The group of Prøve ApS</h1>",
            '<g class="box box-self" data-id="12345674">',
            '<g class="box box-ended" data-id=',
            '<g class="box box-person box-reaching" data-id=',
            ">50–66.67 %</text>",
            "ultimately 50–66.67 %</text>",
            '<li><a href="/companies/dk/12345682">Ejer ApS</a>, 50–66.67 %',
            '50–66.67 % <span class="state state-wait">25 % or more</span>',
            "Who reaches 25 % is computed here, and not stated by the register.",
            "<li>Carla Prøve, 100 %",
        ],
        ["The group goes on", "no shareholders", "circle of ownership", "/group?levels"],
    ),
    "a group with a circle that goes on, in a register without shareholders": Shown(
        {GROUP: (200, CIRCULAR)},
        "/companies/dk/12345674/group",
        200,
        [
            "The group goes on",
            'href="/companies/dk/12345674/group?levels=10"',
            "no other shareholders",
            "a circle of ownership, which is not followed",
            'class="link circle"',
            '<span class="tag">circle</span> <span class="hint">this company</span>',
        ],
        ["Ultimate owners</h2>"],
    ),
    "a group of both countries": Shown(
        {GROUP: (200, CROSSING)},
        "/companies/dk/12345674/group",
        200,
        [
            '<li><a href="/companies/no/310345679">EIER AS</a>',
            '<li><a href="/companies/dk/12345682">Ejer ApS</a>',
            '<span class="hint">also NO 310346020</span>',
            'name="company" value="no:310345679"',
        ],
        ["/companies/dk/310345679"],
    ),
    "a group of one": Shown(
        {GROUP: (200, a_group(companies=a_group()["companies"][:1], links=[]))},
        "/companies/dk/12345674/group?levels=10",
        200,
        ["No owners and no subsidiaries are known."],
        ['<svg class="chain"', "as a list"],
    ),
    "a group that fails": Shown(
        {GROUP: (404, NOT_FOUND)},
        "/companies/dk/12345674/group",
        404,
        ["No company has this number."],
        [],
    ),
    "production units": Shown(
        {
            UNITS: (200, {"production_units": [UNIT], "total": 8000, "cursor": "u2"}),
        },
        "/companies/dk/12345674?units=u1",
        200,
        [
            "Prøve Aarhus",
            "1 of 8,000",
            'href="/companies/dk/12345674?units=u2#units"',
            "First page",
        ],
        [],
    ),
}


@pytest.mark.parametrize("page", SHOWN.values(), ids=SHOWN)
async def test_a_page_says_what_the_api_answers(portal: Portal, page: Shown) -> None:
    portal.api.answers |= page.answers

    response = await portal.get(page.path)

    text = await response.text()
    assert response.status == page.status
    assert [part for part in page.has if part not in text] == []
    assert [part for part in page.lacks if part in text] == []


async def test_the_boxes_of_a_picture_lead_to_the_companies_of_ten_levels(portal: Portal) -> None:
    portal.api.give(GROUP, a_group())

    text = await portal.shown("/companies/dk/12345674/group?levels=10")

    assert "levels=10" in portal.api.queries
    [drawing] = re.findall(r"<svg class=\"chain\".*?</svg>", text, re.DOTALL)
    others = ["/companies/dk/12345682", "/companies/dk/12345712"]
    assert re.findall(r'href="([^"]+)"', drawing) == others


async def test_an_identifier_leads_to_its_company(portal: Portal) -> None:
    portal.api.give("/api", COMPANY)

    response = await portal.get("/?q=DK12345674")

    assert response.headers["Location"] == "/companies/dk/12345674"
    assert "Searched as a registration number." in await portal.shown("/key")


async def test_suggestions_say_which_register_could_not_be_searched(portal: Portal) -> None:
    portal.api.fail("/api/suggest", 504, "lookup_timeout")
    failed = await (await portal.get("/suggest?q=holding&country=dk")).json()
    portal.api.give("/api/suggest", an_invalid("q", "must have a letter"), 400)
    refused = await (await portal.get("/suggest?q=holding&country=dk")).json()

    assert failed == {"suggestions": [], "fault": "Denmark cannot be searched at the moment."}
    assert refused == {"suggestions": [], "fault": ""}


async def test_pages_that_follow_are_those_of_the_api(portal: Portal) -> None:
    portal.api.give("/api/suggest", {"suggestions": [], "cursor": None})

    await portal.shown("/companies/dk/12345674?units=u2&history=h2")
    await portal.shown("/?q=holding&country=dk&after=c2")

    assert {"after=u2", "after=h2", "after=c2", "limit=20"} <= set(portal.api.queries)


# Texts of registers and of other users that would be markup, or a link that runs a script


#: Markup, and characters that turn or hide what follows.
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2066\u200b\x07"
SCRIPT = "javascript:alert(1)//www.example.com"
ADDRESS = dict.fromkeys(("text", "street", "postal_code", "city", "municipality"), HOSTILE)
COMPANY_OF_OTHERS: dict[str, Any] = {
    **COMPANY,
    "name": HOSTILE,
    "trade_names": [HOSTILE],
    "former_names": [HOSTILE],
    "status_text": HOSTILE,
    "form": {"code": HOSTILE, "description": HOSTILE},
    "address": ADDRESS,
    "phone": f"tel:{HOSTILE}",
    "email": f"x@example.com?subject={HOSTILE}",
    "website": SCRIPT,
    "match": {"type": "name", "score": 90, "matched_name": HOSTILE},
    "owners": [{"name": HOSTILE, "type": "person", "role": "owner", "role_text": HOSTILE}],
    "roles": [{"role": "board_chair", "role_text": HOSTILE, "name": HOSTILE, "type": "person"}],
    "einvoicing": [{"identifier": HOSTILE, "scheme": HOSTILE, "document_types": [HOSTILE]}],
}
HOOK_OF_OTHERS = {
    **WEBHOOK,
    "url": f"https://example.com/{HOSTILE}",
    "description": HOSTILE,
    "headers": ["X-Mark", HOSTILE],
    "filter": {"companies": [], "municipalities": [HOSTILE], "forms": [HOSTILE]},
}
LIST_OF_OTHERS = {
    "id": "wl_1",
    "size": 1,
    "created_at": AT,
    "updated_at": AT,
    "name": HOSTILE,
    "description": HOSTILE,
}
CHANGED: dict[str, Any] = {
    "company": None,
    "changes": [{"field": HOSTILE, "old": HOSTILE, "new": HOSTILE}],
}
EVENT = an_event(HOSTILE, type="company.updated", country="dk", vat="12345674", data=CHANGED)
ATTEMPT = an_attempt(attempted_at=AT, error=HOSTILE, event_type=HOSTILE)
DELIVERY = a_delivery(status="pending", body=f'{{"a": "{SCRIPT}{HOSTILE}"')
ANSWERS: dict[str, Any] = {
    "/api/me": {**ME, "name": HOSTILE, "owner": HOSTILE},
    "/api": COMPANY_OF_OTHERS,
    "/api/vat": COMPANY_OF_OTHERS,
    "/api/suggest": {"suggestions": [a_summary(name=HOSTILE, city=HOSTILE)], "cursor": HOSTILE},
    "/api/companies": {
        "companies": [COMPANY_OF_OTHERS],
        "total": 1,
        "cursor": HOSTILE,
        "facets": {
            "municipality": [{"value": value, "count": 1} for value in (HOSTILE, "b")],
            "form": [{"value": value, "count": 1, "text": HOSTILE} for value in ("a", "b")],
        },
    },
    UNITS: {
        "production_units": [
            {"number": HOSTILE, "name": HOSTILE, "status": "active", "address": ADDRESS}
        ],
        "total": 2,
        "cursor": HOSTILE,
    },
    HISTORY: {
        "history": [{**a_history_entry(), "type": HOSTILE, "changes": CHANGED["changes"]}],
        "known_from": AT,
        "cursor": HOSTILE,
    },
    GROUP: {
        **a_group(),
        "companies": [{**one, "name": HOSTILE} for one in a_group()["companies"]],
        "holders": [{"id": "12345682/0", "name": HOSTILE, "type": HOSTILE, "vat": None}],
        "ultimate_owners": [
            {"owner": "12345682/0", "name": HOSTILE, "type": HOSTILE, "share": None}
        ],
    },
    "/api/webhooks": {"webhooks": [HOOK_OF_OTHERS]},
    HOOK: HOOK_OF_OTHERS,
    f"{HOOK}/deliveries": {"deliveries": [ATTEMPT], "cursor": HOSTILE},
    f"{HOOK}/deliveries/d1": DELIVERY,
    "/api/events": a_page(EVENT, cursor=HOSTILE, has_more=True),
    "/api/event-types": {
        "event_types": [{"name": "company.updated", "description": HOSTILE, "schema": {}}]
    },
    "/api/watchlists": {"watchlists": [LIST_OF_OTHERS]},
    "/api/watchlists/wl_1": LIST_OF_OTHERS,
    "/api/watchlists/wl_1/companies": {"companies": []},
}
PAGES = [
    "/companies/dk/12345674",
    "/companies/dk/12345674/group",
    f"/companies?city={HOSTILE}",
    f"/?country=dk&q={HOSTILE}",
    *("/webhooks", "/webhooks/new", "/webhooks/wh_1", "/webhooks/wh_1/edit"),
    *("/webhooks/wh_1/deliveries", "/webhooks/wh_1/deliveries/d1", "/events", "/key"),
    *("/watchlists", "/watchlists/wl_1", "/watchlists/wl_1?numbers=all", "/watchlists/wl_1/delete"),
    "/watchlists/wl_1/feed",
]


async def test_no_text_becomes_markup_or_a_link_that_runs_a_script(portal: Portal) -> None:
    for of_api, body in ANSWERS.items():
        portal.api.give(of_api, body)
    await portal.sign_in()  # the session keeps the owner's name

    for path in PAGES:
        response = await portal.get(path)
        text = await response.text()

        assert (path, response.status) == (path, 200)
        assert "alert(1)" in text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert not [one for one in "\u202e\u2066\u200b\x07" if one in text]
        links = re.findall(r"(?:href|src|action)=\"([^\"]*)\"", text)
        assert links
        assert not [
            each for each in links if each.lower().lstrip().startswith(("javascript:", "data:"))
        ]
