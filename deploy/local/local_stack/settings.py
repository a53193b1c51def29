"""Settings of `make run`. Everything else in the environment reaches the services unchanged."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from common.runtime.settings import Duration
from local_stack import listening
from local_stack.ports import HOST, REFUSED_BY_BROWSERS

_LAST_PORT = 65_535


def _port(name: str, description: str) -> Any:
    """Returns a port that `port_offset` moves, unless it is set itself."""
    return Field(
        default_factory=lambda fields: listening.moved(name, fields.get("port_offset", 0)),
        description=description,
        gt=0,
        le=_LAST_PORT,
    )


class StackSettings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    run_dir: Path = Field(
        default=Path(listening.RUN_DIR), description="everything that a run keeps"
    )
    sample_companies: int = Field(
        default=2000, ge=1, description="how many invented companies each register has"
    )

    change_every: Duration = Field(
        default=timedelta(seconds=3),
        gt=timedelta(0),
        description="how often something changes in the built-in registers",
    )

    http_host: str = Field(default=HOST, description="address of the public ports")

    # Before the ports: a default is computed from the fields above it.
    port_offset: int = Field(
        default=0,
        ge=0,
        le=_LAST_PORT - max(listening.PORTS.values()),
        description="added to every port below",
    )
    http_port: int = _port("HTTP_PORT", "public port")
    portal_port: int = _port("PORTAL_PORT", "the portal's pages")
    mcp_port: int = _port("MCP_PORT", "the MCP server")
    registers_port: int = _port("REGISTERS_PORT", "the built-in registers")
    receiver_port: int = _port("RECEIVER_PORT", "`python -m local_stack receiver`")
    gateway_admin_port: int = _port("GATEWAY_ADMIN_PORT", "the gateway's operational port")
    lookup_admin_port: int = _port("LOOKUP_ADMIN_PORT", "the lookup service's operational port")
    registry_admin_port: int = _port(
        "REGISTRY_ADMIN_PORT", "the webhook registry's operational port"
    )
    dispatcher_admin_port: int = _port("DISPATCHER_ADMIN_PORT", "the dispatcher's operational port")
    ingest_admin_port: int = _port("INGEST_ADMIN_PORT", "the operational port of ingest")
    portal_admin_port: int = _port("PORTAL_ADMIN_PORT", "the portal's operational port")
    amqp_mapper_port: int = _port("AMQP_MAPPER_PORT", "Erlang's port mapper")
    amqp_port: int = _port("AMQP_PORT", "RabbitMQ")
    amqp_management_port: int = _port("AMQP_MANAGEMENT_PORT", "RabbitMQ's management API")
    amqp_distribution_port: int = _port("AMQP_DISTRIBUTION_PORT", "Erlang's distribution")
    mongo_port: int = _port("MONGO_PORT", "MongoDB")

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
        own = {name.upper(): value for name, value in info.data.items() if name.endswith("_port")}
        text = url.get_secret_value() if url else None
        return url if listening.is_given(str(info.field_name).upper(), text, own) else None

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
        urls = {"AMQP_URL": self.amqp_url, "MONGO_URL": self.mongo_url}
        named = {name.upper(): value for name, value in self if name.endswith("_port")}
        given = {name: url.get_secret_value() if url else None for name, url in urls.items()}
        return listening.listened(named, given)
