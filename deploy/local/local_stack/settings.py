"""Settings of `make run`. What else is in the environment reaches the services as it is."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class StackSettings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    run_dir: Path = Field(default=Path(".run"), description="everything that a run keeps")
    sample_companies: int = Field(
        default=2000, ge=1, description="how many invented companies each register has"
    )

    amqp_url: SecretStr | None = Field(default=None, description="a RabbitMQ to use instead")
    mongo_url: SecretStr | None = Field(default=None, description="a replica set to use instead")

    webhook_secret_keys: SecretStr | None = Field(
        default=None, description="sealing keys to use instead of the one that is made here"
    )
    webhook_extra_allowed_networks: str = Field(
        default="127.0.0.0/8,::1/128",
        description="where webhooks may go although it is private: to this machine",
    )
    webhook_extra_ca_file: Path | None = Field(
        default=None, description="authorities to believe instead of the one that is made here"
    )

    http_host: str = Field(default="127.0.0.1", description="address of the public port")
    http_port: int = Field(default=8080, description="public port")
    gateway_admin_port: int = 9101
    lookup_admin_port: int = 9102
    registry_admin_port: int = 9103
    dispatcher_admin_port: int = 9104
    sync_admin_port: int = 9105

    registers_port: int = Field(default=8090, description="port of the built-in registers")
    change_every: str = Field(
        default="PT3S", description="how often something changes in the built-in registers"
    )

    amqp_port: int = 5682
    amqp_management_port: int = 15682
    amqp_distribution_port: int = 25682
    amqp_mapper_port: int = 4379
    mongo_port: int = 27027
