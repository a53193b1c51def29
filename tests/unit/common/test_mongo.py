"""Translation of the database driver's errors, and the end of a client."""

import asyncio

import pytest
from pymongo import AsyncMongoClient
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
    WTimeoutError,
)

from common.contracts.failures import Unavailable
from common.mongo import connected, translated_errors

UNKNOWN_MODE = 79


@pytest.mark.parametrize(
    "error",
    [
        AutoReconnect("gone"),
        OperationFailure("too slow", code=50),
        OperationFailure("Authentication failed.", code=18),
        OperationFailure("not authorized", code=13),
        WTimeoutError("too slow", code=64),
        *(
            WriteConcernError("no majority", code=code)
            for code in (91, 189, 11600, 11602, 10107, 13435, 13436, 64)
        ),
        BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 189}]}),
    ],
    ids=repr,
)
def test_retryable_errors_are_unavailable(error: PyMongoError) -> None:
    with pytest.raises(Unavailable), translated_errors():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        OperationFailure("no such operator", code=2),
        WriteConcernError("no such mode", code=UNKNOWN_MODE),
        BulkWriteError({"writeErrors": [{"code": 121}], "writeConcernErrors": []}),
    ],
    ids=repr,
)
def test_permanent_errors_are_raised_unchanged(error: PyMongoError) -> None:
    with pytest.raises(type(error)), translated_errors():
        raise error


async def test_a_database_that_does_not_answer_delays_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def close(_client: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(AsyncMongoClient, "close", close)
    monkeypatch.setattr("common.mongo.CLOSE_TIMEOUT", 0.01)

    async with asyncio.timeout(5), connected("mongodb://127.0.0.1:1/", name="test"):
        pass
