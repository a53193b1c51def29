"""Settings of whoever works with webhooks: what two services read is defined once."""

import secrets
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from webhook_store.addresses import networks
from webhook_store.documents import DATABASE
from webhook_store.secrets import SecretKeys


def _networks(value: object) -> object:
    return networks(value) if isinstance(value, str) else value


def _sound(keys: SecretStr) -> SecretStr:
    SecretKeys.parse(keys, random_bytes=secrets.token_bytes)
    return keys


SealingKeys = Annotated[SecretStr, AfterValidator(_sound)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_networks)]


class _Part(BaseSettings):
    """A part of a process' settings, which has others beside it."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")


class StoreSettings(_Part):
    """Where the webhooks are."""

    webhooks_db: str = Field(default=DATABASE, description="database of the webhooks")


class SealedStoreSettings(StoreSettings):
    """Where they are, and what opens their secrets."""

    webhook_secret_keys: SealingKeys = Field(
        description="keys that seal and open secrets, `<id>:<base64 of 32 bytes>,…`, the newest "
        "first"
    )


class DestinationSettings(_Part):
    """Where webhooks may be."""

    webhook_extra_allowed_networks: Networks = Field(
        default=(),
        description="networks that may be called although they are private, comma-separated: "
        "for tests and trials, since anybody with a key can then reach what is in them",
    )
