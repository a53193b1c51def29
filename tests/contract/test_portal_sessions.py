"""Sessions of the portal end on the server, for copies of their cookies and in every replica."""

from collections.abc import AsyncIterator

import httpx
import pytest
from cryptography.fernet import Fernet

from common.contracts.failures import Unavailable
from portal.adapters.http.ended_sessions import EndedSessions, Replicas
from tests.fakes.portal import Portal
from tests.fakes.portal import portal as a_portal


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    async with a_portal() as portal:
        await portal.sign_in()
        yield portal


def cookie_of(portal: Portal) -> dict[str, str]:
    """A copy of the session's cookie."""
    return {each.key: each.value for each in portal.client.session.cookie_jar}


async def signed_in_by(portal: Portal, cookie: dict[str, str]) -> bool:
    portal.client.session.cookie_jar.clear()
    return (await portal.get("/", cookies=cookie)).status == 200


async def test_a_copy_of_a_cookie_ends_with_the_sign_out(portal: Portal) -> None:
    copied = cookie_of(portal)
    before = (await portal.get("/key")).status
    await portal.post("/sign-out")

    assert before == 200
    assert not await signed_in_by(portal, copied)


async def test_a_copy_of_a_cookie_ends_with_its_key(portal: Portal) -> None:
    copied = cookie_of(portal)
    answer = portal.api.answers["/api/me"]
    portal.api.fail("/api/me", 401, "unauthorized")
    await portal.get("/key")
    portal.api.answers["/api/me"] = answer

    assert not await signed_in_by(portal, copied)


async def test_a_revoked_key_ends_the_session_on_every_page_of_a_file(portal: Portal) -> None:
    portal.api.fail("/api/me", 401, "unauthorized")

    response = await portal.get("/customers")

    assert response.headers["Location"] == "/sign-in?ended=key"


async def test_a_session_ends_in_the_other_replicas(portal: Portal) -> None:
    copied = cookie_of(portal)
    await portal.post("/sign-out")
    async with (
        a_portal(peers=f"http://127.0.0.1:{portal.client.port}") as other,
        httpx.AsyncClient() as http,
    ):
        replicas = Replicas(other.ended, http, f"http://127.0.0.1:{portal.client.port}")
        await replicas.read()
        # Nothing has changed.
        await replicas.read()

        assert not await signed_in_by(other, copied)


async def test_a_replica_that_does_not_answer_is_unavailable(portal: Portal) -> None:
    async with httpx.AsyncClient() as http:
        with pytest.raises(Unavailable):
            await Replicas(portal.ended, http, "http://127.0.0.1:1").read()


def test_ended_sessions_are_kept_until_their_cookies_expire_and_bounded_by_key() -> None:
    now = 0.0
    ended = EndedSessions(Fernet(Fernet.generate_key()), kept=10, now=lambda: now)
    ended.end("other", "b")
    for number in range(501):
        ended.end(f"s{number}", "a")

    assert [id_ in ended for id_ in ("other", "s0", "s1", "s500")] == [True, False, True, True]
    now = 10.5
    ended.end("late", "a")
    assert [id_ in ended for id_ in ("other", "s500", "late")] == [False, False, True]
