"""Recipients of mail: which mailbox an address is, their refusals, and what may be sent in a day.

Nothing here is an address: hashes alone are stored, of mailboxes and of owners with them.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from pymongo.errors import DuplicateKeyError

from common.mongo import Database, translated_errors
from webhook_store.collections import ASKED_ADDRESSES, REFUSALS, Document

#: Time for which an owner's budgets, and the request to a mailbox, are counted.
DAY: Final = timedelta(days=1)
#: Time between two requests of an owner to a mailbox that has refused.
AFTER_REFUSAL: Final = timedelta(days=30)


class _Provider(NamedTuple):
    """How a provider reads the part of an address before the @."""

    #: One name for all of its domains that share their mailboxes.
    domain: str
    #: Characters that it ignores, or does not tell apart.
    ignored: str = ""
    #: The character that introduces a tag.
    tags: str = "+"


#: Providers, each with its domains. Dots do not matter in Gmail, but they do in mail of Google for
#: an organisation's own domain.
_DOMAINS: Final = {
    _Provider("gmail.com", "."): "gmail.com googlemail.com",
    _Provider("proton.me", ".-_"): "proton.me protonmail.com protonmail.ch pm.me",
    # A dot and a hyphen are the same.
    _Provider("yandex.ru", ".-"): (
        "yandex.ru yandex.com yandex.by yandex.kz yandex.ua yandex.com.tr ya.ru narod.ru"
    ),
    _Provider("icloud.com"): "icloud.com me.com mac.com",
}
#: Disposable addresses of Yahoo are a name and a hyphen, before a keyword.
_HYPHENS: Final = (
    "yahoo.com yahoo.co.uk yahoo.dk yahoo.no yahoo.se yahoo.de yahoo.fr yahoo.it yahoo.es "
    "ymail.com rocketmail.com myyahoo.com"
)
_PROVIDERS: Final = {
    **{domain: one for one, domains in _DOMAINS.items() for domain in domains.split()},
    **{domain: _Provider(domain, tags="+-") for domain in _HYPHENS.split()},
}
#: Providers that take any name in front of a mailbox's own subdomain: `x@name.fastmail.com`.
_SUBDOMAINS: Final = ("fastmail.com", "fastmail.fm")


def address_key(address: str) -> str:
    """Returns the hash of an address without its case: each confirms for itself alone."""
    return sha256(address.lower().encode()).hexdigest()


def mailbox_key(address: str) -> str:
    """Returns the hash of the mailbox that is likely an address's.

    Without a tag such as `+news`, and without the dots that some providers ignore. A mail server
    may give such an address to somebody else, so it only bounds how much is sent.
    """
    local, _, domain = address.lower().partition("@")
    name, _, parent = domain.partition(".")
    if parent in _SUBDOMAINS:
        local, domain = name, parent
    provider = _PROVIDERS.get(domain, _Provider(domain))
    plain = local
    for tag in provider.tags:
        plain = plain.partition(tag)[0] or plain
    folded = "".join(one for one in plain if one not in provider.ignored)
    return address_key(f"{folded or plain}@{provider.domain}")


def _owner_key(purpose: str, owner: str) -> str:
    return f"{purpose}:{sha256(owner.encode()).hexdigest()}"


def _within_day(at: datetime) -> Document:
    """Returns the condition of a time that ends a day; a later one was set by a wrong clock."""
    return {"$gt": at, "$lte": at + DAY}


class Recipients:
    """Decisions of recipients, and an owner's daily limits. Methods may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._refusals = database[REFUSALS]
        self._counted = database[ASKED_ADDRESSES]

    async def refuse(self, owner: str, address: str, *, at: datetime) -> None:
        """Notes that a recipient does not want an owner's mail, until `forgive`."""
        with translated_errors():
            await self._refusals.update_one(
                {"_id": _refusal_id(owner, address)},
                {"$set": {"owner": owner, "at": at}},
                upsert=True,
            )

    async def has_refused(self, owner: str, address: str) -> bool:
        """Returns True if the recipient has refused since the last confirmation."""
        with translated_errors():
            found = await self._refusals.find_one({"_id": _refusal_id(owner, address)})
        return found is not None

    async def forgive(self, owner: str, address: str) -> None:
        """Forgets a refusal: the recipient has confirmed again."""
        with translated_errors():
            await self._refusals.delete_one({"_id": _refusal_id(owner, address)})

    async def count_new(
        self, owner: str, address: str, *, limit: int, at: datetime
    ) -> datetime | None:
        """Counts an address that an owner adds; deleting it does not return its place.

        Returns None, or the time from which on another address may be added. To be called by one
        process at a time for an owner.
        """
        key, new = _owner_key("new", owner), address_key(address)
        with translated_errors():
            found = await self._counted.find_one({"_id": key, "until": _within_day(at)})
            known: list[str] = found["addresses"] if found else []
            if new in known:
                return None
            if found and len(known) >= limit:
                until: datetime = found["until"]
                return until
            fields = {"addresses": [*known, new], "until": found["until"] if found else at + DAY}
            await self._counted.update_one({"_id": key}, {"$set": fields}, upsert=True)
        return None


