"""Webhooks in MongoDB, as dispatcher and operators access them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations, product
from random import Random
from typing import Any

import bson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from common.contracts.webhooks import DisabledReason, WebhookFilter, WebhookId, WebhookStatus
from common.mongo import Client, Database, connected, database
from tests.builders.webhooks import (
    NOON,
    OWNER,
    a_call,
    a_registered,
    a_secret,
    is_for,
    secret_keys,
)
from tests.conftest import DatabaseNames
from webhook_store.idempotency import IdempotencyKeys
from webhook_store.indexes import make_indexes
from webhook_store.matching import Subject, event_keys
from webhook_store.models import (
    KeptAnswer,
    KeyScope,
    KeyUse,
    Match,
    NewSecret,
    Registered,
    SigningSecrets,
)
from webhook_store.registrations import Registrations
from webhook_store.resealing import Resealed, reseal
from webhook_store.webhooks import Webhooks

pytestmark = pytest.mark.integration

LATER = NOON + timedelta(hours=1)


@dataclass(frozen=True)
class Store:
    client: Client
    database: Database

    async def created(self, *keys: str, **fields: Any) -> Registered:
        """A webhook whose secret is sealed with the first of `keys`."""
        new = a_registered(a_secret("whsec_in_the_clear"), **fields)
        registrations = Registrations(self.database, secret_keys(*keys), Random(1))
        await registrations.create(new, call_id=a_call(1), limit=1000)
        return new

    async def rotated(self, webhook_id: str, *keys: str, text: str = "whsec_new") -> None:
        registrations = Registrations(self.database, secret_keys(*keys), Random(1))
        new = NewSecret(a_secret(text), a_call(2), at=NOON, previous_until=LATER)
        await registrations.rotate(OWNER, webhook_id, new)

    def webhooks(self, *keys: str) -> Webhooks:
        return Webhooks(self.database, secret_keys(*keys))

    async def secrets(self, webhook_id: WebhookId, *keys: str) -> SigningSecrets | None:
        found = await self.webhooks(*keys).sendable([webhook_id], at=NOON)
        return found[webhook_id].secrets


@pytest.fixture(name="store")
async def _store(mongo_url: str, database_names: DatabaseNames) -> AsyncIterator[Store]:
    async with connected(mongo_url, name="test", operation_timeout=None) as client:
        webhooks = database(client, database_names.webhooks)
        await make_indexes(webhooks)
        yield Store(client, webhooks)


async def test_an_event_matches_its_webhooks(store: Store) -> None:
    every = await store.created()
    of_country = await store.created(
        events=("company.*",), filter=WebhookFilter(countries=(Country.DK,))
    )
    of_company = await store.created(
        events=("company.updated", "owners.*"),
        filter=WebhookFilter(companies=(CompanyKey.parse("dk:12345674"),)),
    )
    await store.created(events=("owners.changed",))
    await store.created(filter=WebhookFilter(countries=(Country.NO,)))
    await store.created(filter=WebhookFilter(companies=(CompanyKey.parse("no:123456785"),)))
    await store.created(
        events=("owners.*",), filter=WebhookFilter(companies=(CompanyKey.parse("dk:12345674"),))
    )
    subject = Subject(EventType.COMPANY_UPDATED, Country.DK, "12345674")

    [matches] = await store.webhooks().matching([subject])

    expected = {one.webhook.id for one in (every, of_country, of_company)}
    assert len(matches) == 3
    assert {match.webhook_id for match in matches} == expected


async def test_every_part_of_a_filter_selects(store: Store) -> None:
    chosen = await store.created(
        filter=WebhookFilter(
            industries=("62",), forms=("AS",), municipalities=("oslo",), fields=("address",)
        )
    )
    for other in (
        WebhookFilter(industries=("63",)),
        WebhookFilter(industries=("62",), forms=("ASA",)),
        WebhookFilter(municipalities=("BERGEN",)),
        WebhookFilter(fields=("name",)),
    ):
        await store.created(filter=other)
    subject = Subject(
        EventType.COMPANY_UPDATED,
        Country.NO,
        "923609016",
        form="AS",
        industries=("62010",),
        municipality="OSLO",
        fields=("address.street",),
    )

    [matches] = await store.webhooks().matching([subject])

    assert [match.webhook_id for match in matches] == [chosen.webhook.id]


async def test_an_owners_headers_are_sealed_and_opened_for_the_post(store: Store) -> None:
    new = await store.created(headers=("X-Tenant",), new_headers={"X-Tenant": "hush"})

    sendable = await store.webhooks().sendable([new.webhook.id], at=NOON)

    document = await store.database["webhooks"].find_one({"_id": new.webhook.id})
    opened = sendable[new.webhook.id].headers
    assert {name: value.get_secret_value() for name, value in opened.items()} == {
        "X-Tenant": "hush"
    }
    assert b"hush" not in bson.encode(document or {})
    assert "hush" not in repr(sendable)


async def test_a_disabled_webhook_matches_as_disabled(store: Store) -> None:
    new = await store.created(
        status=WebhookStatus.DISABLED,
        disabled_at=NOON,
        disabled_reason=DisabledReason.GONE,
        generation=2,
    )
    subject = Subject(EventType.OWNERS_CHANGED, Country.NO, "123456785")

    [matches] = await store.webhooks().matching([subject])

    assert matches == [
        Match(new.webhook.id, OWNER, "hooks.example.com", generation=2, enabled=False)
    ]


async def test_events_of_a_batch_have_their_own_matches(store: Store) -> None:
    every = await store.created()
    company = WebhookFilter(
        companies=(CompanyKey.parse("dk:12345674"), CompanyKey.parse("no:123456785"))
    )
    of_companies = await store.created(events=("company.*",), filter=company)
    of_country = await store.created(
        events=("owners.*",), filter=WebhookFilter(countries=(Country.NO,))
    )
    expected = {
        Subject(EventType.COMPANY_UPDATED, Country.DK, "12345674"): {every, of_companies},
        Subject(EventType.OWNERS_CHANGED, Country.DK, "12345674"): {every},
        Subject(EventType.OWNERS_CHANGED, Country.NO, "123456785"): {every, of_country},
        Subject(EventType.COMPANY_CREATED, Country.NO, "999999999"): {every},
    }

    # The same event twice in a list is nothing special.
    subjects = [*expected, *expected]
    matches = await store.webhooks().matching(subjects)

    for subject, found in zip(subjects, matches, strict=True):
        ids = {registered.webhook.id for registered in expected[subject]}
        assert len(found) == len(ids)
        assert {match.webhook_id for match in found} == ids


async def test_filters_select_for_each_event_of_a_batch_as_for_it_alone(store: Store) -> None:
    parts: dict[str, tuple[str, ...]] = {
        "forms": ("AS",),
        "industries": ("62", "41.2"),
        "municipalities": ("Oslo",),
        "fields": ("address",),
    }
    filters = [None, WebhookFilter(countries=(Country.NO,))]
    for size in (1, 2, 4):
        for names in combinations(parts, size):
            limits = WebhookFilter(**{name: parts[name] for name in names})
            filters += [limits, limits.model_copy(update={"countries": (Country.NO,)})]
    stored = [await store.created(filter=limits) for limits in filters]
    values = product(
        Country, ("AS", "ENK", None), ("62010", "51000"), ("OSLO", None), ("address.city", "name")
    )
    subjects = [
        Subject(EventType.COMPANY_UPDATED, country, "12345674", form, (code,), town, (changed,))
        for country, form, code, town, changed in values
    ]

    together = await store.webhooks().matching(subjects)

    for subject, found in zip(subjects, together, strict=True):
        [alone] = await store.webhooks().matching([subject])
        ids = {one.webhook.id for one in stored if is_for(one.webhook, subject)}
        assert {match.webhook_id for match in found} == ids
        assert {match.webhook_id for match in alone} == ids
        assert len(alone) == len(found) == len(ids)


async def test_matching_uses_one_index(store: Store) -> None:
    await store.created()
    keys = event_keys(Subject(EventType.COMPANY_UPDATED, Country.DK, "12345674"))

    plan = await store.database["webhooks"].find({"match_keys": {"$in": keys}}).explain()

    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "match_keys"


async def test_one_webhook_is_found_with_any_subscription(store: Store) -> None:
    new = await store.created(events=("owners.changed",))

    match = await store.webhooks().match_of(new.webhook.id)

    assert match == Match(new.webhook.id, OWNER, "hooks.example.com", generation=1, enabled=True)
    assert await store.webhooks().match_of(WebhookId("wh_unknown")) is None


async def test_a_sendable_webhook_has_its_decrypted_secret(store: Store) -> None:
    new = await store.created()

    found = await store.webhooks().sendable([new.webhook.id, WebhookId("wh_unknown")], at=NOON)

    assert found.keys() == {new.webhook.id}
    sendable = found[new.webhook.id]
    assert sendable.secrets == SigningSecrets(new.secret)
    assert (sendable.url, sendable.enabled) == (new.webhook.url, True)
    assert "in_the_clear" not in repr(sendable)


async def test_a_replaced_secret_signs_until_the_end_of_its_overlap(store: Store) -> None:
    new = await store.created()
    await store.rotated(new.webhook.id)
    webhooks, webhook_id = store.webhooks(), new.webhook.id

    during = await webhooks.sendable([webhook_id], at=LATER - timedelta(milliseconds=1))
    after = await webhooks.sendable([webhook_id], at=LATER)

    assert during[webhook_id].secrets == SigningSecrets(a_secret("whsec_new"), new.secret)
    assert after[webhook_id].secrets == SigningSecrets(a_secret("whsec_new"))


async def test_a_webhook_with_an_unknown_key_has_no_secrets_and_does_not_affect_others(
    store: Store,
) -> None:
    strange, known = await store.created("k9"), await store.created("k1")
    ids = [strange.webhook.id, known.webhook.id]

    found = await store.webhooks("k1").sendable(ids, at=NOON)

    assert found[strange.webhook.id].secrets is None
    assert found[known.webhook.id].secrets == SigningSecrets(known.secret)


async def test_a_webhook_is_disabled_once(store: Store) -> None:
    new = await store.created()

    done = await asyncio.gather(
        *(
            store.webhooks().disable(
                new.webhook.id,
                generation=1,
                reason=DisabledReason.DELIVERY_FAILED,
                by=f"delivery-{number}",
                at=LATER,
            )
            for number in range(5)
        )
    )

    assert sorted(done) == [False, False, False, False, True]
    found = await Registrations(store.database, secret_keys(), Random(1)).find(
        OWNER, new.webhook.id
    )
    assert found is not None
    assert (found.status, found.disabled_at, found.disabled_reason, found.generation) == (
        WebhookStatus.DISABLED,
        LATER,
        DisabledReason.DELIVERY_FAILED,
        2,
    )


async def test_an_attempt_in_flight_cannot_disable_a_webhook_enabled_since(
    store: Store,
) -> None:
    new = await store.created(generation=3)

    done = await store.webhooks().disable(
        new.webhook.id, generation=1, reason=DisabledReason.GONE, by="delivery", at=LATER
    )

    assert not done


async def test_every_secret_is_resealed_with_the_newest_key(store: Store) -> None:
    old, rotated = await store.created("k1"), await store.created("k1")
    await store.rotated(rotated.webhook.id, "k1")
    await store.created("k2")

    done = await reseal(store.database, secret_keys("k2", "k1"), at=NOON)

    assert done == Resealed(webhooks=2, failed=())
    assert await store.secrets(old.webhook.id, "k2") == SigningSecrets(old.secret)
    assert await store.secrets(rotated.webhook.id, "k2") == SigningSecrets(
        a_secret("whsec_new"), rotated.secret
    )


async def test_resealing_again_changes_nothing(store: Store) -> None:
    await store.created("k1")
    await reseal(store.database, secret_keys("k2", "k1"), at=NOON)

    again = await reseal(store.database, secret_keys("k2", "k1"), at=NOON)

    assert again == Resealed(webhooks=0, failed=())


async def test_resealing_drops_expired_replaced_secrets(
    store: Store,
) -> None:
    new = await store.created("k1")
    await store.rotated(new.webhook.id, "k1")

    await reseal(store.database, secret_keys("k2", "k1"), at=LATER)

    assert await store.secrets(new.webhook.id, "k2") == SigningSecrets(a_secret("whsec_new"))


async def test_undecryptable_secrets_are_reported_and_left_unchanged(store: Store) -> None:
    strange, known = await store.created("k9"), await store.created("k1")

    done = await reseal(store.database, secret_keys("k2", "k1"), at=NOON)

    assert done == Resealed(webhooks=1, failed=(strange.webhook.id,))
    assert await store.secrets(strange.webhook.id, "k9") == SigningSecrets(strange.secret)
    assert await store.secrets(known.webhook.id, "k2") == SigningSecrets(known.secret)


async def test_the_database_contains_no_plain_secret(store: Store) -> None:
    new = await store.created()
    await store.rotated(new.webhook.id, text="whsec_also_in_the_clear")

    assert b"in_the_clear" not in await everything(store.database)


async def test_stored_answers_are_expired_by_the_database(store: Store) -> None:
    keys, scope = IdempotencyKeys(store.database), KeyScope(OWNER, "/api/webhooks", "k")
    await keys.use(scope, KeyUse(a_call(1), b"body"), at=NOON, until=LATER)
    await keys.answer(scope, KeptAnswer(201, b"{}", None))

    indexes = await store.database["idempotency"].index_information()
    [document] = await store.database["idempotency"].find().to_list(None)

    assert indexes["expires_at"]["expireAfterSeconds"] == 0
    assert document["expires_at"] == LATER


async def everything(database: Database) -> bytes:
    """All documents of a database, as they lie there."""
    dump = b""
    for name in await database.list_collection_names():
        async for document in database[name].find():
            dump += bson.encode(document)
    return dump
