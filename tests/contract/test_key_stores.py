"""One suite for both stores of API keys: the fake keeps the promises of the real one."""

from dataclasses import replace
from datetime import timedelta

import pytest

from common.mongo import Client, database
from common.mongo_commands import create_indexes
from common.runtime.public_port.rates import Rate
from gateway.access.keys import ENDED_KEPT, KEY_INDEXES, MongoKeys, Scope
from tests.builders.keys import NOON, a_presented_key, an_api_key
from tests.conftest import DatabaseNames
from tests.fakes.gateway import FakeApiKeys

LATER = NOON + timedelta(hours=1)

Store = MongoKeys | FakeApiKeys


class Promises:
    """Behaviour of both."""

    async def test_a_key_comes_back_as_it_was_added(self, store: Store) -> None:
        key = an_api_key(scopes=frozenset({Scope.WEBHOOKS}))

        await store.add(key)

        assert await store.get(key.id) == key

    async def test_a_keys_rate_and_expiry_are_kept(self, store: Store) -> None:
        key = an_api_key(rate=Rate(7, 3600), expires_at=LATER)
        await store.add(key)

        assert await store.get(key.id) == key

    async def test_an_unknown_key_is_not_found(self, store: Store) -> None:
        assert await store.get("0" * 24) is None

    async def test_a_revoked_key_is_still_found_with_the_time_of_its_end(
        self, store: Store
    ) -> None:
        key = an_api_key()
        await store.add(key)

        found = await store.revoke(key.id, at=NOON)

        assert found
        assert await store.get(key.id) == replace(key, revoked_at=NOON)

    async def test_revoking_again_changes_nothing(self, store: Store) -> None:
        key = an_api_key()
        await store.add(key)
        await store.revoke(key.id, at=NOON)

        found = await store.revoke(key.id, at=LATER)

        assert found
        assert await store.get(key.id) == replace(key, revoked_at=NOON)

    async def test_an_unknown_key_is_not_revoked(self, store: Store) -> None:
        assert not await store.revoke("0" * 24, at=NOON)

    async def test_an_owners_keys_are_listed_newest_first_with_recently_ended_ones(
        self, store: Store
    ) -> None:
        ids = [a_presented_key(number) for number in range(1, 7)]
        old, new, other, ended, long_ago, expired = (an_api_key(each) for each in ids)
        new = replace(new, created_at=LATER)
        ended = replace(ended, revoked_at=NOON)
        long_ago = replace(long_ago, revoked_at=LATER - ENDED_KEPT - timedelta(hours=1))
        expired = replace(expired, expires_at=LATER - ENDED_KEPT - timedelta(hours=1))
        for key in (old, new, replace(other, owner="globex"), ended, long_ago, expired):
            await store.add(key)

        assert list(await store.of_owner("acme", at=LATER)) == [new, old, ended]

    async def test_an_owner_gets_no_more_keys_than_allowed(self, store: Store) -> None:
        first, second = (an_api_key(a_presented_key(number)) for number in (1, 2))
        publishable = replace(
            first, origins=("https://www.example.com",), visitor_rate=Rate(5, 60), created_by="a"
        )

        added = [await store.add_within(key, 1, at=NOON) for key in (publishable, second)]

        assert added == [True, False]
        assert list(await store.of_owner("acme", at=NOON)) == [publishable]

    async def test_a_key_is_ended_by_its_owner_alone_and_once(self, store: Store) -> None:
        key = an_api_key()
        await store.add(key)

        assert not await store.end("globex", key.id, at=NOON, by="b")
        assert await store.end("acme", key.id, at=NOON, by="a")
        assert await store.end("acme", key.id, at=LATER, by="b")
        assert await store.expire("acme", key.id, at=NOON, by="b")

        assert await store.get(key.id) == replace(key, revoked_at=NOON, ended_by="a")

    async def test_a_key_expires_earlier_but_never_later(self, store: Store) -> None:
        key = an_api_key()
        await store.add(key)

        assert not await store.expire("globex", key.id, at=NOON, by="b")
        for at in (LATER, LATER + timedelta(hours=1), NOON):
            assert await store.expire("acme", key.id, at=at, by=str(at.hour))

        assert await store.get(key.id) == replace(key, expires_at=NOON, ended_by="12")


class TestFake(Promises):
    @pytest.fixture(name="store")
    def _store(self) -> Store:
        return FakeApiKeys()


@pytest.mark.integration
class TestMongo(Promises):
    @pytest.fixture(name="store")
    async def _store(self, mongo: Client, database_names: DatabaseNames) -> MongoKeys:
        access = database(mongo, database_names.access)
        await create_indexes(access, KEY_INDEXES)
        return MongoKeys(access)

    async def test_keys_are_listed_newest_first(self, store: MongoKeys) -> None:
        older, newer = (an_api_key(a_presented_key(number)) for number in (1, 2))
        newer = replace(newer, created_at=LATER)
        await store.add(older)
        await store.add(newer)

        assert list(await store.all()) == [newer, older]
