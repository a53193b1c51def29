"""The pages that messages about watchlists link to: to confirm an address, and to unsubscribe.

Programs that scan mail follow links, so a page changes nothing until its button is pressed. Mail
programs unsubscribe with the same POST, without a page (RFC 8058). The token in the link is the
only credential; neither it nor its hash is in a log, a metric or a trace.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Annotated, Final, Protocol
from urllib.parse import urlencode

from aiohttp import hdrs, web
from pydantic import PlainValidator

from common.contracts.watchlists import DigestState, LinkAction, LinkReply, LinkRequest
from common.domain.appearance import STYLE, document
from common.domain.displayed import displayed
from gateway.access.authentication import Authenticator, too_many
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import Query, boolean
from gateway.http.responses import NO_STORE
from gateway.problems import DigestNotFound

#: The style alone is applied, and nothing is run or loaded.
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
    "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class _EndQuery(Query):
    """The query of a link that ends a subscription, beside its token."""

    #: Ends everything of the owner to the address.
    everything: Annotated[bool, PlainValidator(boolean)] = False


class DigestLinks(Protocol):
    """Carries out uses of links; the webhook registry has the subscriptions."""

    async def use_link(self, request: LinkRequest, *, caller: Caller) -> LinkReply:
        """Returns the subscription after the action.

        Raises DigestNotFound, ServiceUnavailable, LookupTimeout or InternalError; bounded by a
        timeout.
        """


@dataclass(frozen=True, slots=True)
class DigestPages:
    """The handlers of the pages."""

    links: DigestLinks
    authenticator: Authenticator

    async def show_confirmation(self, request: web.Request) -> web.Response:
        """Asks the recipient to confirm; changes nothing."""
        return _page(_confirmation(await self._use(request, LinkAction.SHOW)))

    async def confirm(self, request: web.Request) -> web.Response:
        """Confirms the address."""
        return _page(_confirmation(await self._use(request, LinkAction.CONFIRM)))

    async def show_end(self, request: web.Request) -> web.Response:
        """Asks the recipient to end the subscription; changes nothing."""
        query = _EndQuery.parse(parameters_of(request))
        found = await self._use(request, LinkAction.SHOW)
        return _page(_end(found, request.query, everything=query.everything))

    async def end(self, request: web.Request) -> web.Response:
        """Ends the subscription, or all of the owner's to the address.

        At the request of a person or of a mail program.
        """
        everything = _EndQuery.parse(parameters_of(request)).everything
        action = LinkAction.REFUSE if everything else LinkAction.UNSUBSCRIBE
        found = await self._use(request, action)
        return _page(_end(found, request.query, everything=everything))

    async def _use(self, request: web.Request, action: LinkAction) -> LinkReply | None:
        token = request.query.get("token", "")
        token_hash = sha256(token.encode("utf-8", "replace")).hexdigest()
        context = request[REQUEST_CONTEXT]
        context.quota = self.authenticator.count_token(request, token_hash)
        if not context.quota.allowed:
            raise too_many(context.quota)
        if not token:
            return None
        use = LinkRequest(
            digest_id=request.match_info["digest_id"], token_hash=token_hash, action=action
        )
        caller = context.caller._replace(client=f"token:{token_hash[:16]}")
        try:
            found = await self.links.use_link(use, caller=caller)
        except DigestNotFound:
            return None
        self.authenticator.prove_token(request)
        return found


_NOT_VALID: Final = (
    404,
    "<h1>This link is not valid any more.</h1><p>The subscription has ended or was removed.</p>",
)


def _confirmation(found: LinkReply | None) -> tuple[int, str]:
    if found is None or found.state is DigestState.ENDED:
        return _NOT_VALID
    is_open = found.state is DigestState.UNCONFIRMED
    heading = "Receive news by e-mail?" if is_open else "Your address is confirmed."
    body = f"<h1>{heading}</h1>"
    names = "".join(f"<li>{_shown(name)}</li>" for name in found.watchlists)
    if found.more:
        names += f"<li>and {found.more} more</li>"
    body += f"<p>News of companies goes to {escape(found.address)}, about these lists:</p>"
    body += f"<ul>{names}</ul>"
    if is_open:
        return 200, f"{body}{_button('Confirm')}<p>If you do not know of this, do nothing.</p>"
    return 200, f"{body}<p>Each message has a link to unsubscribe.</p>"


def _end(found: LinkReply | None, query: Mapping[str, str], *, everything: bool) -> tuple[int, str]:
    if found is None:
        return _NOT_VALID
    sender = f"everything of the customer {_shown(found.owner)} to {escape(found.address)}"
    about = f"messages about {_shown(found.watchlists[0])} to {escape(found.address)}"
    if everything:
        if found.state is DigestState.ENDED:
            return 200, (
                f"<h1>You are unsubscribed.</h1><p>This ended {sender}. Nothing more is sent "
                "unless you confirm again.</p>"
            )
        return 200, f"<h1>Unsubscribe?</h1><p>This ends {sender}.</p>{_button('Unsubscribe')}"
    # A service of an earlier release cannot end everything, and names no owner.
    token = escape(urlencode({"token": query.get("token", ""), "everything": "true"}))
    other = f"<p>Or end {sender}:</p>{_button('End everything', f'?{token}')}"
    if not found.owner:
        other = ""
    if found.state is DigestState.ENDED:
        return 200, f"<h1>You are unsubscribed.</h1><p>No more {about}.</p>{other}"
    return 200, f"<h1>Unsubscribe?</h1><p>This ends {about}.</p>{_button('Unsubscribe')}{other}"


def _shown(text: str) -> str:
    return escape(displayed(text))


def _button(text: str, address: str = "") -> str:
    # Without an action the form is posted to the address of the page, with its token.
    action = f' action="{address}"' if address else ""
    return f'<form method="post"{action}><button type="submit">{text}</button></form>'


def _page(page: tuple[int, str]) -> web.Response:
    status, body = page
    shown = document(
        "News by e-mail – Company Registry",
        f'<div class="card">{body}</div>',
        head='<meta name="robots" content="noindex">',
    )
    headers = {
        hdrs.CONTENT_TYPE: "text/html; charset=utf-8",
        hdrs.CACHE_CONTROL: NO_STORE,
        hdrs.REFERRER_POLICY: "no-referrer",
        hdrs.CONTENT_SECURITY_POLICY: _POLICY,
    }
    return web.Response(status=status, body=shown.encode(), headers=headers)
