"""Fixtures of the integration tests."""

from collections.abc import AsyncIterator

import pytest

from common.mongo import Database
from tests.builders.loading import Loader
from tests.builders.outbox import Outbox
from tests.conftest import DatabaseNames
from tests.syncing.world import World, a_world


@pytest.fixture
async def world(mongo_url: str, database_names: DatabaseNames) -> AsyncIterator[World]:
    """Registers of 25 companies each over HTTP, and an empty database that follows them."""
    async with a_world(mongo_url, database_names.register) as world:
        yield world


@pytest.fixture
def outbox(register_db: Database) -> Outbox:
    """The empty outbox of a register, and the bus that it publishes to."""
    return Outbox(register_db)


@pytest.fixture
def store(register_db: Database) -> Loader:
    """An empty register into which records are loaded."""
    return Loader(register_db)
