"""Settings of the lookup service; README.md lists them."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.contracts.company import Country
from common.runtime.settings import (
    DatabaseSettings,
    Duration,
    Port,
    ProcessSettings,
    ProxyUrl,
    ServiceSettings,
    duration,
)


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def _hosts(value: object) -> object:
    hosts = value.lower().replace(",", " ").split() if isinstance(value, str) else value
    return tuple(hosts) if isinstance(hosts, list) else hosts


Countries = Annotated[tuple[Country, ...], NoDecode, BeforeValidator(_listed)]


class RegisterDatabaseSettings(DatabaseSettings):
    """The settings of a process that uses the database of the registers."""

    register_db: str = Field(default="register", description="database of the registers")


class StoreSettings(RegisterDatabaseSettings):
    """Settings of the commands: only the database."""

    outbox_retention: Duration = duration(
        "P30D", "retention of an event after its publication, and maximum wait for it"
    )


class Settings(ServiceSettings, StoreSettings):
    """The settings of a lookup server."""

    admin_port: Port = Field(default=9102, description="operational port")
    countries: Countries = Field(
        default=(Country.DK, Country.NO), description="the registers that this process serves"
    )
    index_dir: Path = Field(description="folder of the saved search index; one per process")
    search_threads: int = Field(
        default=1,
        ge=1,
        le=64,
        description="concurrent searches of one client by name or address, and as many "
        "suggestions; one more for other clients",
    )
    commit_interval: Duration = duration(
        "PT0.5S", "maximum time before a change is found by name and address"
    )
    event_receipt_timeout: Duration = duration(
        "PT2M", "wait for the dispatcher's receipt before an event is published again"
    )
    webhooks_db: str = Field(
        default="webhooks", description="the dispatcher's database, for its receipts"
    )


class SyncSettings(ProcessSettings, RegisterDatabaseSettings):
    """Settings of `lookup sync`; each register has further ones, see `lookup.registers`."""

    admin_port: Port = Field(default=9105, description="operational port, with `--follow`")
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
    sync_interval: Duration = duration("PT1M", "time between passes, with `--follow`")
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
