"""Late, truncated and complete request bodies."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from common.runtime.public_port.bodies import LateBody
from gateway.http.bodies import body_of
from gateway.problems import InvalidBody


def a_request() -> tuple[web.Request, StreamReader]:
    """A request whose body has not arrived."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.connection_made(asyncio.Transport())
    body = StreamReader(protocol, 2**16, loop=loop)
    return make_mocked_request("POST", "/api/batch", payload=body), body


async def test_a_late_body_says_how_long_it_was_awaited() -> None:
    request, body = a_request()
    body.set_exception(LateBody("the body did not arrive within 10 s"))

    with pytest.raises(InvalidBody, match="within 10 s"):
        await body_of(request)


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
