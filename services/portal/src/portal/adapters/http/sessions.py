"""Sessions: an encrypted cookie with the API key, which never reaches a page."""

import base64
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp_session
from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp_session.cookie_storage import EncryptedCookieStorage
from cryptography.fernet import Fernet, MultiFernet
from pydantic import SecretStr

from common.runtime.public_port.server import LateBody
from portal.adapters.http.ended_sessions import EndedSessions

_ID, _KEY, _NAME, _SCOPES, _SINCE = "id", "key", "name", "scopes", "since"
_PERSON = "person"
_CSRF, _SEEN, _NOTES, _UPLOAD = "csrf", "seen", "notes", "upload"
_LINKS, _UNDO = "note_links", "undo"

#: Fields of a form that is kept in a cookie of 4 KB.
_MAX_UNDONE: Final = 25

#: The form field of the token.
CSRF_FIELD: Final = "csrf"

#: Reads the fields of a form.
ReadForm = Callable[[web.Request], Awaitable[Mapping[str, Any]]]

#: Seconds after which a request renews the idle timeout.
_RENEWAL: Final = 60


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """How sessions are encrypted, and how long they last."""

    #: As base64, separated by commas. The first encrypts; all of them decrypt.
    keys: SecretStr
    is_secure: bool
    idle_timeout: timedelta
    lifetime: timedelta


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The signed-in user."""

    key: str
    #: Shown on the pages: the key's owner, or its id.
    name: str
    #: Of the key: `lookup`, `webhooks`, `events`, `export`.
    scopes: tuple[str, ...]
    #: The id of the session, once it has begun.
    session: str = ""
    #: The name that the person gave at the sign-in, for decisions.
    person: str = ""


class _RotatedFernet(Fernet):
    """Encrypts with the first of several keys."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        encoded = [base64.urlsafe_b64encode(key) for key in keys]
        super().__init__(encoded[0])
        self._all = MultiFernet([Fernet(key) for key in encoded])

    def decrypt(self, token: bytes | str, ttl: int | None = None) -> bytes:
        return self._all.decrypt(token, ttl)


def session_cipher(policy: SessionPolicy) -> Fernet:
    """Encrypts with the first of the keys, and decrypts with all of them."""
    return _RotatedFernet(list(map(base64.b64decode, policy.keys.get_secret_value().split(","))))


def ended_sessions(policy: SessionPolicy, *, now: Callable[[], float]) -> EndedSessions:
    """Keeps ended sessions as long as a cookie that was renewed at the end can be valid."""
    kept = policy.idle_timeout.total_seconds() + _RENEWAL
    return EndedSessions(session_cipher(policy), kept=kept, now=now)


def session_storage(policy: SessionPolicy) -> EncryptedCookieStorage:
    """Encrypts sessions into a cookie that scripts cannot read and other sites cannot send."""
    return EncryptedCookieStorage(
        session_cipher(policy),
        # The prefix ties the cookie to this host and to HTTPS.
        cookie_name="__Host-portal" if policy.is_secure else "portal",
        max_age=int(policy.idle_timeout.total_seconds()),
        secure=policy.is_secure,
        httponly=True,
        samesite="Lax",
    )


async def signed_in(
    request: web.Request, policy: SessionPolicy, ended: EndedSessions
) -> SignedIn | None:
    """Returns the session's key and renews its idle timeout; None if there is no valid one."""
    session = await aiohttp_session.get_session(request)
    if _KEY not in session:
        return None
    now = time.time()
    # The time of creation in the cookie is that of its last change.
    is_late = now - session.get(_SINCE, 0) > policy.lifetime.total_seconds()
    if is_late or session.get(_ID) in ended:
        session.invalidate()
        return None
    if now - session.get(_SEEN, 0) > _RENEWAL:
        session[_SEEN] = int(now)
    scopes = tuple(session.get(_SCOPES, ()))
    person = session.get(_PERSON, "")
    return SignedIn(session[_KEY], session[_NAME], scopes, session.get(_ID, session[_KEY]), person)


async def sign_in(request: web.Request, user: SignedIn) -> None:
    """Begins a session with a key that the API has accepted."""
    session = await aiohttp_session.new_session(request)
    session[_ID] = secrets.token_urlsafe(16)
    session[_KEY], session[_NAME], session[_SCOPES] = user.key, user.name, list(user.scopes)
    if user.person:
        session[_PERSON] = user.person
    session[_SEEN] = session[_SINCE] = int(time.time())


