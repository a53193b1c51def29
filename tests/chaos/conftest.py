"""Pipelines over servers that a test may stop, kill and start."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from local_stack.servers import BrokerAddress
from tests.conftest import DatabaseNames
from tests.delivery.pipeline import Pipeline, pipeline


@pytest.fixture
def broker_management(stoppable_broker: RabbitMQ) -> Management:
    """The HTTP API of the broker that may be stopped."""
    return Management(stoppable_broker.management_url)


@pytest.fixture
def own_vhost(broker_management: Management, stoppable_broker: RabbitMQ) -> Iterator[str]:
    """A virtual host of the test's own on the broker that may be stopped."""
    name = f"chaos-{uuid.uuid4().hex}"
    broker_management.create_vhost(name)
    yield name
    if not stoppable_broker.running:
        stoppable_broker.start()
    broker_management.delete_vhost(name)


@pytest.fixture
def own_amqp_url(stoppable_broker: RabbitMQ, own_vhost: str) -> str:
    return BrokerAddress(stoppable_broker.amqp_url, stoppable_broker.management_url).vhost_url(
        own_vhost
    )


@pytest.fixture
async def pipe(
    tmp_path: Path, own_amqp_url: str, mongo_url: str, database_names: DatabaseNames
) -> AsyncIterator[Pipeline]:
    """A pipeline whose broker may be stopped."""
    async with pipeline(
        tmp_path, amqp_url=own_amqp_url, mongo_url=mongo_url, webhooks_db=database_names.webhooks
    ) as opened:
        yield opened


@pytest.fixture
async def pipe_on_one_member(
    tmp_path: Path, own_amqp_url: str, stoppable_mongo: ReplicaSet
) -> AsyncIterator[Pipeline]:
    """A pipeline whose database may be away altogether."""
    async with _pipeline_on(stoppable_mongo, tmp_path, own_amqp_url) as opened:
        yield opened


@pytest.fixture
async def pipe_on_three_members(
    tmp_path: Path, own_amqp_url: str, three_members: ReplicaSet
) -> AsyncIterator[Pipeline]:
    """A pipeline whose database may lose its primary and elect another."""
    async with _pipeline_on(three_members, tmp_path, own_amqp_url) as opened:
        yield opened


def _pipeline_on(
    members: ReplicaSet, folder: Path, amqp_url: str
) -> AbstractAsyncContextManager[Pipeline]:
    name = f"webhooks-{uuid.uuid4().hex}"
    return pipeline(folder, amqp_url=amqp_url, mongo_url=members.url, webhooks_db=name)
