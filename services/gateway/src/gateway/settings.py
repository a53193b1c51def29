"""Settings of the gateway; README.md lists them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from common.runtime.public_port.rates import RateSetting, parse_rate
from common.runtime.settings import (
    DatabaseSettings,
    Duration,
    EnvironmentSettings,
    Networks,
    Port,
    ServiceSettings,
    duration,
)
from gateway.access.protected import ProtectedPolicy


def _address(url: str) -> str:
    if re.fullmatch(r"(https?://[^\s@?#{}]+)?", url) is None:
        raise ValueError("write it as https://<host>[/<path>]")
    return url.rstrip("/")


Address = Annotated[str, AfterValidator(_address)]


class KeySettings(DatabaseSettings):
    """Settings of the commands: only the database."""

    access_db: str = Field(default="access", description="database of the API keys")


class Policy(EnvironmentSettings):
    """Access to the public interface: who may use it, how often, and from where."""

    anonymous_lookups: bool = Field(default=True, description="allow lookups without a key")
    anonymous_rate: RateSetting = Field(
        default=parse_rate("60/minute"),
        description="rate limit per client address, `<count>/<second|minute|hour>`",
    )
    key_rate: RateSetting = Field(
        default=parse_rate("1200/minute"),
        description="rate limit per key, `<count>/<second|minute|hour>`",
    )
    visitor_rate: RateSetting = Field(
        default=parse_rate("30/minute"),
        description="rate limit per address of a publishable key's visitor, "
        "`<count>/<second|minute|hour>`",
    )
    max_keys_per_owner: int = Field(
        default=100,
        ge=1,
        description="maximum number of keys of an owner that are created through the API, with "
        "those that ended in the last 30 days",
    )
    trusted_proxies: Networks = Field(
        default=(), description="networks whose X-Forwarded-For is trusted, comma-separated"
    )
    cors_origin: str = Field(
        default="*", description="CORS origin allowed to look up; `*` any, empty none"
    )
    protected_companies: ProtectedPolicy = Field(
        default=ProtectedPolicy.LISTED,
        description="`single` leaves companies that are protected from advertising out of lists, "
        "copies, suggestions, feeds of all companies and reconciliation, for keys without the "
        "scope `protected`",
    )
    public_url: Address = Field(
        default="",
        description="address of this API for browsers, which reconciliation manifests and Atom "
        "feeds have; without it that of each request",
    )
    portal_url: Address = Field(
        default="",
        description="address of the portal for browsers, linked by reconciliation and feeds",
    )
    max_event_readers: int = Field(
        default=100,
        ge=1,
        description="maximum number of waiting event requests and event streams per key",
    )
    webhook_sources: Networks = Field(
        default=(),
        description="networks that the dispatcher's requests come from, comma-separated; "
        "published to receivers",
    )


class Settings(ServiceSettings, KeySettings, Policy):
    """Settings of `serve`: the public port, the rates of clients and the limits of the process."""

    admin_port: Port = Field(default=9101, description="operational port")
    http_host: str = Field(default="127.0.0.1", description="address of the public port")
    http_port: Port = Field(default=8080, description="public port")
    http_port_shared: bool = Field(
        default=False, description="let other gateways of this machine listen on the same port"
    )
    max_connections: int = Field(
        default=2048, ge=1, description="maximum number of open client connections"
    )
    xml_processes: int = Field(
        default=1, ge=1, le=16, description="processes for XML documents over 8 kB"
    )
    shutdown_grace: Duration = duration("PT10S", "shutdown grace period for requests")