def _refusal_id(owner: str, address: str) -> str:
    return sha256(f"{owner}\n{mailbox_key(address)}".encode()).hexdigest()


class Reserved(NamedTuple):
    """The answer to whether a mailbox may be asked to confirm."""

    #: None if it may be asked now, or the time from which on.
    later: datetime | None = None
    #: The limit that delays it: `owner`, `mailbox` or `refusal`.
    limit: str = ""


class ConfirmationRequests:
    """The requests to confirm that are sent, each counted before it. May raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._counted = database[ASKED_ADDRESSES]
        self._refusals = database[REFUSALS]

    async def reserve(
        self, owner: str, address: str, holder: str, *, limit: int, at: datetime
    ) -> Reserved:
        """Reserves a mailbox for a request, which `holder` names.

        A mailbox receives one a day over all owners, one a month from an owner whom it refused, and
        an owner sends at most `limit` a day. A `holder` that has reserved it may try again.
        """
        mailbox = mailbox_key(address)
        with translated_errors():
            held = await self._counted.find_one({"_id": mailbox, "until": _within_day(at)})
            if held is not None:
                is_own = held["digest"] == holder
                return Reserved() if is_own else Reserved(held["until"], "mailbox")
            refusal = await self._refusals.find_one({"_id": _refusal_id(owner, address)}) or {}
            asked = refusal.get("asked_at")
            if asked is not None and asked <= at < asked + AFTER_REFUSAL:
                return Reserved(asked + AFTER_REFUSAL, "refusal")
            used = await self._used(owner, at)
            if used["used"] >= limit:
                return Reserved(used["until"], "owner")
            if not await self._hold(mailbox, holder, at):
                return Reserved(at + DAY, "mailbox")
            await self._count(owner, at)
            if refusal:
                await self._refusals.update_one({"_id": refusal["_id"]}, {"$set": {"asked_at": at}})
        return Reserved()

    async def _used(self, owner: str, at: datetime) -> Document:
        query: Document = {"_id": _owner_key("asked", owner), "until": _within_day(at)}
        return await self._counted.find_one(query) or {"used": 0, "until": at}

    async def _count(self, owner: str, at: datetime) -> None:
        """Counts one; senders that do so at once may exceed the limit by their number."""
        key = _owner_key("asked", owner)
        query: Document = {"_id": key, "until": _within_day(at)}
        counted = await self._counted.update_one(query, {"$inc": {"used": 1}})
        if not counted.matched_count:
            await self._counted.update_one(
                {"_id": key}, {"$set": {"used": 1, "until": at + DAY}}, upsert=True
            )

    async def _hold(self, mailbox: str, holder: str, at: datetime) -> bool:
        try:
            await self._counted.update_one(
                {"_id": mailbox, "until": {"$not": _within_day(at)}},
                {"$set": {"digest": holder, "until": at + DAY}},
                upsert=True,
            )
        except DuplicateKeyError:
            return False
        return True


async def forget_owner(database: Database, owner: str) -> None:
    """Deletes what is kept of an owner's recipients. Raises `Unavailable`."""
    with translated_errors():
        await database[REFUSALS].delete_many({"owner": owner})
        keys = [_owner_key(purpose, owner) for purpose in ("new", "asked")]
        await database[ASKED_ADDRESSES].delete_many({"_id": {"$in": keys}})
