"""Whether a claimed delivery may be attempted now."""

from webhook_store.delivery_models import CancelReason, Claimed
from webhook_store.models import Sendable


def refusal(webhook: Sendable | None, delivery: Claimed) -> CancelReason | None:
    """Why it may not; None when it may.

    A disabled webhook gets nothing more, and what waited when it was disabled does not come back
    by itself when it is enabled again: it belongs to an earlier generation, and can be recovered.
    """
    if webhook is None:
        return CancelReason.WEBHOOK_DELETED
    if not webhook.enabled or webhook.generation != delivery.generation:
        return CancelReason.WEBHOOK_DISABLED
    return None
