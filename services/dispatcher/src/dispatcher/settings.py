"""Settings of the dispatcher; README.md lists them."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from common.runtime.settings import Duration, Port, ServiceSettings, duration, listed
from webhook_store.settings import DestinationSettings, SealedStoreSettings

#: Minimum margin of the lease over the post timeout, so that a result is recorded within the lease.
_LEASE_MARGIN = timedelta(seconds=1)


def _at_least_a_millisecond(delays: tuple[timedelta, ...]) -> tuple[timedelta, ...]:
    if any(delay < timedelta(milliseconds=1) for delay in delays):
        raise ValueError("a delay is at least a millisecond, PT0.001S")
    return delays


Delays = Annotated[
    tuple[Duration, ...],
    NoDecode,
    BeforeValidator(listed),
    AfterValidator(_at_least_a_millisecond),
]


class Settings(ServiceSettings, SealedStoreSettings, DestinationSettings):
    """Environment settings of the dispatcher; a lease that does not fit its timeouts is refused."""

    admin_port: Port = Field(default=9104, description="operational port")

    webhook_retry_delays: Delays = Field(
        default="PT1M,PT5M,PT30M,PT2H",
        validate_default=True,
        description="delays before each retry; the webhook is disabled when the last retry fails",
    )
    webhook_post_timeout: Duration = duration("PT10S", "timeout of an attempt")
    webhook_connect_timeout: Duration = duration("PT5S", "timeout of connecting, as part of that")
    webhook_retention: Duration = duration(
        "P30D", "retention of events, deliveries and attempts after their end"
    )
    webhook_body_retention: Duration = duration(
        "P30D",
        "retention of the events' bodies, if shorter: a delivery that ended longer ago is shown "
        "without its body, and is not retried",
    )
    webhook_max_posts: int = Field(
        default=500,
        ge=1,
        description="maximum of concurrent POSTs of this process; each needs a socket",
    )
    webhook_max_posts_per_owner: int = Field(
        default=100,
        ge=1,
        description="maximum of concurrent POSTs for one owner's webhooks, in this process; never "
        "more than are free for other owners",
    )
    webhook_max_posts_per_host: int = Field(
        default=64, ge=1, description="maximum of concurrent POSTs to one host, in this process"
    )
    webhook_max_posts_per_owner_and_host: int = Field(
        default=8,
        ge=1,
        description="maximum of a host's concurrent POSTs for the webhooks of one owner",
    )
    webhook_max_posts_per_webhook: int = Field(
        default=4, ge=1, description="maximum of concurrent POSTs to one webhook, in this process"
    )
    webhook_lease: Duration = duration(
        "PT30S",
        "lease of a claimed delivery: longer than the post timeout, shorter than the "
        "broker's consumer timeout (checked at startup)",
    )
    broker_consumer_timeout: Duration = duration(
        "PT30M", "the broker's `consumer_timeout`, which the lease is checked against"
    )
    webhook_requeue_interval: Duration = duration("PT5S", "interval of the requeue job")
    webhook_requeue_grace: Duration = duration(
        "PT30S", "time after a delivery's due time before it is requeued"
    )
    webhook_requeue_cooldown: Duration = duration(
        "PT10M", "time before the requeue job looks at a delivery again that it has found"
    )
    webhook_extra_ca_file: Path | None = Field(
        default=None,
        description="certificate authorities trusted in addition to the system's: for tests and "
        "trials",
    )
    shutdown_grace: Duration = duration("PT25S", "time that a shutdown waits for POSTs in flight")

    @model_validator(mode="after")
    def _lease_fits(self) -> "Settings":
        if self.webhook_lease < self.webhook_post_timeout + _LEASE_MARGIN:
            raise ValueError("WEBHOOK_LEASE must be a second longer than WEBHOOK_POST_TIMEOUT")
        if self.webhook_lease >= self.broker_consumer_timeout:
            raise ValueError("WEBHOOK_LEASE must be shorter than BROKER_CONSUMER_TIMEOUT")
        return self
