"""Operations on files of customers, which the service keeps without reading them (ADR 0152)."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

import orjson
from pydantic import PlainValidator

from common.contracts.customer_files import (
    MAX_DECISION_SIZE,
    MAX_DECISIONS,
    MAX_PARTS,
    CustomerFile,
    CustomerFileId,
    CustomerFileList,
    StoredDecision,
)
from common.contracts.webhook_api import Operation, WebhookReply, WebhookRequest
from common.domain.sentences import counted
from webhook_registry.idempotency import Clock
from webhook_registry.replies import (
    CREATED,
    CUSTOMER_FILE_NOT_FOUND,
    CUSTOMER_PART_NOT_FOUND,
    NO_CONTENT,
    OK,
    InvalidValue,
    Rejected,
    customer_file_limit_reached,
    invalid_body,
    reply,
)
from webhook_registry.webhook_bodies import Body
from webhook_store.customer_files import CustomerFiles

MAX_NAME: Final = 200
MAX_ROWS: Final = 1_000_000
_PART: Final = re.compile("0|[1-9][0-9]{0,2}")


def _read_name(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not 1 <= len(text) <= MAX_NAME or not text.isprintable():
        raise InvalidValue(f"give one line of 1 to {MAX_NAME} characters")
    return text


def _read_rows(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_ROWS:
        raise InvalidValue(f"give a whole number from 0 to {MAX_ROWS}")
    return value


class NewFile(Body):
    """A file to keep."""

    name: Annotated[str, PlainValidator(_read_name)]
    rows: Annotated[int, PlainValidator(_read_rows)]


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How long files are kept, and how many, of how many stored bytes together, of an owner."""

    retention: timedelta
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class FileOperations:
    """Operations on the files of an owner; each raises Rejected or Unavailable."""

    files: CustomerFiles
    now: Clock
    limits: FileLimits

    async def create(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the file, which has no parts yet."""
        new = NewFile.parse(request.body)
        now, file_id = self.now(), CustomerFileId(f"cf_{request.call_id.hex}")
        found = await self.files.of_owner(request.owner, at=now)
        if len(found) >= self.limits.files and file_id not in {one.id for one in found}:
            most = counted(self.limits.files, "file")
            raise customer_file_limit_reached(f"you have {most} of customers; delete one first")
        file = CustomerFile(
            id=file_id,
            owner=request.owner,
            name=new.name,
            rows=new.rows,
            created_at=now,
            created_by=request.key_id,
            expires_at=now + self.limits.retention,
        )
        await self.files.create(file)
        return reply(CREATED, file, location=Operation.GET_FILE.path.format(file_id=file_id))

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the files, newest first."""
        found = await self.files.of_owner(request.owner, at=self.now())
        return reply(OK, CustomerFileList(customer_files=tuple(found)))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the file."""
        return reply(OK, await self._owned(request))

    async def delete(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204; the parts and decisions are deleted with the file."""
        if not await self.files.delete(request.owner, request.file_id):
            raise Rejected(CUSTOMER_FILE_NOT_FOUND)
        return WebhookReply(status=NO_CONTENT)

    async def show_part(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a part as it was written."""
        number = _part_of(request)
        content = await self.files.part(await self._owned(request), number)
        if content is None:
            raise Rejected(CUSTOMER_PART_NOT_FOUND)
        return WebhookReply(status=OK, body=content)

    async def put_part(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204; the part is stored, or replaced."""
        number, now = _part_of(request), self.now()
        _json(request.body)
        file = await self._owned(request)
        held = sum(one.size for one in await self.files.of_owner(request.owner, at=now))
        if held + len(request.body) > self.limits.size:
            most = counted(self.limits.size // 2**20, "MiB").removesuffix("s")
            raise customer_file_limit_reached(
                f"your files of customers may take {most} together; delete one first"
            )
        await self.files.put_part(file, number, request.body)
        return WebhookReply(status=NO_CONTENT)

    async def decide(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the decision, its number, time and key."""
        decision = _json(request.body)
        if not isinstance(decision, dict) or len(request.body) > MAX_DECISION_SIZE:
            raise invalid_body(f"give a JSON object of at most {MAX_DECISION_SIZE // 1024} KiB")
        file, now = await self._owned(request), self.now()
        number = await self.files.add_decision(file, decision, at=now, key_id=request.key_id)
        if number is None:
            raise customer_file_limit_reached(
                f"a file has at most {counted(MAX_DECISIONS, 'decision')}"
            )
        made = StoredDecision(
            number=number, decided_at=now, key_id=request.key_id, decision=decision
        )
        return reply(CREATED, made)

    async def list_decisions(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a page of decisions, the oldest first."""
        file = await self._owned(request)
        return reply(OK, await self.files.decisions(file, after=request.after))

    async def _owned(self, request: WebhookRequest) -> CustomerFile:
        file = await self.files.find(request.owner, request.file_id, at=self.now())
        if file is None:
            raise Rejected(CUSTOMER_FILE_NOT_FOUND)
        return file


def _part_of(request: WebhookRequest) -> int:
    if not _PART.fullmatch(request.part) or int(request.part) >= MAX_PARTS:
        raise Rejected(CUSTOMER_PART_NOT_FOUND)
    return int(request.part)


def _json(body: bytes) -> object:
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body("the body is not JSON") from None
    return document
