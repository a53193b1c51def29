"""Issuing and revoking keys."""

from gateway.domain.keys import Scope
from gateway.usecases.keys import IssueKey, RevokeKey
from tests.builders.keys import NOON, a_presented_key
from tests.fakes.gateway import FakeKeyStore


async def test_an_issued_key_is_accepted_and_its_secret_is_not_kept() -> None:
    store, presented = FakeKeyStore(), a_presented_key()
    issue = IssueKey(store, lambda: presented, now=lambda: NOON)

    issued = await issue(owner="acme", name="nightly sync", scopes=[Scope.LOOKUP])

    (kept,) = store.keys.values()
    assert issued == presented
    assert kept.accepts(issued, at=NOON)
    assert (kept.owner, kept.name, kept.created_at) == ("acme", "nightly sync", NOON)
    assert kept.scopes == {Scope.LOOKUP}
    assert presented.secret.encode() not in kept.secret_hash


async def test_a_revoked_key_is_no_longer_accepted() -> None:
    store, presented = FakeKeyStore(), a_presented_key()
    issue = IssueKey(store, lambda: presented, now=lambda: NOON)
    await issue(owner="acme", name="nightly sync", scopes=[Scope.LOOKUP])

    found = await RevokeKey(store, now=lambda: NOON)(presented.id)

    assert found
    assert not store.keys[presented.id].accepts(presented, at=NOON)


async def test_revoking_an_unknown_key_returns_false() -> None:
    assert not await RevokeKey(FakeKeyStore(), now=lambda: NOON)("0" * 24)
