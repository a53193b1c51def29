"""Late, truncated and complete request bodies."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from gateway.adapters.http.bodies import body_of
from gateway.domain.problems import InvalidBody


def a_request() -> tuple[web.Request, StreamReader]:
    """A request whose body has not arrived."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.connection_made(asyncio.Transport())
    body = StreamReader(protocol, 2**16, loop=loop)
    return make_mocked_request("POST", "/api/batch", payload=body), body


async def test_a_body_that_does_not_arrive_times_out() -> None:
    request, body = a_request()
    body.feed_data(b"{")

    with pytest.raises(InvalidBody, match=r"within 0\.01 s"):
        await body_of(request, timeout=0.01)


@pytest.mark.parametrize("error", [web.RequestPayloadError(), ConnectionResetError()])
async def test_a_truncated_body_is_the_clients_error(error: Exception) -> None:
    request, body = a_request()
    body.set_exception(error)

    with pytest.raises(InvalidBody):
        await body_of(request)


async def test_a_body_is_read_to_its_end() -> None:
    request, body = a_request()
    body.feed_data(b"{")
    body.feed_data(b"}")
    body.feed_eof()

    assert await body_of(request) == b"{}"
