"""A gateway with the default policy, over fakes, and clients that start fast."""

from collections.abc import AsyncIterator, Iterator

import pytest
import trustme

from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway


@pytest.fixture(scope="session", autouse=True)
def _few_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each client reads all certificates that its machine trusts; one of no use is read faster."""
    file = tmp_path_factory.mktemp("authorities") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(name="gateway")
async def _gateway() -> AsyncIterator[Gateway]:
    async with a_gateway() as running:
        yield running
