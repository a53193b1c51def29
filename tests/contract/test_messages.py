"""Messages between services.

Changing a golden file is changing the interface between services that run in different versions.
"""

from pathlib import Path
from typing import Any

import orjson
import ormsgpack
import pytest
from pydantic import ValidationError

from common.contracts.contract import Contract
from common.contracts.events import (
    EventReply,
    EventRequest,
    FeedNotice,
    FeedPage,
    FeedRequest,
    RegistryEvent,
    encode_event,
)
from common.contracts.find import FindReply, FindRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    SourcesReply,
    SourcesRequest,
    SuggestionList,
    SuggestReply,
    SuggestRequest,
)
from common.contracts.match import MatchReply, MatchRequest
from common.contracts.topology import DeliveryTasks
from common.contracts.watchlists import (
    KnownReply,
    KnownRequest,
    LinkReply,
    LinkRequest,
    WatchedReply,
    WatchedRequest,
)
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.contracts.webhooks import (
    Attempt,
    WebhookId,
    WebhookWithSecret,
    decode_addressed,
    encode_for,
)

GOLDEN = Path(__file__).parent / "golden"

#: Bodies of replies.
BODIES: dict[str, type[Contract]] = {
    "webhook_answer": WebhookWithSecret,
    "webhook_attempt": Attempt,
}
MESSAGES: dict[str, type[Contract]] = {
    "lookup_request": LookupRequest,
    "lookup_reply": LookupReply,
    "suggest_request": SuggestRequest,
    "suggest_reply": SuggestReply,
    "part_request": PartRequest,
    "part_reply": PartReply,
    "find_request": FindRequest,
    "find_reply": FindReply,
    "match_request": MatchRequest,
    "match_reply": MatchReply,
    "feed_request": FeedRequest,
    "feed_page": FeedPage,
    "feed_notice": FeedNotice,
    "event_request": EventRequest,
    "event_reply": EventReply,
    "sources_request": SourcesRequest,
    "sources_reply": SourcesReply,
    "watched_request": WatchedRequest,
    "watched_reply": WatchedReply,
    "link_request": LinkRequest,
    "link_reply": LinkReply,
    "known_request": KnownRequest,
    "known_reply": KnownReply,
    "webhook_request": WebhookRequest,
    "webhook_reply": WebhookReply,
    "delivery_tasks": DeliveryTasks,
}

#: Fields that are stored and not public.
PRIVATE = {"webhook_answer": {"owner": "prøvefirma", "host": "hooks.example.com"}}


def golden(name: str) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads((GOLDEN / f"{name}.json").read_bytes())
    return document


def read(name: str, **more: Any) -> Contract:
    kind = {**MESSAGES, **BODIES}[name]
    return kind.model_validate({**golden(name), **PRIVATE.get(name, {}), **more})


@pytest.mark.parametrize("name", [*MESSAGES, *BODIES])
def test_a_message_is_read_and_written_back_the_same(name: str) -> None:
    assert read(name).model_dump(mode="json") == golden(name)


@pytest.mark.parametrize("name", [*MESSAGES, *BODIES])
def test_a_field_of_a_newer_version_is_ignored(name: str) -> None:
    assert read(name, added_later=1) == read(name)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_crosses_the_broker_unchanged(name: str) -> None:
    message = read(name)

    crossed = ormsgpack.unpackb(ormsgpack.packb(message.model_dump()))

    assert MESSAGES[name].model_validate(crossed) == message


def test_the_body_of_suggestions_is_their_public_list() -> None:
    body = orjson.loads(golden("suggest_reply")["body"])

    assert SuggestionList.model_validate(body).model_dump(mode="json") == body


@pytest.mark.parametrize("limit", [0, 21])
def test_more_or_fewer_suggestions_than_there_can_be_are_no_request(limit: int) -> None:
    with pytest.raises(ValidationError):
        read("suggest_request", limit=limit)


@pytest.mark.parametrize(
    "after", ["", "latest", "ffffffffffffffff.", "ffffffffffffffff" + ".1" * 21]
)
def test_another_text_than_a_cursor_is_no_request_for_suggestions(after: str) -> None:
    with pytest.raises(ValidationError):
        read("suggest_request", after=after)


def test_another_version_of_delivery_tasks_is_not_understood() -> None:
    with pytest.raises(ValidationError, match="v"):
        read("delivery_tasks", v=2)


def test_delivery_tasks_carry_ids_and_nothing_else() -> None:
    [task] = golden("delivery_tasks")["tasks"]

    assert set(task) == {"delivery_id", "webhook_id", "attempt"}


def test_the_address_of_a_test_event_is_not_part_of_its_body() -> None:
    facts = golden("webhook_test_event")
    webhook_id = WebhookId(facts.pop("webhook_id"))
    sent = RegistryEvent(id=facts["id"], type=facts["type"], occurred_at=facts["occurred_at"])

    message = encode_for(webhook_id, sent)
    event, public = decode_addressed(message)

    assert orjson.loads(message) == golden("webhook_test_event")
    assert event.webhook_id == webhook_id
    assert public == encode_event(sent) == orjson.dumps(facts)


def test_an_event_for_all_is_stored_just_as_it_came() -> None:
    message = encode_event(RegistryEvent.model_validate(golden("webhook_test_event")))

    event, public = decode_addressed(message)

    assert event.webhook_id is None
    assert public == message


@pytest.mark.parametrize("name", ["webhook_answer", "webhook_reply"])
def test_a_message_that_may_hold_a_secret_shows_none_of_it_in_a_text(name: str) -> None:
    message = read(name)

    assert "whsec_" not in repr(message)
    assert "delivery_id" not in repr(message)
