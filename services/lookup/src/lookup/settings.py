"""Settings of the lookup service; README.md lists them."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.contracts.company import Country
from common.runtime.settings import Duration, Port, ServiceSettings, duration
from register_store.settings import StoreSettings


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


Countries = Annotated[tuple[Country, ...], NoDecode, BeforeValidator(_listed)]


class Settings(ServiceSettings, StoreSettings):
    """The settings of a lookup server."""

    admin_port: Port = Field(default=9102, description="operational port")
    countries: Countries = Field(
        default=tuple(Country), description="the registers that this process serves"
    )
    index_dir: Path = Field(description="folder of the saved search index; one per process")
    search_threads: int = Field(
        default=1,
        ge=1,
        le=64,
        description="concurrent searches of one client by name or address, and as many "
        "suggestions; one more for other clients",
    )
    group_max_links: int = Field(
        default=2_500,
        ge=1,
        le=100_000,
        description="maximum of owners in the lists that one group is made of; beyond it the group "
        "is truncated",
    )
    group_max_steps: int = Field(
        default=1_000,
        ge=1,
        le=1_000_000,
        description="maximum of steps along the paths within circles of ownership; beyond it "
        "`shares_truncated` is true",
    )
    group_processor_time: Duration = duration(
        "PT0.05S", "processor time for collecting the companies of a group; then it is truncated"
    )
    slow_request: Duration = duration(
        "PT0.25S", "requests that take this long have a log line of their own; PT0S: each"
    )
    commit_interval: Duration = duration(
        "PT0.5S", "maximum time before a change is found by name and address"
    )
