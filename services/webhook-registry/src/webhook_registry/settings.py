"""Settings of the webhook registry; README.md lists them."""

import secrets
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from common.runtime.settings import Duration, MongoUrl, Port, ServiceSettings
from webhook_store.addresses import networks
from webhook_store.secrets import SecretKeys


def _networks(value: object) -> object:
    return networks(value) if isinstance(value, str) else value


def _sound(keys: SecretStr) -> SecretStr:
    SecretKeys.parse(keys, random_bytes=secrets.token_bytes)
    return keys


SealingKeys = Annotated[SecretStr, AfterValidator(_sound)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_networks)]

_MONGO_URL = "MongoDB replica set, `mongodb://…/?replicaSet=rs0`"
_WEBHOOKS_DB = "database of the webhooks"
_SEALING_KEYS = "keys that seal secrets, `<id>:<base64 of 32 bytes>,…`, the newest first"


class StoreSettings(BaseSettings):
    """What the commands need: the database alone."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    mongo_url: MongoUrl = Field(description=_MONGO_URL)
    webhooks_db: str = Field(default="webhooks", description=_WEBHOOKS_DB)


class SealedStoreSettings(StoreSettings):
    """What the commands need that open secrets."""

    webhook_secret_keys: SealingKeys = Field(description=_SEALING_KEYS)


class Settings(ServiceSettings):
    webhooks_db: str = Field(default="webhooks", description=_WEBHOOKS_DB)
    webhook_secret_keys: SealingKeys = Field(description=_SEALING_KEYS)
    admin_port: Port = Field(default=9103, description="operational port")
    webhook_limit: int = Field(
        default=50, ge=1, le=10_000, description="webhooks that one owner may have"
    )
    webhook_secret_overlap: Duration = Field(
        default="PT24H",
        validate_default=True,
        description="how long a replaced secret signs beside the new one",
    )
    idempotency_lifetime: Duration = Field(
        default="PT24H", validate_default=True, description="how long an Idempotency-Key is kept"
    )
    resolve_limit: Duration = Field(
        default="PT0.5S",
        validate_default=True,
        description="how long a URL's host name may take to resolve when it is checked",
    )
    webhook_extra_allowed_networks: Networks = Field(
        default=(),
        description="networks that may be called although they are private, comma-separated: "
        "for tests and trials, since anybody with a key can then reach what is in them",
    )
    stop_limit: Duration = Field(
        default="PT5S", validate_default=True, description="how long a stop waits for running work"
    )
