"""Settings of the portal."""

import base64
import binascii
import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, Field, SecretStr

from common.runtime.public_port.rates import RateSetting, parse_rate
from common.runtime.settings import Duration, Networks, Port, ProcessSettings

_KEY_BYTES: Final = 32


def _http_url(url: str) -> str:
    if re.fullmatch(r"https?://[^\s/@]+(/[^\s?#]*)?", url) is None:
        raise ValueError("write it as https://<host>")
    return url.rstrip("/")


def _peers(url: str) -> str:
    if re.fullmatch(r"(http://[^\s/@:]+:[0-9]{1,5})?", url) is None:
        raise ValueError("write it as http://<host>:<port>")
    return url


def _link(url: str) -> str:
    if re.fullmatch(r"(https?://[^\s@]+|mailto:\S+@\S+)?", url) is None:
        raise ValueError("write it as https://<host>/<path>, or as mailto:<address>")
    return url


def _session_key(keys: SecretStr) -> SecretStr:
    if not all(map(_is_key, keys.get_secret_value().split(","))):
        raise ValueError(f"give {_KEY_BYTES} random bytes as base64: openssl rand -base64 32")
    return keys


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


class Settings(ProcessSettings):
    """Settings of `serve`."""

    registry_url: Annotated[str, AfterValidator(_http_url)] = Field(
        description="URL of the public API, `http[s]://<host>[:port]`"
    )
    session_key: Annotated[SecretStr, AfterValidator(_session_key)] = Field(
        description="32 random bytes as base64, which encrypt sessions; the same in every process. "
        "Several, newest first, are separated by commas: the first encrypts, all decrypt"
    )
    api_reference_url: Annotated[str, AfterValidator(_link)] = Field(
        default="", description="link to the API reference: the address of `/docs` for browsers"
    )
    key_request_url: Annotated[str, AfterValidator(_link)] = Field(
        default="", description="link for people without a key: a page, or `mailto:<address>`"
    )
    http_host: str = Field(default="127.0.0.1", description="address of the public port")
    http_port: Port = Field(default=8085, description="public port")
    admin_port: Port = Field(default=9106, description="operational port")
    secure_cookies: bool = Field(
        default=True, description="whether sessions need HTTPS; off only on one's own machine"
    )
    session_idle_timeout: Duration = Field(
        default=timedelta(minutes=30), description="a session ends after so long without a request"
    )
    session_lifetime: Duration = Field(
        default=timedelta(hours=12), description="a session ends so long after the sign-in"
    )
    session_peers: Annotated[str, AfterValidator(_peers)] = Field(
        default="",
        description="URL whose host resolves to every replica, `http://<host>:<port>`: "
        "sessions that have ended are read there each second. None with a single replica",
    )
    registry_timeout: Duration = Field(
        default=timedelta(seconds=5), description="time for a response of the API"
    )
    max_connections: int = Field(
        default=1024, ge=1, description="maximum number of open browser connections"
    )
    max_live_readers: int = Field(
        default=500, ge=1, description="open pages that follow events live, in this process"
    )
    max_live_readers_per_key: int = Field(
        default=20, ge=1, description="those of them that one key may have open"
    )
    session_rate: RateSetting = Field(
        default=parse_rate("600/minute"),
        description="requests of a session, `<count>/<second|minute|hour>`",
    )
    address_rate: RateSetting = Field(
        default=parse_rate("300/minute"),
        description="requests of an address (IPv6: of a /64) without a session",
    )
    max_form_size: int = Field(
        default=64 * 1024, ge=4096, description="maximum bytes of a form without a file"
    )
    max_form_fields: int = Field(
        default=1000, ge=100, description="maximum fields of a form without a file"
    )
    max_upload_parts: int = Field(
        default=4, ge=3, description="maximum parts of a form with a file"
    )
    trusted_proxies: Networks = Field(
        default=(), description="networks whose X-Forwarded-For is trusted, comma-separated"
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=10), description="time that a shutdown waits for requests"
    )