async def sign_out(request: web.Request, ended: EndedSessions) -> None:
    """Ends the session of the request, for copies of its cookie, too."""
    session = await aiohttp_session.get_session(request)
    if _ID in session:
        ended.end(session[_ID], session[_KEY].partition(".")[0])
    session.invalidate()


async def csrf_token(request: web.Request) -> str:
    """Returns the session's token, which every form carries."""
    session = await aiohttp_session.get_session(request)
    if _CSRF not in session:
        session[_CSRF] = secrets.token_urlsafe(24)
    token: str = session[_CSRF]
    return token


def is_of_another_site(request: web.Request) -> bool:
    """Returns True if the browser says that a page of another origin sent the form.

    Such a request has no cookie (`SameSite`), so a session that its answer sets would replace the
    user's.
    """
    if request.method in (hdrs.METH_GET, hdrs.METH_HEAD):
        return False
    if (site := request.headers.get("Sec-Fetch-Site")) is not None:
        return site not in ("same-origin", "none")
    # Over plain HTTP, and in older browsers, there is only the origin.
    origin = request.headers.get(hdrs.ORIGIN)
    return origin is not None and _host_of(origin) != request.host.lower()


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


async def is_own_form(request: web.Request, read: ReadForm) -> bool:
    """Returns True if a form has the session's token.

    Raises HTTPBadRequest for a form that cannot be read, and HTTPRequestTimeout for a late one.
    """
    session = await aiohttp_session.get_session(request)
    try:
        given = (await read(request)).get(CSRF_FIELD, "")
    except LateBody:
        raise web.HTTPRequestTimeout from None
    except (ValueError, LookupError, HttpProcessingError, web.RequestPayloadError):
        # aiohttp lets the errors of its parsers and of an unknown charset through.
        raise web.HTTPBadRequest from None
    expected = session.get(_CSRF, "")
    return (
        isinstance(given, str)
        and bool(expected)
        and hmac.compare_digest(given.encode(), expected.encode())
    )


async def uploaded(request: web.Request) -> str:
    """Returns the id of the session's file; empty without one."""
    return str((await aiohttp_session.get_session(request)).get(_UPLOAD, ""))


async def remember_upload(request: web.Request, upload_id: str) -> None:
    """Makes a file that of the session."""
    (await aiohttp_session.get_session(request))[_UPLOAD] = upload_id


async def add_note(
    request: web.Request, text: str, *, is_error: bool = False, link: str = ""
) -> None:
    """Adds a message for the next page, maybe with a link to what it is about."""
    session = await aiohttp_session.get_session(request)
    session[_NOTES] = [*session.get(_NOTES, []), [text, is_error]]
    if link:
        # Apart from the notes, whose form portals of the release before read, too.
        session[_LINKS] = {**session.get(_LINKS, {}), text: link}


async def take_notes(request: web.Request) -> list[tuple[str, bool, str]]:
    """Returns the messages for this page, each with its link or none; each is shown once."""
    session = await aiohttp_session.get_session(request)
    links = session.pop(_LINKS, {})
    return [(text, is_error, links.get(text, "")) for text, is_error in session.pop(_NOTES, [])]


async def offer_undo(request: web.Request, path: str, fields: Sequence[tuple[str, str]]) -> None:
    """Offers the next page's reader to undo what was done: a form of these fields, sent to a path.

    More than a cookie holds is not offered.
    """
    if len(fields) <= _MAX_UNDONE:
        session = await aiohttp_session.get_session(request)
        session[_UNDO] = [path, [list(each) for each in fields]]


async def take_undo(request: web.Request) -> tuple[str, list[list[str]]] | None:
    """Returns the path and the fields of the form that undoes what was done, once."""
    found = (await aiohttp_session.get_session(request)).pop(_UNDO, None)
    return None if found is None else (str(found[0]), list(found[1]))


def forwarded_for(request: web.Request) -> str:
    """Returns the addresses of the browser and its proxies."""
    given = request.headers.getall(hdrs.X_FORWARDED_FOR, [])
    # A request to the API has ASCII headers, and a browser's proxy may have sent others.
    return ", ".join([*given, request.remote or ""]).encode("ascii", "replace").decode()
