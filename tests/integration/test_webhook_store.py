"""Webhooks in MongoDB, as registry, dispatcher and operators access them."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from random import Random
from typing import Any

import bson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from common.contracts.watchlists import WatchlistId
from common.contracts.webhook_api import WebhookReply
from common.contracts.webhooks import (
    DisabledReason,
    Webhook,
    WebhookFilter,
    WebhookId,
    WebhookStatus,
)
from common.mongo import Database
from tests.builders.webhooks import NOON, OWNER, a_call, a_registered, a_secret, is_for, secret_keys
from webhook_store import sending
from webhook_store.collections import MEMBERS
from webhook_store.idempotency import IdempotencyKeys, KeyScope, KeyUse
from webhook_store.matching import Match, Subject
from webhook_store.secrets import SigningSecrets
from webhook_store.sending import Sendable, Webhooks
from webhook_store.watchlists import Members, ids_of
from webhook_store.webhooks import (
    ExistingRegistration,
    LimitReached,
    NewSecret,
    Registration,
    Registrations,
    ResealCounts,
    RotationPending,
    reseal,
)

pytestmark = pytest.mark.integration

LATER = NOON + timedelta(hours=1)
DANISH = CompanyKey.parse("dk:12345674")
DISABLED: dict[str, Any] = {
    "status": WebhookStatus.DISABLED,
    "disabled_at": LATER,
    "disabled_reason": DisabledReason.GONE,
    "generation": 2,
}


@dataclass(frozen=True)
class Store:
    """The webhooks of a database; each method takes the ids of the keys that seal secrets."""

    database: Database

    def registrations(self, *keys: str) -> Registrations:
        return Registrations(self.database, secret_keys(*keys), Random(1))

    async def created(self, *keys: str, **fields: Any) -> Registration:
        new = a_registered(a_secret("whsec_in_the_clear"), **fields)
        await self.registrations(*keys).create(new, call_id=a_call(1), limit=1000)
        return new

    async def rotated(
        self, webhook_id: str, *keys: str, text: str = "whsec_new", call: int = 2
    ) -> Registration | RotationPending | None:
        new = NewSecret(a_secret(text), a_call(call), at=NOON, previous_until=LATER)
        return await self.registrations(*keys).rotate(OWNER, webhook_id, new)

    def webhooks(self, *keys: str) -> Webhooks:
        return Webhooks(self.database, secret_keys(*keys))

    async def sendable(self, webhook_id: WebhookId, *keys: str, at: datetime = NOON) -> Sendable:
        return (await self.webhooks(*keys).sendable([webhook_id], at=at))[webhook_id]

    async def secrets(
        self, webhook_id: WebhookId, *keys: str, at: datetime = NOON
    ) -> SigningSecrets | None:
        return (await self.sendable(webhook_id, *keys, at=at)).secrets

    async def headers(self, webhook_id: WebhookId) -> dict[str, str]:
        headers = (await self.sendable(webhook_id)).headers
        return {name: value.get_secret_value() for name, value in headers.items()}


@pytest.fixture(name="store")
def _store(empty_webhooks_db: Database) -> Store:
    return Store(empty_webhooks_db)


@pytest.mark.parametrize(
    "fields",
    [
        {
            "filter": WebhookFilter(countries=(Country.DK,), companies=(DANISH,)),
            "description": "ours",
            "events": ("company.*", "*"),
        },
        DISABLED,
    ],
    ids=["enabled", "disabled"],
)
async def test_a_webhook_comes_back_as_it_was_created(store: Store, fields: dict[str, Any]) -> None:
    new = await store.created(**fields)

    assert await store.registrations().find(OWNER, new.webhook.id) == new.webhook


async def test_concurrent_creations_stay_within_the_limit(store: Store) -> None:
    registrations = store.registrations()

    made = await asyncio.gather(
        *(registrations.create(a_registered(), call_id=a_call(n), limit=10) for n in range(30))
    )

    assert made.count(LimitReached()) == 20
    assert len(await registrations.of_owner(OWNER)) == 10


async def test_a_lowered_limit_refuses_new_webhooks(store: Store) -> None:
    for _ in range(3):
        await store.created()

    made = await store.registrations().create(a_registered(), call_id=a_call(1), limit=3)

    assert made == LimitReached()


@pytest.mark.parametrize("limit", [1, 10])
async def test_of_many_that_make_the_same_webhook_at_once_one_does(
    store: Store, limit: int
) -> None:
    new = a_registered()
    each = [replace(new, secret=a_secret(f"whsec_{number}")) for number in range(10)]

    made = await asyncio.gather(
        *(
            store.registrations().create(one, call_id=a_call(number), limit=limit)
            for number, one in enumerate(each)
        )
    )

    [first] = (one for one in made if isinstance(one, Registration))
    before = ExistingRegistration(first, a_call(each.index(first)))
    assert made.count(before) == 9


async def test_no_concurrent_change_is_lost(store: Store) -> None:
    webhook_id = (await store.created(description="")).webhook.id

    def longer(webhook: Webhook) -> Webhook:
        return webhook.model_copy(update={"description": f"{webhook.description}x"})

    registrations = store.registrations()
    await asyncio.gather(*(registrations.change(OWNER, webhook_id, longer) for _ in range(5)))

    found = await registrations.find(OWNER, webhook_id)
    assert found is not None
    assert found.description == "xxxxx"


async def test_an_owners_headers_are_sealed_and_opened_for_the_post(store: Store) -> None:
    new = await store.created(headers=("X-Tenant",), new_headers={"X-Tenant": "hush"})

    document = await store.database["webhooks"].find_one({"_id": new.webhook.id})

    assert await store.headers(new.webhook.id) == {"X-Tenant": "hush"}
    assert b"hush" not in bson.encode(document or {})
    assert "hush" not in repr(await store.sendable(new.webhook.id))


async def test_headers_without_a_new_value_keep_theirs_when_others_change(store: Store) -> None:
    headers = {"X-Tenant": "hush", "X-Stage": "test", "X-Old": "1"}
    webhook_id = (await store.created(headers=tuple(headers), new_headers=headers)).webhook.id
    changes = {"headers": ("X-Tenant", "X-Stage"), "new_headers": {"X-Stage": "live"}}

    await store.registrations().change(
        OWNER, webhook_id, lambda before: before.model_copy(update=changes)
    )

    assert await store.headers(webhook_id) == {"X-Tenant": "hush", "X-Stage": "live"}


async def test_a_disabled_webhook_matches_as_disabled(store: Store) -> None:
    new = await store.created(**DISABLED)
    subject = Subject(EventType.OWNERS_CHANGED, Country.NO, "123456785")

    [matches] = await store.webhooks().matching([subject])

    assert matches == [Match(new.webhook.id, generation=2, enabled=False)]


async def test_each_event_of_a_batch_finds_its_webhooks_as_it_does_alone(store: Store) -> None:
    companies = (DANISH, CompanyKey.parse("no:123456785"))
    country = {"countries": (Country.NO,)}
    parts: dict[str, tuple[str, ...]] = {
        "forms": ("AS",),
        "industries": ("62", "41.2"),
        "municipalities": ("Oslo", "301"),
        "fields": ("address",),
    }
    patterns = [("*",), ("company.*",), ("company.updated", "owners.*"), ("owners.changed",)]
    lists = {"watchlists": (WatchlistId("wl_1"), WatchlistId("wl_2"))}
    limits: list[dict[str, Any]] = [{}, country, {"companies": companies}]
    limits += [lists, lists | country, lists | {"companies": companies[1:]}]
    subscriptions = [*product(patterns, limits)]
    for size in (1, 2, 4):
        for names in combinations(parts, size):
            filtered = {name: parts[name] for name in names}
            subscriptions += [(("*",), filtered), (("*",), filtered | country)]
    stored = [
        await store.created(events=events, filter=WebhookFilter(**fields) if fields else None)
        for events, fields in subscriptions
    ]
    values = product(
        (EventType.COMPANY_UPDATED, EventType.OWNERS_CHANGED),
        Country,
        ("12345674", "123456785"),
        ("AS", None),
        ("62010", "51000"),
        (("OSLO", "0301"), (None, None)),
        ("address.city", "name"),
    )
    subjects = [
        Subject(kind, country, vat, form, (code,), *place, (changed,))
        for kind, country, vat, form, code, place, changed in values
    ]

    await Members(store.database).add("wl_1", [DANISH, CompanyKey.parse("no:12345674")])
    await Members(store.database).add("wl_2", [DANISH])

    # The same event twice in a list is nothing special.
    together = await store.webhooks().matching([*subjects, subjects[0]])

    for subject, found in zip([*subjects, subjects[0]], together, strict=True):
        [alone] = await store.webhooks().matching([subject])
        has = {"dk:12345674": lists["watchlists"], "no:12345674": lists["watchlists"][:1]}
        listed = replace(subject, watchlists=has.get(subject.company, ()))
        ids = sorted(one.webhook.id for one in stored if is_for(one.webhook, listed))
        assert sorted(match.webhook_id for match in found) == ids
        assert sorted(match.webhook_id for match in alone) == ids


async def test_webhooks_are_counted_by_status_without_reading_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await store.created()
    await store.created(**DISABLED)
    # By an index that has no other webhooks.
    plan = await store.database["webhooks"].find({"status": "disabled"}).explain()

    counts = [await store.webhooks().count_by_status()]
    for _ in range(2):
        await store.created(**DISABLED)
    monkeypatch.setattr(sending, "MAX_DISABLED", 2)
    counts.append(await store.webhooks().count_by_status())

    assert counts == [
        {WebhookStatus.ENABLED: 3, WebhookStatus.DISABLED: 1},
        {WebhookStatus.ENABLED: 4, WebhookStatus.DISABLED: 2},
    ]
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "disabled"
    assert plan["executionStats"]["totalKeysExamined"] == 1


async def test_followers_of_companies_are_found_by_an_index(store: Store) -> None:
    await store.created()
    keys = [DANISH]

    plan = await store.database["webhooks"].find({"match_keys": {"$in": keys}}).explain()

    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "match_keys"


async def test_the_lists_of_companies_are_read_from_the_index_of_ids_alone(store: Store) -> None:
    companies = [CompanyKey(Country.NO, f"{number}") for number in range(310_000_000, 310_000_200)]
    await Members(store.database).add("wl_1", [DANISH, *companies])
    query = {"_id": ids_of([DANISH, companies[7]])}

    plan = await store.database[MEMBERS].find(query, {"_id": 1}).explain()

    stages = plan["queryPlanner"]["winningPlan"]
    assert stages["stage"] == "PROJECTION_COVERED"
    assert plan["executionStats"]["totalDocsExamined"] == 0
    assert plan["executionStats"]["nReturned"] == 2
    # One more behind each range.
    assert plan["executionStats"]["totalKeysExamined"] <= 4


async def test_what_changes_between_two_events_applies_to_the_second(store: Store) -> None:
    webhooks, registrations = store.webhooks(), store.registrations()
    subject = Subject(EventType.COMPANY_UPDATED, Country.DK, "12345674", form="80")

    async def matching() -> list[str]:
        [found] = await webhooks.matching([subject])
        return sorted(match.webhook_id for match in found)

    none = await matching()
    first = (await store.created(events=("company.*",), updated_at=LATER)).webhook.id
    one = await matching()
    # Its write took longer than that of the first.
    second = (await store.created(updated_at=LATER - timedelta(seconds=9))).webhook.id
    both = await matching()
    only = WebhookFilter(forms=("AS",))
    await registrations.change(
        OWNER,
        second,
        lambda webhook: webhook.model_copy(update={"filter": only, "updated_at": LATER}),
    )
    changed = await matching()
    by_company = WebhookFilter(companies=(DANISH,))
    await registrations.change(
        OWNER,
        second,
        lambda webhook: webhook.model_copy(update={"filter": by_company, "updated_at": LATER}),
    )
    by_number = await matching()
    await registrations.delete(OWNER, first, call_id=a_call(3), at=LATER)
    deleted = await matching()

    assert [none, one, both, changed] == [[], [first], sorted([first, second]), [first]]
    assert [by_number, deleted] == [sorted([first, second]), [second]]


async def test_many_webhooks_are_indexed_page_by_page(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_PAGE", 2)
    ids = [(await store.created()).webhook.id for _ in range(5)]

    [found] = await store.webhooks().matching([Subject(EventType.COMPANY_UPDATED, Country.DK, "1")])

    assert sorted(match.webhook_id for match in found) == sorted(ids)


async def test_one_webhook_is_found_with_any_subscription(store: Store) -> None:
    new = await store.created(events=("owners.changed",))

    match = await store.webhooks().match_of(new.webhook.id)

    assert match == Match(new.webhook.id, generation=1, enabled=True)
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

    during = await store.secrets(new.webhook.id, at=LATER - timedelta(milliseconds=1))
    after = await store.secrets(new.webhook.id, at=LATER)

    assert during == SigningSecrets(a_secret("whsec_new"), new.secret)
    assert after == SigningSecrets(a_secret("whsec_new"))


async def test_a_webhook_that_was_deleted_meanwhile_is_not_rotated(store: Store) -> None:
    assert await store.rotated("wh_unknown") is None


async def test_a_webhook_with_an_unknown_key_has_no_secrets_and_does_not_affect_others(
    store: Store,
) -> None:
    strange, known = await store.created("k9"), await store.created("k1")
    ids = [strange.webhook.id, known.webhook.id]

    found = await store.webhooks("k1").sendable(ids, at=NOON)

    assert found[strange.webhook.id].secrets is None
    assert found[known.webhook.id].secrets == SigningSecrets(known.secret)


async def test_a_rotation_after_the_key_was_lost_has_no_overlap(store: Store) -> None:
    new = await store.created("lost")
    await store.rotated(new.webhook.id, "lost")

    await store.rotated(new.webhook.id, "k1", text="whsec_newest", call=3)

    assert await store.secrets(new.webhook.id, "k1") == SigningSecrets(a_secret("whsec_newest"))


async def test_every_secret_that_opens_is_resealed_with_the_newest_key_once(store: Store) -> None:
    old, rotated = await store.created("k1"), await store.created("k1")
    await store.rotated(rotated.webhook.id, "k1")
    await store.created("k2")
    strange = await store.created("k9")
    failed = (strange.webhook.id,)

    done, again = [await reseal(store.database, secret_keys("k2", "k1"), at=NOON) for _ in range(2)]
    with_overlap = await store.secrets(rotated.webhook.id, "k2")
    # A replaced secret that no longer signs is dropped.
    await reseal(store.database, secret_keys("k3", "k2", "k1"), at=LATER)

    assert (done, again) == (ResealCounts(2, failed), ResealCounts(0, failed))
    assert await store.secrets(old.webhook.id, "k3") == SigningSecrets(old.secret)
    assert with_overlap == SigningSecrets(a_secret("whsec_new"), rotated.secret)
    assert await store.secrets(rotated.webhook.id, "k3") == SigningSecrets(a_secret("whsec_new"))
    assert await store.secrets(strange.webhook.id, "k9") == SigningSecrets(strange.secret)


async def test_stored_answers_are_expired_by_the_database(store: Store) -> None:
    keys, scope = IdempotencyKeys(store.database), KeyScope(OWNER, "/api/webhooks", "k")
    # Not in the past: another test may let this server delete what has expired.
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    await keys.use(scope, KeyUse(a_call(1), b"body"), at=NOON, until=until)
    await keys.answer(scope, WebhookReply(status=201, body=b"{}"))

    indexes = await store.database["idempotency"].index_information()
    [document] = await store.database["idempotency"].find().to_list(None)

    assert indexes["expires_at"]["expireAfterSeconds"] == 0
    assert document["expires_at"] == until
