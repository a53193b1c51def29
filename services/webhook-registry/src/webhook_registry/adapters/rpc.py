"""RPC handler of the operations."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import Counter

from common.contracts.failures import Failure, FailureCode, Unavailable
from common.contracts.webhooks import Operation, WebhookReply, WebhookRequest
from common.messaging.rpc import Asked
from webhook_registry.domain.refusals import Rejected
from webhook_registry.usecases.operations import UseCase

_OPERATIONS = Counter(
    "webhook_operations_total", "Operations by what came of them", ["operation", "result"]
)
_LATE = Failure(
    code=FailureCode.SERVICE_UNAVAILABLE, detail="the webhook registry did not answer in time"
)
_FAILED = Failure(code=FailureCode.INTERNAL_ERROR, detail="an internal error")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Operations:
    """Runs the operations of a batch concurrently and independently."""

    use_cases: Mapping[Operation, UseCase]

    async def __call__(
        self, asked: Sequence[Asked[WebhookRequest]]
    ) -> Sequence[WebhookReply | Failure]:
        return await asyncio.gather(*(self._one(item) for item in asked))

    async def _one(self, item: Asked[WebhookRequest]) -> WebhookReply | Failure:
        started = asyncio.get_running_loop().time()
        result = await self._result(item)
        _note(item, result, started)
        return result

    async def _result(self, item: Asked[WebhookRequest]) -> WebhookReply | Failure:
        try:
            async with asyncio.timeout_at(item.deadline):
                return await self.use_cases[item.request.operation](item.request)
        except Rejected as refused:
            return refused.failure
        except Unavailable as outage:
            log.warning(
                "webhook.outage",
                request_id=item.request_id,
                reason=str(outage),
                cause=repr(outage.__cause__),
            )
            return Failure(code=FailureCode.SERVICE_UNAVAILABLE, detail=str(outage))
        except TimeoutError:
            return _LATE
        except Exception:
            # A failing operation must not fail the others of its batch.
            log.exception("webhook.operation_failed", request_id=item.request_id)
            return _FAILED


def _note(item: Asked[WebhookRequest], result: WebhookReply | Failure, started: float) -> None:
    """Logs one line per operation, without body or URL, which may contain a token."""
    word = result.code.value if isinstance(result, Failure) else "ok"
    _OPERATIONS.labels(item.request.operation, word).inc()
    log.info(
        "webhook.operation",
        request_id=item.request_id,
        operation=item.request.operation,
        owner=item.request.owner,
        webhook_id=_webhook_of(item.request, result),
        delivery_id=item.request.delivery_id or None,
        replayed=isinstance(result, WebhookReply) and result.replayed,
        result=word,
        duration_ms=round((asyncio.get_running_loop().time() - started) * 1000, 2),
    )


def _webhook_of(request: WebhookRequest, result: WebhookReply | Failure) -> str | None:
    """Id of the requested or created webhook."""
    if isinstance(result, WebhookReply) and result.location is not None:
        return result.location.rpartition("/")[2]
    return request.webhook_id or None
