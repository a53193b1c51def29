"""Every page of the portal: sessions, forms, headers and errors."""

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from html import unescape

import pytest
from aiohttp import ClientPayloadError, ClientSession, DummyCookieJar, StreamReader
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from common.runtime.public_port.rates import Rate
from portal.adapters.http.application import ROUTES
from portal.adapters.http.views import events
from tests.builders.answers import a_page, an_event
from tests.delivery.waiting import SOON, eventually
from tests.fakes.portal import KEY, ME, OTHER_KEY, SESSION_KEY, Portal
from tests.fakes.portal import portal as a_portal

CHANGES = [{"field": "name", "old": "<b>", "new": "New"}]
EVENT = an_event(type="company.updated", data={"company": None, "changes": CHANGES})


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        yield portal


@pytest.fixture
async def signed_in(portal: Portal) -> Portal:
    await portal.sign_in()
    return portal


def a_session(*, age: int, since_sign_in: int = 0) -> dict[str, str]:
    """The cookie of a user whose last request that renewed it is so many seconds ago."""
    at = int(time.time()) - age
    since = at - since_sign_in
    session = {"key": KEY, "name": "acme", "csrf": "token", "seen": at, "since": since}
    content = json.dumps({"created": at, "session": session}).encode()
    key = base64.urlsafe_b64encode(base64.b64decode(SESSION_KEY))
    return {"Cookie": f"portal={Fernet(key).encrypt_at_time(content, at).decode()}"}


async def test_every_answer_has_the_headers_that_protect_it(portal: Portal) -> None:
    for path in ("/", "/sign-in", "/nothing", "/static/portal.css", "/webhooks"):
        headers = (await portal.get(path)).headers

        assert headers["Content-Security-Policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert {name: headers[name] for name in ("X-Content-Type-Options", "X-Request-Id")} == {
            "X-Content-Type-Options": "nosniff",
            "X-Request-Id": "request-1",
        }
        assert "aiohttp" not in headers["Server"]


# Sessions


@pytest.mark.parametrize("path", ["/", "/webhooks", "/events", "/companies/dk/12345674"])
async def test_a_page_needs_a_key_and_leads_back_after_the_sign_in(
    portal: Portal, path: str
) -> None:
    response = await portal.get(path)
    of_script = await portal.get(path, headers={"Accept": "application/json"})

    assert response.status == 303
    assert response.headers["Location"].startswith("/sign-in")
    assert of_script.status == 401
    assert (await portal.sign_in(next=path)).headers["Location"] == path


async def test_a_bad_key_is_refused_and_no_sign_in_leads_to_another_site(portal: Portal) -> None:
    for key in ("another.key", "", "nøgle", "two words"):
        response = await portal.sign_in(key)
        assert (key, response.status) == (key, 401)
        assert "not valid" in await response.text()
        assert (await portal.get("/webhooks")).status == 303
    for site in ("https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example"):
        assert (await portal.sign_in(next=site)).headers["Location"] == "/"
    for path in ("/ø", ""):
        assert (await portal.sign_in(next=path)).headers["Location"] == "/"


async def test_the_key_is_neither_in_a_page_nor_readable_in_the_cookie(signed_in: Portal) -> None:
    page = await signed_in.get("/")
    text = await signed_in.shown("/key")
    cookies = [morsel.value for morsel in signed_in.client.session.cookie_jar]

    assert KEY not in await page.text() + text
    assert all(part in text for part in ("1,200 requests in 60 s", "1,199", "never"))
    assert cookies
    assert all("secret" not in str(base64.urlsafe_b64decode(cookie)) for cookie in cookies)
    assert page.headers["Cache-Control"] == "no-store"


