"""Settings shared by the services that use the webhook store."""

import secrets
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from common.runtime.settings import DatabaseSettings, EnvironmentSettings, Networks
from webhook_store.collections import DATABASE
from webhook_store.secrets import SecretKeys


def _sound(keys: SecretStr) -> SecretStr:
    SecretKeys.parse(keys, random_bytes=secrets.token_bytes)
    return keys


SealingKeys = Annotated[SecretStr, AfterValidator(_sound)]


class StoreSettings(DatabaseSettings):
    """Settings of the store's database."""

    webhooks_db: str = Field(default=DATABASE, description="database of the webhooks")


class SealedStoreSettings(StoreSettings):
    """Settings of the store with the keys of its secrets."""

    webhook_secret_keys: SealingKeys = Field(
        description="keys that encrypt secrets, `<id>:<base64 of 32 bytes>,…`, the newest first"
    )


class DestinationSettings(EnvironmentSettings):
    """Settings of permitted destinations."""

    webhook_extra_allowed_networks: Networks = Field(
        default=(),
        description="private networks that may be called, comma-separated: for tests and trials, "
        "since every client with a key can then reach them",
    )
