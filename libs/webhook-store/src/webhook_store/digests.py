"""Digests of watchlists: subscriptions of e-mail addresses, and messages that are due (ADR 0092).

A digest is claimed by one sender at a time. Before a mail server may accept a message, the range of
the event feed that it is about is stored, so that a repetition after a crash is the same message
under the same id; the position in the feed moves when a server has accepted it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, NamedTuple

from pydantic import SecretStr
from pymongo import ASCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from common.contracts.watchlists import Digest, DigestEnd, DigestId, DigestState
from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import DIGESTS, Document
from webhook_store.recipients import AFTER_REFUSAL, address_key
from webhook_store.secrets import CannotUnseal, SealedSecret, SecretKeys, sealed_of

#: Time in which an address may confirm, after the request to do so was sent.
CONFIRMABLE: Final = timedelta(days=7)
#: Time for which an ended digest is shown to its owner.
SHOWN_ENDED: Final = timedelta(days=30)

#: More than the time until a daily message is due, and than that of a claim.
_MAX_DUE, _MAX_CLAIM = timedelta(hours=26), timedelta(minutes=30)

_LIVE: Final = {"$in": [DigestState.UNCONFIRMED.value, DigestState.CONFIRMED.value]}
#: Fields about the message that is being sent.
_TRYING: Final = ("claim", "sending", "failures", "refusals", "failing_since")
_UNCONFIRMED: Final = DigestState.UNCONFIRMED.value
_CONFIRMED: Final = DigestState.CONFIRMED.value


def token_hash(token: str) -> str:
    """Returns the hash of a link's token, by which it is checked."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _associated(digest_id: str) -> WebhookId:
    # Distinct from that of every webhook's secrets.
    return WebhookId(f"{digest_id}/token")


def sealed_token(token: str, keys: SecretKeys, digest_id: DigestId) -> Document:
    """Returns the stored fields of the token in a digest's links, encrypted."""
    return asdict(keys.seal(SecretStr(token), _associated(digest_id)))


def opened_token(sealed: SealedSecret, keys: SecretKeys, digest_id: DigestId) -> str:
    """Returns the token of a digest's links; raises CannotUnseal."""
    return keys.unseal(sealed, _associated(digest_id)).get_secret_value()


def digest_of(document: Document) -> Digest:
    """Returns the digest of a stored document."""
    return Digest.model_validate({**document, "id": document["_id"]})


