"""Settings of the webhook registry; README.md lists them."""

from pydantic import Field

import webhook_store.settings as store
from common.runtime.settings import Duration, MongoUrl, Port, ServiceSettings


class StoreSettings(store.StoreSettings):
    """What the commands need: the database alone."""

    mongo_url: MongoUrl = Field(description="MongoDB replica set, `mongodb://…/?replicaSet=rs0`")


class SealedStoreSettings(StoreSettings, store.SealedStoreSettings):
    """What the commands need that open secrets."""


class Settings(ServiceSettings, store.SealedStoreSettings, store.DestinationSettings):
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
    stop_limit: Duration = Field(
        default="PT5S", validate_default=True, description="how long a stop waits for running work"
    )
