"""How a rate is divided among gateways, and the update that leases a part of it (ADR 0060)."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from gateway.access.keys import Rate

#: Seconds for which a recall waits: gateways settle within them, or use nothing until they have.
RECALL = 1.0
#: Windows shorter than this, in seconds, are too short for recalls: all of them is leased.
_MIN_WINDOW = 60


class Terms(NamedTuple):
    """A rate's division among the gateways."""

    rate: int
    gateways: int
    #: Requests that each gateway lets through in a window without a lease.
    share: int
    #: Requests that may be leased before shares are settled.
    before: int


def terms(rate: Rate, gateways: int) -> Terms:
    """Returns a rate's division: shares are at most half of it together, and a tenth each.

    The sum of shares and of what may be leased beside them is at most 1.1 times the rate.
    """
    share = rate.count // max(10, 2 * gateways) if rate.window >= _MIN_WINDOW else 0
    if share:
        before = min(rate.count, rate.count * 11 // 10 - gateways * share)
    else:
        # Nothing is recalled: room for what other gateways may have left of their leases.
        before = rate.count + (gateways - 1) * (_step(rate.count, gateways) - 1)
    return Terms(rate.count, gateways, share, before)


def _step(count: int, gateways: int) -> int:
    """Returns the size of a lease that is not recalled: a tenth of the rate for all gateways."""
    return max(1, count // (10 * gateways))


def booked(instance: str, ends: datetime, spent: int) -> list[dict[str, Any]]:
    """Returns the stages that begin a window if due, book requests, and end a gateway's lease."""
    same = {"$eq": ["$ends_at", ends]}
    mine = {"$ifNull": [f"$leases.{instance}", 0]}
    return [
        {
            "$set": {
                "ends_at": ends,
                "used": {"$cond": [same, {"$add": ["$used", spent]}, spent]},
                "held": {"$cond": [same, {"$subtract": ["$held", mine]}, 0]},
                "leases": {"$cond": [same, "$leases", {"$literal": {}}]},
                "recalled": {"$cond": [same, "$recalled", "$$REMOVE"]},
                "settled": {"$cond": [same, "$settled", "$$REMOVE"]},
            }
        },
        {"$set": {f"leases.{instance}": 0}},
    ]


def leased(agreed: Terms, instance: str, now: datetime, cost: int) -> list[dict[str, Any]]:
    """Returns the stages that lease room for `cost` requests, and recall the rest if short."""
    ago = now - timedelta(seconds=RECALL)
    # To MongoDB an absent field is less than any time.
    is_settled = {"$and": [{"$gt": ["$settled", None]}, {"$lte": ["$settled", ago]}]}
    limit = {"$cond": [is_settled, agreed.rate, agreed.before]}
    granted = {"$min": ["$room", {"$max": [cost, _size(agreed)]}]}
    stages: list[dict[str, Any]] = [
        {"$set": {"room": {"$subtract": [limit, {"$add": ["$used", "$held"]}]}}},
        {"$set": {"granted": {"$cond": [{"$gte": ["$room", cost]}, granted, 0]}}},
    ]
    if agreed.share:
        stages += _recall(agreed, now, ago)
    return [
        *stages,
        {"$set": {f"leases.{instance}": "$granted", "held": {"$add": ["$held", "$granted"]}}},
        {"$unset": ["room", "granted"]},
    ]


def _size(agreed: Terms) -> object:
    """Returns the size of a lease: half of the rest for the only lessee, at most a quarter.

    That bounds the loss when a gateway is killed.
    """
    if not agreed.share:
        return _step(agreed.rate, agreed.gateways)
    if agreed.gateways == 1:
        return agreed.rate // 4
    parts = {"$cond": [{"$gt": ["$held", 0]}, 2 * agreed.gateways, 2]}
    half = {"$toInt": {"$floor": {"$divide": ["$room", parts]}}}
    return {"$min": [half, agreed.rate // 4]}


def _recall(agreed: Terms, now: datetime, ago: datetime) -> list[dict[str, Any]]:
    """Returns the stages that recall shares before they are needed, and leases last of all."""
    has_shares = {"$and": [{"$lte": ["$settled", None]}, agreed.before < agreed.rate]}
    left = {"$subtract": ["$room", "$granted"]}
    soon = {"$and": [has_shares, {"$lte": [left, agreed.before // 4]}]}
    is_short = {"$eq": ["$granted", 0]}
    short = {"$and": [is_short, {"$or": [has_shares, {"$gt": ["$held", 0]}]}]}
    due = {"$and": [{"$lte": ["$recalled", ago]}, {"$or": [soon, short]}]}
    recalled = {"$cond": [due, now, {"$ifNull": ["$recalled", "$$REMOVE"]}]}
    return [
        {"$set": {"recalled": recalled}},
        {"$set": {"settled": {"$ifNull": ["$settled", "$recalled", "$$REMOVE"]}}},
    ]


def milliseconds(time: datetime) -> int:
    """Returns the milliseconds since the Unix epoch."""
    return round(time.timestamp() * 1000)


def date(since_epoch: float) -> datetime:
    """Returns the time so many milliseconds after the Unix epoch."""
    return datetime.fromtimestamp(since_epoch / 1000, UTC)
