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
