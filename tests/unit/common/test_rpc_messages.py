"""Decoding of RPC messages: valid, or rejected as a whole."""

import ormsgpack
import pytest

from common.contracts.company import Country
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.contracts.traces import TraceContext
from common.messaging import frames
from common.messaging.rpc import (
    Undecodable,
    decode_requests,
    decode_results,
    encode_requests,
    encode_results,
    encode_traces,
)

REQUEST = LookupRequest(
    country=Country.DK, questions=(Question(type=SearchType.VAT, term="12345674"),)
)


def test_requests_arrive_with_their_ids_and_their_time_on_the_receivers_clock() -> None:
    body = encode_requests([("one", 1500, REQUEST), ("two", 20, REQUEST)])

    asked = decode_requests(body, LookupRequest, now=100.0)

    assert [(each.request_id, each.deadline) for each in asked] == [("one", 101.5), ("two", 100.02)]
    assert [each.request for each in asked] == [REQUEST, REQUEST]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        ormsgpack.packb(7),
        ormsgpack.packb({"one": 1}),
        ormsgpack.packb([["one", 1500]]),
        ormsgpack.packb([["one", "soon", REQUEST.model_dump()]]),
        ormsgpack.packb([["one", 1500, {"country": "se", "questions": []}]]),
    ],
)
def test_a_message_that_is_no_list_of_requests_is_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_requests(body, LookupRequest, now=0.0)


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "traces",
    [
        [None, None],
        [TraceContext(PARENT), None],
        [None, TraceContext(PARENT, "a=1,b=2")],
        [TraceContext(PARENT, "a=1"), TraceContext(PARENT)],
    ],
)
def test_each_request_has_its_own_trace(traces: list[TraceContext | None]) -> None:
    body = encode_requests([("one", 1500, REQUEST), ("two", 20, REQUEST)])

    asked = decode_requests(body, LookupRequest, now=0.0, headers=encode_traces(traces))

    assert [each.trace for each in asked] == traces


def test_a_message_without_a_trace_has_no_headers() -> None:
    assert encode_traces([None, None]) == b""


@pytest.mark.parametrize(
    "headers",
    [
        b"\0\0\0\0",
        frames.table({"other": "1"}),
        frames.table({"traceparent": "not one\nnor this"}),
        frames.table({"traceparent": PARENT}),
        frames.table({"traceparent": f"{PARENT}\n{PARENT}\n{PARENT}", "tracestate": "a=1"}),
    ],
)
def test_headers_that_are_not_of_the_requests_are_ignored(headers: bytes) -> None:
    body = encode_requests([("one", 1500, REQUEST), ("two", 20, REQUEST)])

    asked = decode_requests(body, LookupRequest, now=0.0, headers=headers)

    assert [each.trace for each in asked] == [None, None]


def test_results_arrive_in_order_each_a_failure_or_a_reply() -> None:
    failure = Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no company matches")
    reply = LookupReply(body=b'{"vat":"12345674"}', tag="1")

    results = decode_results(encode_results([reply, failure]))

    assert results == [(None, reply.model_dump()), (failure, None)]


def test_a_failure_of_an_unknown_code_is_internal_and_spares_its_batch() -> None:
    newer = {"code": "not_yet_known", "detail": "", "errors": []}

    results = decode_results(ormsgpack.packb([(newer, None), (None, {"body": b"{}"})]))

    assert results == [(Failure(code=FailureCode.INTERNAL), None), (None, {"body": b"{}"})]


@pytest.mark.parametrize("body", [b"", b"\xc1", ormsgpack.packb(7), ormsgpack.packb([[None]])])
def test_a_message_that_is_no_list_of_results_is_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_results(body)
