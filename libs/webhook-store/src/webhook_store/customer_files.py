"""Files of customers in MongoDB: their parts and the decisions about their rows, all encrypted.

A file, its parts and its decisions have the same `expires_at`, at which MongoDB deletes them. The
id of a part or decision is the associated data of its encryption, so none can stand for another.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

import orjson
from pymongo import ASCENDING, DESCENDING, ReturnDocument

from common.contracts.customer_files import (
    MAX_DECISIONS,
    MAX_LISTED_DECISIONS,
    CustomerFile,
    CustomerFileId,
    DecisionList,
    StoredDecision,
)
from common.mongo import Database, translated_errors
from webhook_store.collections import FILE_DECISIONS, FILE_PARTS, FILES, Document
from webhook_store.secrets import CannotUnseal, SecretKeys, sealed_of

#: Sealed documents of one round of `reseal_files`: 50 parts have 12 MiB at most.
_BATCH: Final = 50


class CustomerFiles:
    """The stored files. Every method may raise `Unavailable`, and those that open CannotUnseal."""

    def __init__(self, database: Database, keys: SecretKeys) -> None:
        self._files = database[FILES]
        self._parts = database[FILE_PARTS]
        self._decisions = database[FILE_DECISIONS]
        self._keys = keys

    async def create(self, new: CustomerFile) -> None:
        """Stores a file; once only after a redelivered call."""
        # The name may be a person's.
        fields = new.model_dump(exclude={"id", "owner", "name"})
        document = {"owner": new.owner, **fields, **self._sealed(new.name.encode(), new.id)}
        with translated_errors():
            await self._files.update_one({"_id": new.id}, {"$setOnInsert": document}, upsert=True)

    async def find(self, owner: str, file_id: str, *, at: datetime) -> CustomerFile | None:
        """Returns an owner's file; None if absent, expired or another owner's."""
        query = {"_id": file_id, "owner": owner, "expires_at": {"$gt": at}}
        with translated_errors():
            found = await self._files.find_one(query)
        return None if found is None else self._file(found)

    async def of_owner(self, owner: str, *, at: datetime) -> list[CustomerFile]:
        """Returns an owner's files, newest first."""
        query = {"owner": owner, "expires_at": {"$gt": at}}
        with translated_errors():
            found = self._files.find(query).sort([("created_at", DESCENDING), ("_id", ASCENDING)])
            return [self._file(document) async for document in found]

    async def put_part(self, file: CustomerFile, number: int, content: bytes) -> None:
        """Stores a part, or another in its place."""
        part = _part_id(file.id, number)
        sealed = self._sealed(zlib.compress(content, 1), part)
        size = len(sealed["ciphertext"])
        document = {"owner": file.owner, "expires_at": file.expires_at, "size": size, **sealed}
        with translated_errors():
            before = await self._parts.find_one_and_replace(
                {"_id": part}, document, {"size": 1}, upsert=True
            )
            more = size - (before["size"] if before else 0)
            await self._files.update_one({"_id": file.id}, {"$inc": {"size": more}})

    async def part(self, file: CustomerFile, number: int) -> bytes | None:
        """Returns a part of a file; None without one."""
        part = _part_id(file.id, number)
        with translated_errors():
            found = await self._parts.find_one({"_id": part})
        return None if found is None else zlib.decompress(self._opened(found, part))

    async def add_decision(
        self, file: CustomerFile, decision: Mapping[str, object], *, at: datetime, key_id: str
    ) -> int | None:
        """Stores a decision; returns its number, and None if the file has too many or is gone."""
        with translated_errors():
            counted = await self._files.find_one_and_update(
                {"_id": file.id, "decisions": {"$lt": MAX_DECISIONS}},
                {"$inc": {"decisions": 1}},
                {"decisions": 1},
                return_document=ReturnDocument.AFTER,
            )
            if counted is None:
                return None
            number = int(counted["decisions"])
            decision_id = _decision_id(file.id, number)
            sealed = self._sealed(orjson.dumps(decision), decision_id)
            await self._decisions.insert_one(
                {
                    "_id": decision_id,
                    "owner": file.owner,
                    "expires_at": file.expires_at,
                    "number": number,
                    "decided_at": at,
                    "by": key_id,
                    **sealed,
                }
            )
        return number

    async def decisions(self, file: CustomerFile, *, after: int) -> DecisionList:
        """Returns the decisions that follow a number, the oldest first."""
        # One that is counted and not stored is left out: its client has an error.
        ids = {"$gt": _decision_id(file.id, after), "$lt": f"{file.id}0"}
        with translated_errors():
            found = await (
                self._decisions.find({"_id": ids})
                .sort("_id", ASCENDING)
                .limit(MAX_LISTED_DECISIONS + 1)
                .to_list()
            )
        shown = [
            StoredDecision(
                number=each["number"],
                decided_at=each["decided_at"],
                key_id=each["by"],
                decision=orjson.loads(self._opened(each, each["_id"])),
            )
            for each in found[:MAX_LISTED_DECISIONS]
        ]
        return DecisionList(decisions=tuple(shown), has_more=len(found) > MAX_LISTED_DECISIONS)

    async def delete(self, owner: str, file_id: str) -> bool:
        """Deletes a file with its parts and decisions; False if the owner has none with this id."""
        with translated_errors():
            deleted = await self._files.delete_one({"_id": file_id, "owner": owner})
            if not deleted.deleted_count:
                return False
            # "0" follows "/", with which the rest of the ids begins.
            of_file = {"_id": {"$gt": f"{file_id}/", "$lt": f"{file_id}0"}}
            await self._parts.delete_many(of_file)
            await self._decisions.delete_many(of_file)
        return True

    def _file(self, document: Document) -> CustomerFile:
        name = self._opened(document, document["_id"]).decode()
        known = {"id": CustomerFileId(document["_id"]), "name": name}
        return CustomerFile.model_validate({**document, **known})

    def _sealed(self, content: bytes, associated: str) -> Document:
        return asdict(self._keys.seal_bytes(content, associated))

    def _opened(self, document: Document, associated: str) -> bytes:
        return self._keys.unseal_bytes(sealed_of(document), associated)


def _part_id(file_id: str, number: int) -> str:
    return f"{file_id}/{number:03d}"


def _decision_id(file_id: str, number: int) -> str:
    return f"{file_id}/{number:06d}"


async def reseal_files(database: Database, keys: SecretKeys) -> tuple[int, Sequence[str]]:
    """Encrypts with the newest key what an older one has; returns how much, and what stays closed.

    Raises `Unavailable`. What changes meanwhile is left for another run.
    """
    done, failed = 0, list[str]()
    for name in (FILES, FILE_PARTS, FILE_DECISIONS):
        collection = database[name]
        while True:
            older = {"key_id": {"$ne": keys.newest_id}, "_id": {"$nin": failed}}
            with translated_errors():
                found = await collection.find(older).limit(_BATCH).to_list()
            if not found:
                break
            for document in found:
                sealed = sealed_of(document)
                try:
                    opened = keys.unseal_bytes(sealed, document["_id"])
                except CannotUnseal:
                    failed.append(document["_id"])
                    continue
                unchanged = {"_id": document["_id"], "nonce": sealed.nonce}
                again = asdict(keys.seal_bytes(opened, document["_id"]))
                with translated_errors():
                    await collection.update_one(unchanged, {"$set": again})
                done += 1
    return done, failed
