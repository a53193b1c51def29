"""A gateway with the default policy, over fakes."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway


@pytest.fixture(name="gateway")
async def _gateway() -> AsyncIterator[Gateway]:
    async with a_gateway() as running:
        yield running
