"""The log of lookups, suggestions and pages of units over RPC."""

from collections.abc import Sequence

import structlog

from common.contracts.export import ExportRequest
from common.contracts.failures import Failure
from common.contracts.find import FindRequest
from common.contracts.lookup import LookupRequest, SuggestRequest, UnitsRequest
from common.contracts.match import MatchRequest
from common.contracts.watchlists import KnownRequest
from common.messaging.rpc import Asked, Result

log = structlog.get_logger()


def report(
    asked: Sequence[
        Asked[LookupRequest]
        | Asked[SuggestRequest]
        | Asked[UnitsRequest]
        | Asked[FindRequest]
        | Asked[MatchRequest]
        | Asked[KnownRequest]
        | Asked[ExportRequest]
    ],
    results: Sequence[Result],
    seconds: float,
) -> None:
    """One line per request, without its term, which may be a person's name."""
    milliseconds = round(seconds * 1000, 2)
    for item, result in zip(asked, results, strict=True):
        log.info(
            "lookup.done",
            **item.ids,
            country=item.request.country,
            search_type=_search_type(item.request),
            result=result.code if isinstance(result, Failure) else "found",
            duration_ms=milliseconds,
            list_size=len(asked),
        )


def _search_type(
    request: LookupRequest
    | SuggestRequest
    | UnitsRequest
    | FindRequest
    | MatchRequest
    | KnownRequest
    | ExportRequest,
) -> str:
    match request:
        case LookupRequest():
            return request.questions[0].type
        case SuggestRequest():
            return "suggest"
        case UnitsRequest():
            return "units"
        case FindRequest():
            return "find"
        case MatchRequest():
            return "match"
        case KnownRequest():
            return "known"
        case ExportRequest():
            return "export"