class Digests:
    """The stored digests, for owners and holders of links. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._digests = database[DIGESTS]

    async def add(self, new: Digest, *, token: str, keys: SecretKeys) -> Digest:
        """Stores a digest that is due now; returns the stored one after a redelivered call."""
        document = {
            **new.model_dump(exclude={"id"}),
            "_id": new.id,
            "owner": new.owner,
            "watchlist_id": new.watchlist_id,
            "address_key": address_key(new.address),
            "token": sealed_token(token, keys, new.id),
            "token_hash": token_hash(token),
            "due_at": new.created_at,
            "checked_at": new.created_at,
        }
        with translated_errors():
            try:
                await self._digests.insert_one(document)
            except DuplicateKeyError:
                found = await self._digests.find_one({"_id": new.id, "owner": new.owner})
                return new if found is None else digest_of(found)
        return new

    async def of_list(self, owner: str, watchlist_id: str) -> list[Digest]:
        """Returns the digests of a list, also those that have ended lately, in their order."""
        return await self._found({"owner": owner, "watchlist_id": watchlist_id})

    async def live(self, owner: str) -> list[Digest]:
        """Returns the digests of an owner that have not ended."""
        return await self._found({"owner": owner, "state": _LIVE})

    async def _found(self, query: Document) -> list[Digest]:
        with translated_errors():
            found = self._digests.find(query).sort([("created_at", ASCENDING), ("_id", ASCENDING)])
            return [digest_of(document) async for document in found]

    async def change(self, digest: Digest, *, at: datetime) -> None:
        """Stores when a digest is sent, and what it is about."""
        due = {"due_at": at} if digest.state is DigestState.CONFIRMED else {}
        wanted = {"events": list(digest.events), "fields": list(digest.fields)}
        with translated_errors():
            await self._digests.update_one(
                {"_id": digest.id, "state": digest.state.value},
                {"$set": {"period": digest.period.value, **wanted, **due}},
            )

    async def delete(self, owner: str, watchlist_id: str, digest_id: str) -> bool:
        """Deletes a digest with its address; False if the list has none with this id."""
        query = {"_id": digest_id, "owner": owner, "watchlist_id": watchlist_id}
        with translated_errors():
            return bool((await self._digests.delete_one(query)).deleted_count)

    async def delete_of_list(self, watchlist_id: str) -> int:
        """Deletes all digests of a list with their addresses; returns their number."""
        with translated_errors():
            result = await self._digests.delete_many({"watchlist_id": watchlist_id})
        return result.deleted_count

    async def of_link(self, digest_id: str, given: str) -> Digest | None:
        """Returns the digest whose token has this hash; None if absent or deleted."""
        with translated_errors():
            found = await self._digests.find_one({"_id": digest_id})
        if found is None or not compare_digest(found["token_hash"], given):
            return None
        return digest_of(found)

    async def confirm(self, digest: Digest, *, at: datetime) -> None:
        """Confirms an owner's unconfirmed digests of an address; they begin with the next event."""
        with translated_errors():
            await self._digests.update_many(
                {
                    "owner": digest.owner,
                    "address_key": address_key(digest.address),
                    "state": _UNCONFIRMED,
                },
                {
                    "$set": {
                        "state": _CONFIRMED,
                        "confirmed_at": at,
                        "checked_at": at,
                        "due_at": at,
                        "last_error": None,
                    },
                    "$unset": dict.fromkeys(("expires_at", *_TRYING), ""),
                },
            )

    async def same(self, digest: Digest, *, in_list: bool) -> list[Digest]:
        """Returns the owner's digests to an address that have not ended, of its list or of all."""
        return await self._found(_same(digest, in_list=in_list))

    async def unsubscribe(self, digest: Digest, *, in_list: bool, at: datetime) -> None:
        """Ends the owner's digests to an address, of its list or of all, at its recipient's wish.

        Also one that was added after the message with the link.
        """
        with translated_errors():
            await self._digests.update_many(
                _same(digest, in_list=in_list), _ended(DigestEnd.UNSUBSCRIBED, at)
            )

    async def unconfirm(self, digest: Digest) -> None:
        """Takes the confirmation from a digest that was just added."""
        update = {"state": _UNCONFIRMED, "confirmed_at": None}
        with translated_errors():
            await self._digests.update_one(
                {"_id": digest.id, "state": _CONFIRMED, "sent_at": None}, {"$set": update}
            )


def _same(digest: Digest, *, in_list: bool) -> Document:
    query: Document = {
        "owner": digest.owner,
        "address_key": address_key(digest.address),
        "state": _LIVE,
    }
    return {**query, "watchlist_id": digest.watchlist_id} if in_list else query


def _ended(reason: DigestEnd, at: datetime, error: str | None = None) -> Document:
    return {
        "$set": {
            "state": DigestState.ENDED.value,
            "ended_at": at,
            "ended_reason": reason.value,
            "last_error": error,
            "expires_at": at + SHOWN_ENDED,
        },
        "$unset": dict.fromkeys(("due_at", *_TRYING), ""),
    }


class Range(NamedTuple):
    """The part of the event feed that a message is about."""

    #: None before the first message: the events since the confirmation.
    after: int | None
    until: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """A digest that this process alone may send for, until the claim ends."""

    digest: Digest
    #: Identifies the claim.
    claim: str
    token: SealedSecret
    #: The position up to which the feed is read; None before the first read.
    position: int | None
    #: The time of the last read, or of the confirmation.
    checked_at: datetime
    #: The message that a mail server may have accepted already, although no reply was recorded.
    sending: Range | None
    #: Failed tries of this message, and those among them that refuse the address for good.
    failures: int
    refusals: int


