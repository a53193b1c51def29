"""Settings of the webhook registry; README.md lists them."""

from pydantic import Field

from common.runtime.settings import Duration, Port, ServiceSettings, duration
from webhook_store.settings import DestinationSettings, SealedStoreSettings


class Settings(ServiceSettings, SealedStoreSettings, DestinationSettings):
    """Environment settings of the webhook registry, with those of its store and URL checks."""

    admin_port: Port = Field(default=9103, description="operational port")
    max_webhooks_per_owner: int = Field(
        default=50, ge=1, le=10_000, description="maximum of webhooks per owner"
    )
    max_watchlists_per_owner: int = Field(
        default=1_000, ge=1, le=10_000, description="maximum of watchlists per owner"
    )
    max_companies_per_watchlist: int = Field(
        default=100_000, ge=1, description="maximum of companies in a watchlist"
    )
    max_watched_companies_per_owner: int = Field(
        default=1_000_000, ge=1, description="maximum of companies in all watchlists of an owner"
    )
    email_digests: bool = Field(
        default=False, description="accept digests by e-mail, which `digests` has to send"
    )
    max_digests_per_watchlist: int = Field(
        default=20, ge=1, description="maximum of addresses that a watchlist is sent to"
    )
    max_digests_per_owner: int = Field(
        default=200, ge=1, description="maximum of addresses of all watchlists of an owner"
    )
    max_unconfirmed_digests_per_owner: int = Field(
        default=20, ge=1, description="maximum of an owner's addresses that have yet to confirm"
    )
    webhook_secret_overlap: Duration = duration(
        "PT24H", "time for which a replaced secret still signs, with the new one"
    )
    idempotency_retention: Duration = duration("PT24H", "retention of an `Idempotency-Key`")
    resolve_timeout: Duration = duration(
        "PT0.5S", "timeout of resolving a URL's host name when it is checked"
    )
