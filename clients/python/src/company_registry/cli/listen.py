"""`listen`: events posted to the developer's own machine."""

import base64
import json
import secrets
import time
import uuid
from functools import partial
from typing import Annotated

import httpx
import typer

from company_registry.cli.events import (
    After,
    Companies,
    Count,
    Countries,
    Types,
    heading,
    say_outage,
    until_interrupted,
)
from company_registry.cli.files import values
from company_registry.cli.output import plain
from company_registry.cli.session import Exit, Session
from company_registry.models import Event
from company_registry.sender import is_http_url
from company_registry.signatures import SECRET_PREFIX, signed_headers

#: Seconds that the developer's machine has to respond, as of the service.
_TIMEOUT = 10.0


def listen(  # noqa: PLR0913 (the command's options)
    session: Session,
    forward: Annotated[str, typer.Option(help="URL on your machine, http://localhost:3000/hook.")],
    *,
    types: Types = [],  # noqa: B006 (Typer copies it)
    countries: Countries = [],  # noqa: B006
    companies: Companies = [],  # noqa: B006
    after: After = None,
    secret: Annotated[
        str | None, typer.Option(help="Signing secret; by default a new one is made.")
    ] = None,
    count: Count = None,
) -> None:
    """Post each event to your own machine, signed like a delivery, and show each response.

    Nothing needs to reach your machine: the events are pulled.
    """
    key = secret or SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    target = _Target(session, forward, key)
    session.note(f"Forwarding to {forward}; Ctrl-C ends it.")
    if secret is None:
        session.note(f"Signing secret: {key}")
    with session.client() as client, until_interrupted():
        for event in client.events(
            after or "latest",
            types=types,
            countries=[each.value for each in countries],
            companies=values(session, companies),
            count=count,
            on_outage=partial(say_outage, session),
        ):
            target.post(event)


class _Target:
    """The developer's endpoint."""

    def __init__(self, session: Session, url: str, secret: str) -> None:
        if not is_http_url(url):
            session.fail("--forward must be a URL such as http://localhost:3000/hook", Exit.USAGE)
        self._session, self._url, self._secret = session, url, secret

    def post(self, event: Event) -> None:
        """Posts an event once and shows the response; a failure is shown, not repeated."""
        body = json.dumps(plain(event), ensure_ascii=False, separators=(",", ":")).encode()
        delivery_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{event.id} {self._url}"))
        headers = signed_headers(
            self._secret, delivery_id=delivery_id, body=body, timestamp=int(time.time())
        )
        begun = time.monotonic()
        status, error = None, None
        try:
            status = self._status(body, headers)
        except httpx.TimeoutException:
            error = f"no response within {_TIMEOUT:g} s"
        except httpx.RequestError:
            error = "no connection"
        milliseconds = round((time.monotonic() - begun) * 1000)
        self._show(event, delivery_id, status, error, milliseconds)

    def _status(self, body: bytes, headers: dict[str, str]) -> int:
        # Only the head is read: a body may have any size.
        with httpx.stream(
            "POST",
            self._url,
            content=body,
            headers={"Content-Type": "application/json", **headers},
            timeout=_TIMEOUT,
            trust_env=False,
        ) as response:
            return response.status_code

    def _show(
        self, event: Event, delivery_id: str, status: int | None, error: str | None, ms: int
    ) -> None:
        if self._session.as_json:
            self._session.print_json(
                {
                    "event": plain(event),
                    "delivery_id": delivery_id,
                    "response_code": status,
                    "error": error,
                    "duration_ms": ms,
                }
            )
            return
        good = status is not None and 200 <= status < 300
        result = f"[{'green' if good else 'red'}]{status or error}[/] {ms} ms"
        self._session.out.print(f"{heading(event)} → {result}", highlight=False, soft_wrap=True)