class DueDigests:
    """Digests for which there is something to do. Every method may raise `Unavailable`.

    Each write is conditional on the claim, and every write but `renew` and `offer` releases it.
    A digest that has ended, or was deleted, has no claim: such a write has no effect.
    """

    def __init__(self, database: Database) -> None:
        self._digests = database[DIGESTS]

    async def claim(self, claim: str, *, at: datetime, until: datetime) -> Claimed | None:
        """Claims the digest that has been due for longest; None if there is none."""
        with translated_errors():
            found = await self._digests.find_one_and_update(
                {"$and": [{"$or": _due(at)}, {"$or": _unclaimed(at)}]},
                {"$set": {"claim": {"id": claim, "until": until}}},
                sort=[("due_at", ASCENDING)],
                return_document=ReturnDocument.AFTER,
            )
        return None if found is None else _claimed(found, claim)

    async def renew(self, claimed: Claimed, *, until: datetime) -> bool:
        """Extends a claim; False if it is lost, or the digest has ended."""
        return await self._write(claimed, {"$max": {"claim.until": until}})

    async def offer(self, claimed: Claimed, sending: Range, *, until: datetime) -> bool:
        """Notes that a mail server is about to accept a message; False if the claim is lost.

        Called with all of the message sent except its end: until then it is certainly not accepted.
        A process that was suspended, or whose digest has ended meanwhile, sends nothing.
        """
        fields = {"after": sending.after, "until": sending.until}
        return await self._write(claimed, {"$set": {"sending": fields, "claim.until": until}})

    async def accepted(
        self, claimed: Claimed, sending: Range, *, at: datetime, due_at: datetime
    ) -> bool:
        """Moves behind the range of an accepted message."""
        sent = {"sent_at": at, "last_error": None}
        return await self.move(claimed, sending.until, at=at, due_at=due_at, fields=sent)

    async def move(
        self,
        claimed: Claimed,
        position: int | None,
        *,
        at: datetime,
        due_at: datetime,
        fields: Document | None = None,
    ) -> bool:
        """Moves to a position up to which nothing remains to be sent."""
        moved = {"position": position, "checked_at": at, "due_at": due_at, **(fields or {})}
        return await self._write(claimed, {"$set": moved, "$unset": dict.fromkeys(_TRYING, "")})

    async def put_off(self, claimed: Claimed, *, due_at: datetime) -> bool:
        """Leaves a digest for which there is nothing to do yet."""
        update: Document = {"$set": {"due_at": due_at}, "$unset": {"claim": ""}}
        return await self._write(claimed, update)

    async def unread(self, claimed: Claimed, *, at: datetime, due_at: datetime) -> bool:
        """Leaves a digest whose changes cannot be read now; it has waited since the first time."""
        update: Document = {
            "$set": {"due_at": due_at},
            "$min": {"failing_since": at},
            "$unset": {"claim": ""},
        }
        return await self._write(claimed, update)

    async def failed(  # noqa: PLR0913 (the outcome of a try)
        self,
        claimed: Claimed,
        *,
        at: datetime,
        due_at: datetime,
        error: str,
        is_refusal: bool = False,
        is_unknown: bool = False,
    ) -> bool:
        """Counts a failed try, which is repeated later.

        A message that was certainly not accepted is composed anew then. A refusal of the address
        for good is no fault of the service.
        """
        gone = {"claim": ""} if is_unknown else {"claim": "", "sending": ""}
        update: Document = {
            "$set": {"due_at": due_at, "last_error": error},
            "$unset": gone,
            "$inc": {"failures": 1, "refusals": int(is_refusal)},
        }
        if not is_refusal:
            update["$min"] = {"failing_since": at}
        return await self._write(claimed, update)

    async def refused(self, claimed: Claimed, *, at: datetime, error: str) -> bool:
        """Ends a digest whose address the mail server refuses for good."""
        return await self._write(claimed, _ended(DigestEnd.REFUSED, at, error))

    async def remove(self, claimed: Claimed) -> None:
        """Deletes a digest whose list does not exist any more."""
        with translated_errors():
            await self._digests.delete_one({"_id": claimed.digest.id, "claim.id": claimed.claim})

    async def asked(self, claimed: Claimed, *, at: datetime) -> None:
        """Notes an accepted request to confirm, which is for all of the owner's to the address."""
        digest = claimed.digest
        with translated_errors():
            await self._digests.update_many(
                {
                    "owner": digest.owner,
                    "address_key": address_key(digest.address),
                    "state": _UNCONFIRMED,
                },
                {
                    "$set": {"expires_at": at + CONFIRMABLE, "asked_at": at, "last_error": None},
                    "$unset": dict.fromkeys(("due_at", *_TRYING), ""),
                },
            )

    async def oldest_due(self) -> datetime | None:
        """Returns since when a digest has been due or has failed to be sent; None if none is."""
        oldest: list[datetime] = []
        for name in ("due_at", "failing_since"):
            with translated_errors():
                found = await self._digests.find_one(
                    {name: {"$exists": True}}, {name: 1}, sort=[(name, ASCENDING)]
                )
            oldest += [] if found is None else [found[name]]
        return min(oldest, default=None)

    async def _write(self, claimed: Claimed, update: Document) -> bool:
        query = {
            "_id": claimed.digest.id,
            "claim.id": claimed.claim,
            "state": claimed.digest.state.value,
        }
        with translated_errors():
            return bool((await self._digests.update_one(query, update)).matched_count)


