"""A webhook receiver for trials: it verifies each delivery, and prints it."""

import importlib.util
import json
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from local_stack import SetupError, ports
from local_stack.certificates import Certificates

#: The verifier from the documentation.
_VERIFIER = Path(__file__).resolve().parents[3] / "docs" / "webhooks" / "verify.py"
_REJECTED = "Rejected: it is not signed with the webhook's secret, or not of now."
_SHOWN = ("X-Timestamp", "X-Delivery-Id", "X-Signature", "X-Signature-Previous")

Verify = Callable[[str, Mapping[str, str], bytes], bool]


def receive(certificates: Certificates, *, host: str, port: int, secret: str) -> None:
    """Serves HTTPS until Ctrl-C; raises SetupError when the port is taken.

    Without a secret every delivery is accepted and printed as unverified.
    """
    if not ports.is_free(port):
        raise SetupError(f"Port {port} is taken by another program: choose one with --port …")
    verify = _verifier()

    async def take(request: web.Request) -> web.Response:
        body = await request.read()
        if secret and not verify(secret, request.headers, body):
            print(_REJECTED, flush=True)
            return web.Response(status=401)
        word = "signed with the webhook's secret" if secret else "unverified: no secret was given"
        print(_told(request.headers, body, word), flush=True)
        return web.Response(status=204)

    async def greet(_request: web.Request) -> web.Response:
        return web.Response(text="Ready for deliveries.\n")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    app = web.Application()
    app.router.add_post("/{path:.*}", take)
    app.router.add_get("/{path:.*}", greet)
    web.run_app(app, host=host, port=port, ssl_context=context, access_log=None, print=None)


def _verifier() -> Verify:
    spec = importlib.util.spec_from_file_location("verify", _VERIFIER)
    if spec is None or spec.loader is None:
        raise SetupError(f"{_VERIFIER} is missing.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    verify: Verify = module.verify
    return verify


def _told(headers: Mapping[str, str], body: bytes, word: str) -> str:
    event: dict[str, Any] = json.loads(body)
    signed = [f"{name}: {headers[name]}" for name in _SHOWN if name in headers]
    shown = json.dumps(event, indent=4, ensure_ascii=False)
    return "\n".join([f"{event['type']}, {word}", *signed, shown])
