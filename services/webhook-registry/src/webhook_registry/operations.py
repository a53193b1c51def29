"""The operations: what carries out each, their RPC handler and their log."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog
from prometheus_client import Counter

from common.contracts.failures import Failure
from common.contracts.webhook_api import (
    FILE_OPERATIONS,
    WATCHLIST_OPERATIONS,
    Operation,
    WebhookReply,
    WebhookRequest,
)
from common.messaging.rpc import Result, RpcRequest
from webhook_registry.customer_files import FileOperations
from webhook_registry.deliveries import DeliveryOperations
from webhook_registry.event_types import event_types
from webhook_registry.replies import OK, Rejected, reply
from webhook_registry.watchlists.digest_operations import DigestOperations
from webhook_registry.watchlists.watchlist_operations import WatchedOperations, WatchlistOperations
from webhook_registry.webhooks import WebhookOperations

_OPERATIONS = Counter(
    "webhook_operations_total", "Operations by what came of them", ["operation", "result"]
)

log = structlog.get_logger()


class Operations:
    """Runs the operations of a batch one after the other."""

    def __init__(  # noqa: PLR0913 (what carries out each)
        self,
        webhooks: WebhookOperations,
        deliveries: DeliveryOperations,
        watchlists: WatchlistOperations,
        watched: WatchedOperations,
        digests: DigestOperations,
        files: FileOperations,
    ) -> None:
        listed = reply(OK, event_types())  # the same for every client

        async def list_event_types(_request: WebhookRequest) -> WebhookReply:
            return listed

        self._run: Mapping[Operation, Callable[[WebhookRequest], Awaitable[WebhookReply]]] = {
            Operation.CREATE: webhooks.create,
            Operation.LIST: webhooks.list,
            Operation.GET: webhooks.show,
            Operation.CHANGE: webhooks.change,
            Operation.DELETE: webhooks.delete,
            Operation.ROTATE_SECRET: webhooks.rotate_secret,
            Operation.TEST: deliveries.send_test,
            Operation.DELIVERIES: deliveries.list,
            Operation.DELIVERY: deliveries.show,
            Operation.RETRY: deliveries.retry,
            Operation.RECOVER: deliveries.recover,
            Operation.EVENT_TYPES: list_event_types,
            Operation.CREATE_WATCHLIST: watchlists.create,
            Operation.LIST_WATCHLISTS: watchlists.list,
            Operation.GET_WATCHLIST: watchlists.show,
            Operation.CHANGE_WATCHLIST: watchlists.change,
            Operation.DELETE_WATCHLIST: watchlists.delete,
            Operation.RENEW_FEED: watchlists.renew_feed,
            Operation.END_FEED: watchlists.end_feed,
            Operation.ADD_DIGEST: digests.add,
            Operation.LIST_DIGESTS: digests.list,
            Operation.DELETE_DIGEST: digests.delete,
            Operation.LIST_WATCHED: watched.list,
            Operation.CHANGE_WATCHED: watched.change,
            Operation.REPLACE_WATCHED: watched.replace,
            Operation.CREATE_FILE: files.create,
            Operation.LIST_FILES: files.list,
            Operation.GET_FILE: files.show,
            Operation.DELETE_FILE: files.delete,
            Operation.GET_PART: files.show_part,
            Operation.PUT_PART: files.put_part,
            Operation.ADD_DECISION: files.decide,
            Operation.LIST_DECISIONS: files.list_decisions,
        }

    async def __call__(
        self, requests: Sequence[WebhookRequest]
    ) -> Sequence[WebhookReply | Failure]:
        """Returns one result per request, in order; refusals are returned and not raised."""
        return [await self._result(request) for request in requests]

    async def _result(self, request: WebhookRequest) -> WebhookReply | Failure:
        try:
            return await self._run[request.operation](request)
        except Rejected as refused:
            return refused.failure


def report(
    asked: Sequence[RpcRequest[WebhookRequest]], results: Sequence[Result], seconds: float
) -> None:
    """Logs one line per operation, without body or URL, which may contain a token."""
    for item, result in zip(asked, results, strict=True):
        word = result.code.value if isinstance(result, Failure) else "ok"
        _OPERATIONS.labels(item.request.operation, word).inc()
        log.info(
            "webhook.operation",
            **item.ids,
            operation=item.request.operation,
            owner=item.request.owner,
            **_ids(item.request, result),
            delivery_id=item.request.delivery_id or None,
            digest_id=item.request.digest_id or None,
            replayed=isinstance(result, WebhookReply) and result.replayed,
            result=word,
            duration_ms=round(seconds * 1000, 2),
        )


def _ids(request: WebhookRequest, result: Result) -> Mapping[str, str | None]:
    created = None
    if isinstance(result, WebhookReply) and result.location is not None:
        created = result.location.rpartition("/")[2]
    if request.operation in FILE_OPERATIONS:
        return {"file_id": created or request.file_id or None}
    if request.operation in WATCHLIST_OPERATIONS:
        return {"watchlist_id": created or request.watchlist_id or None}
    return {"webhook_id": created or request.webhook_id or None}