def _due(at: datetime) -> list[Document]:
    """Returns the alternatives of digests that are due.

    Later times than any that is set were set by a clock that was wrong meanwhile.
    """
    return [
        {"due_at": {"$lte": at}},
        {"due_at": {"$gt": at + _MAX_DUE}, "state": _CONFIRMED},
        {"due_at": {"$gt": at + AFTER_REFUSAL}},
    ]


def _unclaimed(at: datetime) -> list[Document]:
    return [
        {"claim": {"$exists": False}},
        {"claim.until": {"$lte": at}},
        {"claim.until": {"$gt": at + _MAX_CLAIM}},
    ]


def _claimed(document: Document, claim: str) -> Claimed:
    sending: dict[str, Any] | None = document.get("sending")
    return Claimed(
        digest=digest_of(document),
        claim=claim,
        token=sealed_of(document["token"]),
        position=document.get("position"),
        checked_at=document["checked_at"],
        sending=None if sending is None else Range(sending["after"], sending["until"]),
        failures=document.get("failures", 0),
        refusals=document.get("refusals", 0),
    )


async def reseal_tokens(database: Database, keys: SecretKeys) -> tuple[int, Sequence[str]]:
    """Encrypts all tokens with the newest key; safe to run at any time.

    Returns how many, and the digests whose token no given key opens. Raises Unavailable.
    """
    digests, done = database[DIGESTS], 0
    failed: list[str] = []
    while True:
        older = {"token.key_id": {"$ne": keys.newest_id}, "_id": {"$nin": failed}}
        with translated_errors():
            found = await digests.find(older, {"token": 1}, limit=500).to_list(None)
            for document in found:
                digest_id = DigestId(document["_id"])
                try:
                    token = opened_token(sealed_of(document["token"]), keys, digest_id)
                except CannotUnseal:
                    failed.append(digest_id)
                    continue
                sealed = {"$set": {"token": sealed_token(token, keys, digest_id)}}
                await digests.update_one({"_id": digest_id}, sealed)
                done += 1
        if not found:
            return done, failed
