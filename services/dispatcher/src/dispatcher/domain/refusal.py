"""Check whether a claimed delivery may be attempted."""

from webhook_store.delivery_models import CancelReason, Claimed
from webhook_store.models import Sendable


def refusal(webhook: Sendable | None, delivery: Claimed) -> CancelReason | None:
    """Returns the reason to cancel the delivery; None when it may be attempted.

    A disabled webhook receives nothing. Deliveries that waited when it was disabled belong to an
    earlier generation: enabling does not resume them, but they can be recovered.
    """
    if webhook is None:
        return CancelReason.WEBHOOK_DELETED
    if not webhook.enabled or webhook.generation != delivery.generation:
        return CancelReason.WEBHOOK_DISABLED
    return None
