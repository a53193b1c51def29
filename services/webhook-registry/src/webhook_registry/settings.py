"""Settings of the webhook registry; README.md lists them."""

import re
from datetime import time
from email.headerregistry import Address
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from common.runtime.settings import Duration, Port, ServiceSettings, duration
from webhook_registry.watchlists.mailer import TlsMode
from webhook_store.settings import DestinationSettings, SealedStoreSettings


class Settings(ServiceSettings, SealedStoreSettings, DestinationSettings):
    """Environment settings of the webhook registry, with those of its store and URL checks."""

    admin_port: Port = Field(default=9103, description="operational port")
    max_webhooks_per_owner: int = Field(
        default=50, ge=1, le=10_000, description="maximum of webhooks per owner"
    )
    max_watchlists_per_owner: int = Field(
        default=1_000, ge=1, le=10_000, description="maximum of watchlists per owner"
    )
    max_companies_per_watchlist: int = Field(
        default=100_000, ge=1, description="maximum of companies in a watchlist"
    )
    max_watched_companies_per_owner: int = Field(
        default=1_000_000, ge=1, description="maximum of companies in all watchlists of an owner"
    )
    email_digests: bool = Field(
        default=False, description="accept digests by e-mail, which `digests` has to send"
    )
    max_digests_per_watchlist: int = Field(
        default=20, ge=1, description="maximum of addresses that a watchlist is sent to"
    )
    max_digests_per_owner: int = Field(
        default=200, ge=1, description="maximum of addresses of all watchlists of an owner"
    )
    max_unconfirmed_digests_per_owner: int = Field(
        default=20, ge=1, description="maximum of an owner's addresses that have yet to confirm"
    )
    max_new_digest_addresses_per_day: int = Field(
        default=40,
        ge=1,
        description="maximum of addresses that an owner may add in a day, whether or not they are "
        "removed again",
    )
    customer_file_retention: Duration = duration(
        "P30D", "retention of a file of customers with its decisions, from its upload"
    )
    max_customer_files_per_owner: int = Field(
        default=20, ge=1, le=1_000, description="maximum of files of customers of an owner"
    )
    max_customer_file_bytes_per_owner: int = Field(
        default=256 * 2**20,
        ge=2**20,
        description="maximum of bytes of all files of customers of an owner, as they are stored",
    )
    webhook_secret_overlap: Duration = duration(
        "PT24H", "time for which a replaced secret still signs, with the new one"
    )
    idempotency_retention: Duration = duration("PT24H", "retention of an `Idempotency-Key`")
    resolve_timeout: Duration = duration(
        "PT0.5S", "timeout of resolving a URL's host name when it is checked"
    )


def _zone(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise ValueError("write it as in the tz database, such as Europe/Copenhagen") from None


def _time(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value) is None:
        raise ValueError("write it as HH:MM")
    return value


def _sender(value: object) -> object:
    if not isinstance(value, str):
        return value
    name, _, rest = value.rpartition("<")
    try:
        address = Address(name.strip(), addr_spec=rest.rstrip("> "))
    except (ValueError, IndexError):
        address = Address()
    if not address.username or not address.domain or not address.addr_spec.isascii():
        raise ValueError("write it as news@example.com or Name <news@example.com>")
    return address


def _url(url: str) -> str:
    if re.fullmatch(r"https?://[^\s@?#{}]+", url) is None:
        raise ValueError("write it as https://<host>[/<path>]")
    return url.rstrip("/")


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class DigestSettings(ServiceSettings, SealedStoreSettings):
    """Environment settings of `digests`, which sends news by e-mail."""

    admin_port: Port = Field(default=9107, description="operational port")
    smtp_host: str = Field(min_length=1, description="mail server that takes the messages")
    smtp_port: Port = Field(default=587, description="its port")
    smtp_tls: TlsMode = Field(
        default=TlsMode.STARTTLS,
        description="`starttls` or `tls`, which are required to succeed; `none` for a server on "
        "this machine alone",
    )
    smtp_username: str = Field(default="", description="user of the mail server; empty: no login")
    smtp_password: SecretStr = Field(default=SecretStr(""), description="password of that user")
    smtp_ca_file: str = Field(
        default="", description="PEM file of further authorities that the server's certificate has"
    )
    smtp_timeout: Duration = duration("PT1M", "timeout of each step of a session")
    smtp_accept_timeout: Duration = duration(
        "PT10M", "timeout of the server's acceptance of a message, as RFC 5321 has it"
    )
    mail_from: Annotated[Address, BeforeValidator(_sender)] = Field(
        description="sender of the messages, `news@example.com` or `Name <news@example.com>`"
    )
    public_url: Annotated[str, AfterValidator(_url)] = Field(
        description="address of the API for browsers, which links in messages have"
    )
    portal_url: Annotated[str, AfterValidator(lambda url: _url(url) if url else url)] = Field(
        default="", description="address of the portal for browsers, which messages link to"
    )
    digest_time: Annotated[time, BeforeValidator(_time)] = Field(
        default=time(6), description="time of day of daily messages, `HH:MM`"
    )
    digest_time_zone: Annotated[ZoneInfo, BeforeValidator(_zone)] = Field(
        default=ZoneInfo("Europe/Copenhagen"),
        description="time zone of `DIGEST_TIME` and of the times in messages",
    )
    digest_interval: Duration = duration(
        "PT30S", "time in which changes gather for an immediate message"
    )
    max_confirmation_requests_per_day: int = Field(
        default=40,
        ge=1,
        description="maximum of requests to confirm that are sent for an owner in a day; others "
        "wait",
    )
    digest_senders: int = Field(default=4, ge=1, le=50, description="messages sent at once")
    shutdown_grace: Duration = duration("PT10S", "time that a shutdown waits for work in flight")

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.smtp_tls is TlsMode.NONE and self.smtp_host not in _LOOPBACK:
            raise ValueError("SMTP_TLS=none is for a mail server on this machine alone")
        return self
