"""The receiver of these tests: it has the certificate that `make run` makes for one."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from local_stack.certificates import Certificates
from tests.delivery.receiver import Receiver


@asynccontextmanager
async def receiving(certificates: Certificates) -> AsyncIterator[Receiver]:
    """Receives for the body's time; it checks signatures as tests.delivery.verifying does."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    receiver = Receiver(0, certificates.ca_file)
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        receiver.port = runner.addresses[0][1]
        yield receiver
    finally:
        await runner.cleanup()
