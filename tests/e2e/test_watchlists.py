"""From a list of customers to signed deliveries, and to the feed, by the Python client."""

from collections.abc import AsyncIterator

import pytest

from company_registry import AsyncClient, WatchlistInUse, WatchlistNotFound, WebhookFilter, verify
from tests.delivery.receiver import Receiver
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

CUSTOMER, OTHER = "310999920", "310999921"


@pytest.fixture
async def registry(running: Running) -> AsyncIterator[AsyncClient]:
    """A client of an owner of its own."""
    key = await running.issue_key("watching")
    async with AsyncClient(running.system.base_url, key) as registry:
        yield registry


async def test_changes_of_the_companies_in_a_list_are_delivered_and_read(
    registry: AsyncClient, receiver: Receiver, register: Register
) -> None:
    both = [an_entity(CUSTOMER, "PRØVEKUNDE AS"), an_entity(OTHER, "PRØVELEVERANDØR AS")]
    await register.load("no-enheter", *both)
    customers = await registry.create_watchlist("Customers")
    changed = await registry.change_watched(
        customers.id, add=[f"no:{CUSTOMER}", "no:999999999", "dk:12345674"]
    )
    webhook = await registry.create_webhook(
        receiver.url("/watch"),
        ["company.updated"],
        filter=WebhookFilter(watchlists=(customers.id,)),
    )
    created = await registry.event_page(companies=[f"no:{OTHER}"], wait=20)

    renamed = [an_entity(CUSTOMER, "NYKUNDE AS"), an_entity(OTHER, "NYLEVERANDØR AS")]
    await register.load("no-enheter", *renamed)
    first = await receiver.next("/watch")
    page = await registry.event_page(created.cursor, watchlists=[customers.id], wait=20)
    await registry.change_watched(customers.id, add=[f"no:{OTHER}"], remove=[f"no:{CUSTOMER}"])
    again = [an_entity(CUSTOMER, "GAMMELKUNDE AS"), an_entity(OTHER, "GAMMEL AS")]
    await register.load("no-enheter", *again)
    second = await receiver.next("/watch", number=2)

    assert (changed.added, changed.size, changed.unknown) == (2, 2, ("no:999999999",))
    assert webhook.secret is not None
    verify(first.headers, first.body, webhook.secret)
    assert [first.event["vat"], second.event["vat"]] == [CUSTOMER, OTHER]
    assert [event.vat for event in page.events] == [CUSTOMER]
    assert [one async for one in registry.watched(customers.id)] == ["dk:12345674", f"no:{OTHER}"]
    with pytest.raises(WatchlistInUse, match=webhook.id):
        await registry.delete_watchlist(customers.id)
    await registry.delete_webhook(webhook.id)
    await registry.delete_watchlist(customers.id)
    with pytest.raises(WatchlistNotFound):
        await registry.event_page(watchlists=[customers.id])
