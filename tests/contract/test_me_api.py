"""The API key of a request and the sources of deliveries, as clients see them."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import orjson

from gateway.access.keys import Rate, Scope
from tests.builders.openapi import assert_response
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway

ME, SOURCES = "/api/me", "/api/webhook-sources"


async def test_a_key_shows_its_owner_scopes_and_rate(gateway: Gateway) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    key = gateway.issue(
        scopes=frozenset({Scope.EVENTS, Scope.LOOKUP}), expires_at=end, rate=Rate(7, 3600)
    )

    await gateway.get(ME, headers=key)
    response = await gateway.get(ME, headers=key)

    await assert_response(response, ME, 200)
    assert orjson.loads(await response.read()) == {
        "key_id": "000000000000000000000001",
        "name": "nightly sync",
        "owner": "acme",
        "scopes": ["events", "lookup"],
        "created_at": "2026-03-02T12:00:00Z",
        "expires_at": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "rate": {"count": 7, "window_seconds": 3600, "remaining": 5, "reset_seconds": 3600},
    }


async def test_a_key_without_a_rate_has_that_of_the_settings(gateway: Gateway) -> None:
    response = await gateway.get(ME, headers=gateway.issue())

    rate = orjson.loads(await response.read())["rate"]
    assert (rate["count"], rate["window_seconds"]) == (1000, 60)


async def test_keys_have_their_own_rates(gateway: Gateway) -> None:
    slow, fast = gateway.issue(rate=Rate(1, 60)), gateway.issue()

    statuses = [(await gateway.get(ME, headers=key)).status for key in (slow, slow, fast, fast)]

    assert statuses == [200, 429, 200, 200]


async def test_the_sources_are_the_configured_networks() -> None:
    networks = (ip_network("203.0.113.0/28"), ip_network("2001:db8::/64"))
    async with a_gateway(webhook_sources=networks) as gateway:
        response = await gateway.get(SOURCES)

        await assert_response(response, SOURCES, 200)
        assert response.headers["Cache-Control"] == "public, max-age=300"
        assert orjson.loads(await response.read()) == {
            "addresses": ["203.0.113.0/28", "2001:db8::/64"]
        }
