"""The stores of webhooks and of idempotency keys, as the registry uses them."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random

import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.webhooks import (
    DisabledReason,
    Webhook,
    WebhookFilter,
    WebhookReply,
    WebhookStatus,
)
from common.mongo import Database
from tests.builders.webhooks import (
    NOON,
    OTHER_OWNER,
    OWNER,
    a_call,
    a_registered,
    a_secret,
    secret_keys,
)
from webhook_store.webhooks.idempotency import IdempotencyKeys
from webhook_store.webhooks.models import (
    KeyScope,
    KeyUse,
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    RotationPending,
)
from webhook_store.webhooks.registrations import Registrations

pytestmark = pytest.mark.integration

LATER = NOON + timedelta(hours=1)
SCOPE = KeyScope(OWNER, "/api/webhooks", "k")


@dataclass(frozen=True)
class Stores:
    webhooks: Registrations
    keys: IdempotencyKeys


def a_new_secret(number: int) -> NewSecret:
    return NewSecret(a_secret(f"whsec_{number}"), a_call(number), at=LATER, previous_until=LATER)


@pytest.fixture(name="stores")
def _stores(empty_webhooks_db: Database) -> Stores:
    return Stores(
        Registrations(empty_webhooks_db, secret_keys(), Random(1)),
        IdempotencyKeys(empty_webhooks_db),
    )


async def test_a_webhook_comes_back_as_it_was_created(stores: Stores) -> None:
    limits = WebhookFilter(countries=(Country.DK,), companies=(CompanyKey.parse("dk:01234567"),))
    new = a_registered(filter=limits, description="ours", events=("company.*", "*"))

    made = await stores.webhooks.create(new, call_id=a_call(1), limit=50)

    assert made == new
    assert await stores.webhooks.find(OWNER, new.webhook.id) == new.webhook


async def test_a_disabled_webhook_comes_back_as_it_was(stores: Stores) -> None:
    new = a_registered(
        status=WebhookStatus.DISABLED,
        disabled_at=LATER,
        disabled_reason=DisabledReason.GONE,
        generation=2,
    )

    await stores.webhooks.create(new, call_id=a_call(1), limit=50)

    assert await stores.webhooks.find(OWNER, new.webhook.id) == new.webhook


async def test_a_webhook_that_is_there_already_is_not_made_again(stores: Stores) -> None:
    first = a_registered(a_secret("whsec_first"))
    second = replace(first, secret=a_secret("whsec_second"))
    await stores.webhooks.create(first, call_id=a_call(1), limit=1)

    made = await stores.webhooks.create(second, call_id=a_call(2), limit=1)

    assert made == MadeBefore(first, a_call(1))


async def test_an_owner_at_the_limit_cannot_create_a_webhook(stores: Stores) -> None:
    for number in range(2):
        await stores.webhooks.create(a_registered(), call_id=a_call(number), limit=2)

    made = await stores.webhooks.create(a_registered(), call_id=a_call(3), limit=2)

    assert made == OwnerIsFull()
    assert len(await stores.webhooks.of_owner(OWNER)) == 2


async def test_a_lowered_limit_refuses_new_webhooks(stores: Stores) -> None:
    for number in range(3):
        await stores.webhooks.create(a_registered(), call_id=a_call(number), limit=3)

    made = await stores.webhooks.create(a_registered(), call_id=a_call(4), limit=2)

    assert made == OwnerIsFull()


async def test_a_deleted_webhook_leaves_its_place(stores: Stores) -> None:
    first, second = a_registered(), a_registered()
    await stores.webhooks.create(first, call_id=a_call(1), limit=1)

    assert await stores.webhooks.delete(OWNER, first.webhook.id, call_id=a_call(9), at=NOON)

    assert await stores.webhooks.find(OWNER, first.webhook.id) is None
    assert await stores.webhooks.create(second, call_id=a_call(2), limit=1) == second


async def test_the_call_that_deleted_it_finds_that_done(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=1)

    deleted = [
        await stores.webhooks.delete(OWNER, new.webhook.id, call_id=call, at=NOON)
        for call in (a_call(2), a_call(2), a_call(3))
    ]

    assert deleted == [True, True, False]


async def test_an_owners_webhooks_come_newest_first(stores: Stores) -> None:
    older, newer = a_registered(), a_registered(created_at=LATER)
    for number, one in enumerate((older, newer, a_registered(owner=OTHER_OWNER))):
        await stores.webhooks.create(one, call_id=a_call(number), limit=50)

    assert list(await stores.webhooks.of_owner(OWNER)) == [newer.webhook, older.webhook]


async def test_another_owner_finds_changes_deletes_and_rotates_nothing(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=50)
    webhook_id = new.webhook.id

    assert await stores.webhooks.find(OTHER_OWNER, webhook_id) is None
    assert await stores.webhooks.change(OTHER_OWNER, webhook_id, described) is None
    assert not await stores.webhooks.delete(OTHER_OWNER, webhook_id, call_id=a_call(9), at=NOON)
    assert await stores.webhooks.rotate(OTHER_OWNER, webhook_id, a_new_secret(2)) is None
    assert await stores.webhooks.find(OWNER, webhook_id) == new.webhook


async def test_an_unknown_webhook_is_not_changed_deleted_or_rotated(stores: Stores) -> None:
    assert await stores.webhooks.find(OWNER, "wh_unknown") is None
    assert await stores.webhooks.change(OWNER, "wh_unknown", described) is None
    assert not await stores.webhooks.delete(OWNER, "wh_unknown", call_id=a_call(9), at=NOON)
    assert await stores.webhooks.rotate(OWNER, "wh_unknown", a_new_secret(1)) is None


async def test_a_change_is_kept(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=50)

    changed = await stores.webhooks.change(OWNER, new.webhook.id, described)

    assert changed == described(new.webhook)
    assert await stores.webhooks.find(OWNER, new.webhook.id) == changed


async def test_a_rotation_gives_the_new_secret(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=50)

    rotated = await stores.webhooks.rotate(OWNER, new.webhook.id, a_new_secret(2))

    assert isinstance(rotated, Registered)
    assert rotated.secret == a_secret("whsec_2")
    assert rotated.webhook == new.webhook.model_copy(update={"updated_at": LATER})


async def test_the_same_rotation_again_gives_the_same_secret(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=50)
    first = await stores.webhooks.rotate(OWNER, new.webhook.id, a_new_secret(2))

    other = replace(a_new_secret(2), secret=a_secret("whsec_other"))
    second = await stores.webhooks.rotate(OWNER, new.webhook.id, other)

    assert second == first


async def test_there_is_no_second_rotation_while_the_replaced_secret_signs(stores: Stores) -> None:
    new = a_registered()
    await stores.webhooks.create(new, call_id=a_call(1), limit=50)
    first = a_new_secret(2)
    await stores.webhooks.rotate(OWNER, new.webhook.id, first)
    end = first.previous_until

    early = replace(a_new_secret(3), at=end - timedelta(milliseconds=1))
    late = replace(a_new_secret(3), at=end, previous_until=end + timedelta(hours=24))

    refused = await stores.webhooks.rotate(OWNER, new.webhook.id, early)
    assert refused == RotationPending(until=end)
    rotated = await stores.webhooks.rotate(OWNER, new.webhook.id, late)
    assert isinstance(rotated, Registered)
    assert rotated.secret == a_secret("whsec_3")


async def test_a_use_is_kept_until_its_time(stores: Stores) -> None:
    use = KeyUse(a_call(1), b"body")

    assert await stores.keys.find(SCOPE, at=NOON) is None
    assert await stores.keys.use(SCOPE, use, at=NOON, until=LATER) == use
    assert await stores.keys.find(SCOPE, at=NOON) == use
    assert await stores.keys.find(SCOPE, at=LATER) is None


async def test_the_first_use_counts(stores: Stores) -> None:
    first, second = KeyUse(a_call(1), b"body"), KeyUse(a_call(2), b"other")
    await stores.keys.use(SCOPE, first, at=NOON, until=LATER)

    assert await stores.keys.use(SCOPE, second, at=NOON, until=LATER) == first


async def test_a_use_whose_time_is_over_gives_way(stores: Stores) -> None:
    first, second = KeyUse(a_call(1), b"body"), KeyUse(a_call(2), b"other")
    await stores.keys.use(SCOPE, first, at=NOON, until=LATER)
    await stores.keys.answer(SCOPE, WebhookReply(status=201, body=b"{}"))

    noted = await stores.keys.use(SCOPE, second, at=LATER, until=LATER + timedelta(hours=1))

    assert noted == second
    assert await stores.keys.find(SCOPE, at=LATER) == second


async def test_an_answer_is_kept_with_its_use(stores: Stores) -> None:
    use = KeyUse(a_call(1), b"body")
    answer = WebhookReply(status=201, body=b'{"id":"$x"}', location="/api/x")
    await stores.keys.use(SCOPE, use, at=NOON, until=LATER)

    await stores.keys.answer(SCOPE, answer)

    repeated = answer.model_copy(update={"replayed": True})
    assert await stores.keys.find(SCOPE, at=NOON) == replace(use, answer=repeated)


async def test_concurrent_requests_create_webhooks_up_to_the_limit_only(stores: Stores) -> None:
    made = await asyncio.gather(
        *(
            stores.webhooks.create(a_registered(), call_id=a_call(number), limit=10)
            for number in range(30)
        )
    )

    assert made.count(OwnerIsFull()) == 20
    assert len(await stores.webhooks.of_owner(OWNER)) == 10


async def test_of_many_that_make_the_same_webhook_at_once_one_does(stores: Stores) -> None:
    new = a_registered()

    made = await asyncio.gather(
        *(
            stores.webhooks.create(
                replace(new, secret=a_secret(f"whsec_{number}")),
                call_id=a_call(number),
                limit=10,
            )
            for number in range(10)
        )
    )

    before = {one for one in made if isinstance(one, MadeBefore)}
    [first] = (one for one in made if not isinstance(one, MadeBefore))
    assert [one.registered for one in before] == [first]


async def test_of_many_changes_at_once_none_is_lost(stores: Stores) -> None:
    new = a_registered(description="")
    await stores.webhooks.create(new, call_id=a_call(1), limit=1)

    def longer(webhook: Webhook) -> Webhook:
        return webhook.model_copy(update={"description": f"{webhook.description}x"})

    await asyncio.gather(*(stores.webhooks.change(OWNER, new.webhook.id, longer) for _ in range(5)))

    found = await stores.webhooks.find(OWNER, new.webhook.id)
    assert found is not None
    assert found.description == "xxxxx"


async def test_of_many_uses_at_once_one_is_noted(stores: Stores) -> None:
    uses = await asyncio.gather(
        *(
            stores.keys.use(SCOPE, KeyUse(a_call(number), b"body"), at=NOON, until=LATER)
            for number in range(20)
        )
    )

    assert len({use.call_id for use in uses}) == 1


def described(webhook: Webhook) -> Webhook:
    changes = {"description": "changed", "events": ("owners.*",), "updated_at": LATER}
    return webhook.model_copy(update=changes)