async def test_the_cookie_is_for_this_site_and_not_for_scripts() -> None:
    async with a_portal(is_secure=True) as portal:
        response = await portal.get("/sign-in")

    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("__Host-portal=")
    assert {"HttpOnly", "Secure", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert "Strict-Transport-Security" in response.headers


async def test_signing_out_ends_the_session(signed_in: Portal) -> None:
    await signed_in.post("/sign-out")

    assert (await signed_in.get("/webhooks")).status == 303


@pytest.mark.parametrize(
    "age, since_sign_in, is_signed_in, is_renewed",
    [
        (0, 0, True, False),
        (61, 0, True, True),
        (31 * 60, 0, False, False),
        (0, 3500, True, False),
        (0, 3601, False, True),
    ],
    ids=["new", "used a minute ago", "idle", "old", "ended"],
)
async def test_a_session_is_renewed_once_a_minute_and_ends_idle_or_with_its_lifetime(
    portal: Portal, age: int, since_sign_in: int, *, is_signed_in: bool, is_renewed: bool
) -> None:
    response = await portal.get("/key", headers=a_session(age=age, since_sign_in=since_sign_in))

    assert response.status == (200 if is_signed_in else 303)
    assert ("portal" in response.cookies) is is_renewed


async def test_an_older_session_key_still_reads_and_the_newest_writes() -> None:
    newest = base64.b64encode(b"n" * 32).decode()

    async with a_portal(session_keys=f"{newest},{SESSION_KEY}") as portal:
        response = await portal.get("/", headers=a_session(age=61))

    assert response.status == 200
    renewed = response.cookies["portal"].value
    assert Fernet(base64.urlsafe_b64encode(b"n" * 32)).decrypt(renewed.encode())


# Forms


@pytest.mark.parametrize("token", ["made up", ""], ids=["another token", "no token"])
async def test_a_form_without_the_sessions_token_does_nothing(
    signed_in: Portal, token: str
) -> None:
    await signed_in.post("/webhooks/wh_1/delete", {"csrf": token})

    assert not [method for method, _, _ in signed_in.api.requests if method == "DELETE"]


FORMS = [route.path for route in ROUTES if route.method == "POST"]
OTHER_SITES = {
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "a neighbour": {"Sec-Fetch-Site": "same-site"},
    "another origin": {"Origin": "https://evil.example"},
    "hidden origin": {"Origin": "null"},
    "no origin": {"Origin": "http://[invalid"},
}


async def test_a_form_of_another_site_neither_does_anything_nor_ends_the_session(
    signed_in: Portal,
) -> None:
    token, before = await signed_in.token(), len(signed_in.api.requests)

    # The browser sends no cookie with it, and would take one of the answer.
    async with ClientSession(cookie_jar=DummyCookieJar()) as browser:
        for site, headers in OTHER_SITES.items():
            for path in (*FORMS, "/", "/nothing", "/static/portal.css"):
                url = signed_in.client.make_url(path)
                response = await browser.post(url, data={"csrf": token}, headers=headers)
                found = (site, path, response.status, "Set-Cookie" in response.headers)
                assert found == (site, path, 403, False)

    assert len(signed_in.api.requests) == before
    own = str(signed_in.client.make_url("")).rstrip("/")
    response = await signed_in.post("/sign-out", headers={"Origin": own})
    assert response.headers["Location"] == "/sign-in"


async def test_a_form_that_cannot_be_read_is_the_browsers_error(portal: Portal) -> None:
    form = "application/x-www-form-urlencoded"
    unreadable = [
        (form, b"\xff=1", 400),
        # Python decodes it in the square of its length.
        (f"{form}; charset=punycode", b"key=1", 415),
        (f"{form}; charset=unknown", b"key=1", 415),
        (form, b"a&" * 1000, 413),
        (form, b"a" * 65_537, 413),
        ("multipart/form-data; boundary=x", b"--x\r\nno header", 415),
        ("application/json", b"{}", 415),
    ]
    with capture_logs() as lines:
        for content_type, body, status in unreadable:
            headers = {"Content-Type": content_type}
            response = await portal.client.post("/sign-in", data=body, headers=headers)
            assert (content_type, response.status) == (content_type, status)

    assert [line["event"] for line in lines] == ["request.done"] * len(unreadable)


async def test_a_form_in_pieces_of_any_size_is_not_awaited(portal: Portal) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"key=1"

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await portal.client.post("/sign-in", data=pieces(), headers=headers)

    assert response.status == 411


async def test_requests_beyond_the_rate_of_their_address_or_session_are_refused() -> None:
    async with a_portal(session_rate=Rate(4, 60), address_rate=Rate(5, 60)) as portal:
        await portal.sign_in()  # its page leads there, so that it takes three requests
        of_session = [await portal.get("/key") for _ in range(5)]
        static = (await portal.get("/static/portal.css")).status
        page = await of_session[-1].text()
        portal.client.session.cookie_jar.clear()
        others = {"X-Forwarded-For": "203.0.113.7"}
        elsewhere = (await portal.get("/sign-in", headers=others)).status
        of_address = [(await portal.get("/sign-in")).status for _ in range(3)]

    assert [each.status for each in of_session] == [200] * 4 + [429]
    assert of_session[-1].headers["Retry-After"] == "60"
    assert "Try again in 60 s." in page
    assert (static, elsewhere, of_address) == (200, 200, [200, 200, 429])


# Errors


@pytest.mark.parametrize(
    "status, code, shown",
    [
        (403, "forbidden", "Your key may not do this"),
        (404, "webhook_not_found", "Not found"),
        (429, "rate_limited", "Too many requests"),
        (500, "internal_error", "Not possible"),
        (503, "service_unavailable", "Unavailable for the moment"),
    ],
)
async def test_a_problem_of_the_api_is_a_page(
    signed_in: Portal, status: int, code: str, shown: str
) -> None:
    signed_in.api.fail("/api/webhooks", status, code)

    response = await signed_in.get("/webhooks?a=b&c=d")

    text = await response.text()
    assert code not in text
    assert shown in text
    assert response.status == (502 if status == 500 else status)
    # A step that fails for a moment is offered again.
    again = 'href="/webhooks?a=b&amp;c=d">Try again</a>'
    assert (again in text) is (status not in (403, 404))


async def test_the_page_of_a_proxy_is_not_told_as_not_found(signed_in: Portal) -> None:
    signed_in.api.give("/api/webhooks", {"message": "no such route"}, 404)

    response = await signed_in.get("/webhooks")

    assert response.status == 502
    assert "Not found" not in await response.text()


@pytest.mark.parametrize("status, code", [(503, "service_unavailable"), (429, "rate_limited")])
async def test_a_search_that_fails_keeps_its_text_and_is_offered_again(
    signed_in: Portal, status: int, code: str
) -> None:
    signed_in.api.fail("/api", status, code)

    response = await signed_in.get("/?q=n%C3%B8rre+%26+s%C3%B8n&country=dk")

    text = await response.text()
    assert response.status == 503
    assert 'value="nørre &amp; søn"' in text
    assert '<option value="dk" selected>' in text
    assert 'href="/?q=n%C3%B8rre+%26+s%C3%B8n&amp;country=dk">Try again</a>' in text
    assert "Searched as" not in text


async def test_a_form_that_fails_for_the_moment_keeps_its_fields_and_is_offered_again(
    portal: Portal,
) -> None:
    portal.api.fail("/api/me", 503, "service_unavailable")
    of_sign_in = await (await portal.sign_in()).text()
    portal.api.give("/api/me", ME)
    await portal.sign_in()
    portal.api.fail("/api/webhooks", 503, "service_unavailable")
    fields = {"url": "https://example.com/?a=<b>", "companies": "dk:12345674\nno:1", "once": "k"}

    response = await portal.post("/webhooks/new", {**fields, "types": "company.created"})

    text = await response.text()
    assert response.status == 503
    assert '<form method="post" action="/webhooks/new" class="actions">' in text
    [form] = re.findall(r'<form method="post" action="/webhooks/new".*?</form>', text, re.DOTALL)
    kept = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    assert {name: unescape(value) for name, value in kept} == {
        **fields,
        "types": "company.created",
        "csrf": await portal.token(),
    }
    # No page contains the key.
    assert KEY not in of_sign_in


async def test_a_key_that_is_revoked_ends_the_session(signed_in: Portal) -> None:
    signed_in.api.fail("/api/webhooks", 401, "unauthorized")

    response = await signed_in.get("/webhooks")

    assert response.headers["Location"] == "/sign-in?ended=key"
    assert (await signed_in.get("/")).status == 303


async def test_an_answer_that_is_not_the_apis_is_a_page(signed_in: Portal) -> None:
    signed_in.api.give("/api/webhooks", {"unexpected": True})

    response = await signed_in.get("/webhooks")

    assert response.status == 502
    assert "does not understand" in await response.text()


async def test_the_api_gets_the_address_of_the_browser(signed_in: Portal) -> None:
    for given, passed_on in (("198.51.100.7", "198.51.100.7"), ("ø", "?")):
        await signed_in.get("/webhooks", headers={"X-Forwarded-For": given})

        _, path, headers = signed_in.api.requests[-1]
        assert (path, headers["X-Forwarded-For"]) == ("/api/webhooks", f"{passed_on}, 127.0.0.1")


# Live pages


@asynccontextmanager
async def live(portal: Portal, path: str = "/events/live?after=c1") -> AsyncIterator[StreamReader]:
    """The stream that a live page receives, until the body ends."""
    async with asyncio.timeout(SOON), portal.client.get(path) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        yield stream.content


async def test_live_events_are_parts_of_the_page_and_each_page_has_its_cursor(
    signed_in: Portal,
) -> None:
    signed_in.api.give("/api/events", a_page(EVENT, cursor="c2"))

    async with live(signed_in) as stream:
        [retry, data, cursor] = [await stream.readuntil(b"\n\n") for _ in range(3)]

    assert retry.startswith(b"retry:")
    assert "&lt;b&gt;" in json.loads(data.removeprefix(b"data: "))
    assert cursor == b"id: c2\n\n"


@pytest.mark.parametrize(
    "status, code",
    [(429, "rate_limited"), (500, "internal_error"), (502, ""), (504, "lookup_timeout")],
)
async def test_a_live_page_outlives_a_fault_of_the_api(
    signed_in: Portal, status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_PAUSE", 0.01)
    signed_in.api.fail("/api/events", status, code)

    async with live(signed_in) as stream:
        [_retry, comment] = [await stream.readuntil(b"\n\n") for _ in range(2)]
        signed_in.api.give("/api/events", a_page(cursor="c2"))
        while (line := await stream.readuntil(b"\n\n")) == comment:
            pass

    assert comment.startswith(b":")
    assert line == b"id: c2\n\n"


@pytest.mark.parametrize("status, code", [(401, "unauthorized"), (403, "forbidden")])
async def test_a_live_page_receives_its_end(signed_in: Portal, status: int, code: str) -> None:
    signed_in.api.fail("/api/events", status, code)

    async with live(signed_in) as stream:
        assert await stream.read() == b"retry: 2000\n\nevent: end\ndata:\n\n"


async def test_live_pages_end_at_shutdown(signed_in: Portal) -> None:
    signed_in.api.give("/api/events", a_page())

    async with live(signed_in) as stream:
        await stream.readuntil(b"\n\n")
        await signed_in.client.app.shutdown()

        with suppress(ClientPayloadError):
            await stream.read()


async def test_a_live_page_that_does_not_read_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "_STREAM_LIFETIME", 0.5)
    large = EVENT | {"data": {"company": None, "changes": [{"field": "a" * 2**20}] * 4}}
    async with a_portal(live_readers=1) as portal:
        portal.api.give("/api/events", a_page(*[large] * 25, has_more=True))
        await portal.sign_in()

        async with portal.client.get("/events/live"):
            again = await eventually(
                lambda: portal.client.get("/events/live"), lambda response: response.status == 200
            )
            again.close()


async def test_live_pages_beyond_the_limit_are_refused() -> None:
    async with a_portal(live_readers=0) as portal:
        await portal.sign_in()

        assert (await portal.get("/events/live")).status == 503


async def test_a_key_has_a_share_of_the_live_pages() -> None:
    async with a_portal(live_readers_per_key=1) as portal:
        portal.api.give("/api/events", a_page())
        await portal.sign_in()

        async with live(portal):
            second = await portal.get("/events/live")
            shown = await second.text()
            await portal.sign_in(OTHER_KEY)
            async with live(portal):
                pass

    assert second.status == 429
    assert "Close some of them" in shown


async def answer_to(portal: Portal, request: bytes) -> bytes:
    """The bytes that a connection receives until the portal closes it."""
    reader, writer = await asyncio.open_connection(portal.client.host, portal.client.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("header", [b"Cookie: portal=secret\0", b"Cookie : portal=secret"])
async def test_a_request_that_cannot_be_read_is_neither_logged_nor_answered_by_a_library(
    portal: Portal, header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with capture_logs() as lines:
        answer = await answer_to(portal, b"GET / HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == b"400"
    assert b"Server: company-portal" in head
    assert b"cannot be read" in body
    assert (lines, caplog.records) == ([], [])


async def test_a_form_that_does_not_arrive_is_refused() -> None:
    form = (
        b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\na"
    )
    async with a_portal(body_timeout=0.05) as portal:
        answer = await answer_to(portal, form)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive in time" in answer
