"""Settings of the webhook registry; README.md lists them."""

from pydantic import Field

import webhook_store.settings as store
from common.runtime.settings import Duration, MongoUrl, Port, ServiceSettings, duration


class StoreSettings(store.StoreSettings):
    """Settings of the commands that need only the database."""

    mongo_url: MongoUrl = Field(description="MongoDB replica set, `mongodb://…/?replicaSet=rs0`")


class SealedStoreSettings(StoreSettings, store.SealedStoreSettings):
    """Settings of the commands that decrypt secrets."""


class Settings(ServiceSettings, store.SealedStoreSettings, store.DestinationSettings):
    admin_port: Port = Field(default=9103, description="operational port")
    max_webhooks_per_owner: int = Field(
        default=50, ge=1, le=10_000, description="maximum of webhooks per owner"
    )
    webhook_secret_overlap: Duration = duration(
        "PT24H", "time for which a replaced secret still signs, with the new one"
    )
    idempotency_retention: Duration = duration("PT24H", "retention of an `Idempotency-Key`")
    resolve_timeout: Duration = duration(
        "PT0.5S", "timeout of resolving a URL's host name when it is checked"
    )
    shutdown_grace: Duration = duration("PT5S", "time that a shutdown waits for work in flight")
