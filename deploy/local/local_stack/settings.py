"""Settings of `make run`. Everything else in the environment reaches the services unchanged."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from local_stack.ports import REFUSED_BY_BROWSERS

_LAST_PORT = 65_535
#: The highest port below.
_MONGO_PORT = 27_027

_BROKER_PORTS = (
    *("AMQP_PORT", "AMQP_MANAGEMENT_PORT"),
    *("AMQP_DISTRIBUTION_PORT", "AMQP_MAPPER_PORT"),
)


#: Moves a default past a port that browsers refuse; no two defaults are this far apart.
_PAST = 20


def _port(default: int, description: str) -> Any:
    """Returns a port that `port_offset` moves, unless it is set itself."""

    def moved(fields: dict[str, Any]) -> int:
        port: int = default + fields.get("port_offset", 0)
        return port + _PAST if port in REFUSED_BY_BROWSERS else port

    return Field(
        default_factory=moved,
        description=description,
        gt=0,
        le=_LAST_PORT,
    )


class StackSettings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    run_dir: Path = Field(default=Path(".run"), description="everything that a run keeps")
    sample_companies: int = Field(
        default=2000, ge=1, description="how many invented companies each register has"
    )

    change_every: str = Field(
        default="PT3S", description="how often something changes in the built-in registers"
    )

    http_host: str = Field(default="127.0.0.1", description="address of the public port")

    # Before the ports: a default is computed from the fields above it.
    port_offset: int = Field(
        default=0, ge=0, le=_LAST_PORT - _MONGO_PORT, description="added to every port below"
    )
    http_port: int = _port(8080, "public port")
    portal_port: int = _port(8085, "the portal's pages")
    mcp_port: int = _port(8086, "the MCP server")
    registers_port: int = _port(8090, "the built-in registers")
    receiver_port: int = _port(8443, "`python -m local_stack receiver`")
    gateway_admin_port: int = _port(9101, "the gateway's operational port")
    lookup_admin_port: int = _port(9102, "the lookup service's operational port")
    registry_admin_port: int = _port(9103, "the webhook registry's operational port")
    dispatcher_admin_port: int = _port(9104, "the dispatcher's operational port")
    ingest_admin_port: int = _port(9105, "the operational port of ingest")
    portal_admin_port: int = _port(9106, "the portal's operational port")
    amqp_mapper_port: int = _port(4379, "Erlang's port mapper")
    amqp_port: int = _port(5682, "RabbitMQ")
    amqp_management_port: int = _port(15682, "RabbitMQ's management API")
    amqp_distribution_port: int = _port(25682, "Erlang's distribution")
    mongo_port: int = _port(_MONGO_PORT, "MongoDB")

    # After the ports, which their validators read.
    amqp_url: SecretStr | None = Field(default=None, description="a RabbitMQ to use instead")
    mongo_url: SecretStr | None = Field(default=None, description="a replica set to use instead")

    # After all fields: an error of one keeps the defaults below it from being computed.
    @model_validator(mode="after")
    def _opened_by_browsers(self) -> "StackSettings":
        for name, value in self:
            if name.endswith("_port") and value in REFUSED_BY_BROWSERS:
                raise ValueError(
                    f"{name.upper()}={value}: browsers refuse to open this port, which belongs to "
                    "another protocol; choose another one"
                )
        return self

    @field_validator("amqp_url", "mongo_url")
    @classmethod
    def _not_our_own(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Rejects servers that the `.run/env` of an earlier run names as its own."""
        own = info.data.get("amqp_port" if info.field_name == "amqp_url" else "mongo_port")
        place = urlsplit(url.get_secret_value()).netloc.rpartition("@")[2] if url else None
        return None if place == f"127.0.0.1:{own}" else url

    @property
    def base_url(self) -> str:
        """The gateway's address for clients on this machine."""
        return f"http://{self._local_host}:{self.http_port}"

    @property
    def portal_url(self) -> str:
        return f"http://{self._local_host}:{self.portal_port}"

    @property
    def mcp_url(self) -> str:
        return f"http://{self._local_host}:{self.mcp_port}/mcp"

    @property
    def _local_host(self) -> str:
        everywhere = self.http_host in {"0.0.0.0", "::"}  # noqa: S104 (compared, not bound)
        return "127.0.0.1" if everywhere else self.http_host

    @property
    def run_ports(self) -> dict[str, int]:
        """The ports that a run listens on, by their settings, but for those of given servers."""
        given = {
            *(("MONGO_PORT",) if self.mongo_url else ()),
            *(_BROKER_PORTS if self.amqp_url else ()),
            "RECEIVER_PORT",
        }
        named = {name.upper(): value for name, value in self if name.endswith("_port")}
        return {name: port for name, port in named.items() if name not in given}
