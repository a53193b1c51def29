"""Messages between gateway and lookup service.

Changing a golden file is changing the interface between services that run in different versions.
"""

from pathlib import Path
from typing import Any

import orjson
import ormsgpack
import pytest
from pydantic import ValidationError

from common.contracts.contract import Contract
from common.contracts.feed import EventReply, EventRequest, FeedNotice, FeedPage, FeedRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    SuggestionList,
    SuggestReply,
    SuggestRequest,
)

GOLDEN = Path(__file__).parent / "golden"

MESSAGES: dict[str, type[Contract]] = {
    "lookup_request": LookupRequest,
    "lookup_reply": LookupReply,
    "suggest_request": SuggestRequest,
    "suggest_reply": SuggestReply,
    "feed_request": FeedRequest,
    "feed_page": FeedPage,
    "feed_notice": FeedNotice,
    "event_request": EventRequest,
    "event_reply": EventReply,
}


def golden(name: str) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads((GOLDEN / f"{name}.json").read_bytes())
    return document


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_read_and_written_back_the_same(name: str) -> None:
    message = MESSAGES[name].model_validate(golden(name))

    assert message.model_dump(mode="json") == golden(name)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_field_of_a_newer_version_is_ignored(name: str) -> None:
    message = MESSAGES[name].model_validate({**golden(name), "added_later": 1})

    assert message == MESSAGES[name].model_validate(golden(name))


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_crosses_the_broker_unchanged(name: str) -> None:
    message = MESSAGES[name].model_validate(golden(name))

    crossed = ormsgpack.unpackb(ormsgpack.packb(message.model_dump()))

    assert MESSAGES[name].model_validate(crossed) == message


def test_the_body_of_suggestions_is_their_public_list() -> None:
    body = orjson.loads(golden("suggest_reply")["body"])

    assert SuggestionList.model_validate(body).model_dump(mode="json") == body


@pytest.mark.parametrize("limit", [0, 21])
def test_more_or_fewer_suggestions_than_there_can_be_are_no_request(limit: int) -> None:
    with pytest.raises(ValidationError):
        SuggestRequest.model_validate({**golden("suggest_request"), "limit": limit})
