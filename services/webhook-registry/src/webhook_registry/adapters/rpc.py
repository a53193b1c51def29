"""Operations as RPC requests: their handler and their log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import Counter

from common.contracts.failures import Failure
from common.contracts.webhooks import Operation, WebhookReply, WebhookRequest
from common.messaging.rpc import Asked, Result
from webhook_registry.domain.refusals import Rejected
from webhook_registry.usecases.operations import UseCase

_OPERATIONS = Counter(
    "webhook_operations_total", "Operations by what came of them", ["operation", "result"]
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Operations:
    """Runs the operations of a batch one after the other."""

    use_cases: Mapping[Operation, UseCase]

    async def __call__(
        self, requests: Sequence[WebhookRequest]
    ) -> Sequence[WebhookReply | Failure]:
        return [await self._result(request) for request in requests]

    async def _result(self, request: WebhookRequest) -> WebhookReply | Failure:
        try:
            return await self.use_cases[request.operation](request)
        except Rejected as refused:
            return refused.failure


def report(
    asked: Sequence[Asked[WebhookRequest]], results: Sequence[Result], seconds: float
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
            webhook_id=_webhook_of(item.request, result),
            delivery_id=item.request.delivery_id or None,
            replayed=isinstance(result, WebhookReply) and result.replayed,
            result=word,
            duration_ms=round(seconds * 1000, 2),
        )


def _webhook_of(request: WebhookRequest, result: Result) -> str | None:
    """Id of the requested or created webhook."""
    if isinstance(result, WebhookReply) and result.location is not None:
        return result.location.rpartition("/")[2]
    return request.webhook_id or None
