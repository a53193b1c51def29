"""Settings of the writer and of registers; README.md lists them."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, AnyHttpUrl, BeforeValidator, Field
from pydantic_settings import NoDecode

from common.runtime.settings import (
    Duration,
    EnvironmentSettings,
    Port,
    ProcessSettings,
    ProxyUrl,
    ServiceSettings,
    duration,
)
from register_store.settings import RegisterDatabaseSettings, StoreSettings

#: Requests to these hosts do not leave the machine.
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def _without_credentials(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.username is not None or url.password is not None:
        # URLs are logged, so neither the URL nor this message may contain a password.
        raise ValueError("leave user and password out of the URL, which is logged")
    return url


def _encrypted(url: AnyHttpUrl) -> AnyHttpUrl:
    if url.scheme == "http" and url.host not in _LOOPBACK:
        raise ValueError("use https, which this register offers")
    return url


RegisterUrl = Annotated[AnyHttpUrl, AfterValidator(_without_credentials)]
HttpsRegisterUrl = Annotated[RegisterUrl, AfterValidator(_encrypted)]


class RegisterSettings(EnvironmentSettings):
    """Settings of one register; a register without settings uses this class."""

    def missing(self) -> str | None:
        """Returns an error message if a setting that `sync` requires is missing."""
        return None

    def warn(self) -> None:
        """Logs unsafe settings."""


def _hosts(value: object) -> object:
    hosts = value.lower().replace(",", " ").split() if isinstance(value, str) else value
    return tuple(hosts) if isinstance(hosts, list) else hosts


class AccountsSettings(EnvironmentSettings):
    """Which annual accounts are stored."""

    sole_proprietors_accounts: bool = Field(
        default=False,
        description="store the annual accounts of sole proprietors, which are a person's",
    )


class SyncSettings(AccountsSettings, ProcessSettings, RegisterDatabaseSettings):
    """The settings of a process that follows registers."""

    admin_port: Port = Field(default=9105, description="operational port")
    register_ca_file: Path | None = Field(
        default=None, description="certificates (PEM) trusted in addition to the system's"
    )
    https_proxy: ProxyUrl = Field(
        default=None, description="proxy of requests to registers over HTTPS, `http://host:port`"
    )
    http_proxy: ProxyUrl = Field(
        default=None, description="proxy of requests to registers over plain HTTP"
    )
    no_proxy: str = Field(
        default="",
        description="hosts that are reached without a proxy, with their subdomains, "
        "comma-separated; `*` for all",
    )
    register_file_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_hosts)] = Field(
        default=(),
        description="other hosts that a register may redirect a whole file to, comma-separated",
    )
    register_user_agent: str = Field(
        default="company-registry-lookup/0.1",
        min_length=1,
        description="`User-Agent` of requests to registers; add a contact address",
    )
    register_timeout: Duration = duration("PT30S", "timeout of each wait for a register")
    register_max_attempts: int = Field(
        default=5, ge=1, description="attempts per request before the pass fails"
    )
    register_retry_delay: Duration = duration(
        "PT1S", "maximum wait before the second attempt, doubled for each further one up to PT1M"
    )
    sync_interval: Duration = duration("PT1M", "time between passes of `serve`")
    sync_page_size: int = Field(
        default=1000,
        ge=1,
        le=3000,
        description="entries or documents per request; at most 100 Danish ones",
    )
    download_dir: Path | None = Field(
        default=None,
        description="folder for whole files while they are read; by default the system's folder "
        "for temporary files",
    )


class CommandSettings(AccountsSettings, StoreSettings):
    """The settings of the commands that are not `import`, `serve` or `sync`."""

    history_retention: Duration = duration(
        "P3653D", "retention of a change in a company's history, which `indexes` applies"
    )


class Settings(SyncSettings, StoreSettings, ServiceSettings):
    """The settings of `serve`, which also publishes events."""

    event_receipt_timeout: Duration = duration(
        "PT2M", "wait for the dispatcher's receipt before an event is published again"
    )
    webhooks_db: str = Field(
        default="webhooks", description="the dispatcher's database, for its receipts"
    )
