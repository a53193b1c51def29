"""The keys of an owner, as immutable models."""

from pydantic import Field

from company_registry.models import Model


class KeyRate(Model):
    """The requests of each window: of 1, 60 or 3600 seconds."""

    count: int
    window_seconds: int


class KeyDay(Model):
    """The use of a key on a day (UTC)."""

    day: str
    requests: int
    #: Beyond a rate, and answered with 429.
    refused: int


class OwnedKey(Model):
    """A key of the owner, without its secret."""

    key_id: str
    name: str
    scopes: tuple[str, ...] = ()
    #: `active`, `expired` or `ended`.
    status: str
    created_at: str
    #: The id of the key that created it; None: the operator.
    created_by: str | None = None
    expires_at: str | None = None
    ended_at: str | None = None
    #: The id of the key that ended or replaced it.
    ended_by: str | None = None
    rate: KeyRate
    #: Of a publishable key: the origins of the pages that may use it.
    origins: tuple[str, ...] = ()
    #: Of a publishable key: the rate of each visitor.
    visitor_rate: KeyRate | None = None
    #: In the last 30 days.
    last_used_at: str | None = None
    #: Those with requests of the last 30, the oldest first.
    days: tuple[KeyDay, ...] = ()

    @property
    def requests(self) -> int:
        """The requests of the last 30 days."""
        return sum(each.requests for each in self.days)

    @property
    def refused(self) -> int:
        """Those that were beyond a rate."""
        return sum(each.refused for each in self.days)


class IssuedKey(OwnedKey):
    """A new key with its secret, which is shown only once."""

    key: str = Field(repr=False)


class Keys(Model):
    """The keys of an owner, newest first, with those that ended in the last 30 days."""

    keys: tuple[OwnedKey, ...]
    #: How many keys the owner may have.
    limit: int


class KeyRequest(Model):
    """A request of a key, and how it was answered."""

    at: str
    method: str
    #: With `…` in place of values.
    path: str
    status: int
    duration_ms: float
    request_id: str
    #: The code of the problem that it was answered with.
    problem: str | None = None


class KeyRequests(Model):
    """The last requests of a key, newest first."""

    requests: tuple[KeyRequest, ...]
