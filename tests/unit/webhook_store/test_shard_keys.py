"""Deliveries and attempts can be sharded by their webhook."""

from typing import Any

import pytest

from tests.shard_keys import filters_without_key
from webhook_store.collections import ATTEMPTS, DELIVERIES
from webhook_store.indexes import INDEXES

BY_ID = {"_id": {"$in": ["delivery"]}}
WHOLE = {**BY_ID, "webhook_id": {"$in": ["wh_1"]}}


@pytest.mark.parametrize(
    "name, command",
    [
        ("find", {"find": DELIVERIES, "filter": BY_ID}),
        ("findAndModify", {"findAndModify": DELIVERIES, "query": BY_ID}),
        ("distinct", {"distinct": ATTEMPTS, "query": {}}),
        ("update", {"update": ATTEMPTS, "updates": [{"q": WHOLE}, {"q": BY_ID}]}),
        ("delete", {"delete": DELIVERIES, "deletes": [{"q": BY_ID}]}),
        ("aggregate", {"aggregate": DELIVERIES, "pipeline": [{"$group": {}}]}),
    ],
)
def test_a_filter_without_the_shard_key_is_reported(name: str, command: dict[str, Any]) -> None:
    assert len(filters_without_key(name, command)) == 1


@pytest.mark.parametrize(
    "name, command",
    [
        ("find", {"find": DELIVERIES, "filter": WHOLE}),
        ("find", {"find": "events", "filter": BY_ID}),
        ("distinct", {"distinct": DELIVERIES, "query": {"event_id": {"$in": ["event"]}}}),
        ("insert", {"insert": DELIVERIES}),
    ],
)
def test_other_commands_are_not(name: str, command: dict[str, Any]) -> None:
    assert filters_without_key(name, command) == []


@pytest.mark.parametrize("collection", [DELIVERIES, ATTEMPTS])
def test_only_the_id_is_unique(collection: str) -> None:
    # On a sharded collection another unique key would have to begin with the shard key.
    assert not [index for index in INDEXES[collection] if index.document.get("unique")]
