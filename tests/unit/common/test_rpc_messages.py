"""Decoding of RPC messages: valid, or rejected as a whole."""

import ormsgpack
import pytest

from common.contracts.company import Country
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.messaging.rpc import (
    Undecodable,
    decode_requests,
    decode_results,
    encode_requests,
    encode_results,
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
        ormsgpack.packb([]),
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


def test_results_arrive_in_order_each_a_failure_or_a_reply() -> None:
    failure = Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no company matches")
    reply = LookupReply(body=b'{"vat":"12345674"}', tag="1")

    results = decode_results(encode_results([reply, failure]))

    assert results == [(None, reply.model_dump()), (failure, None)]


@pytest.mark.parametrize("body", [b"", b"\xc1", ormsgpack.packb(7), ormsgpack.packb([[None]])])
def test_a_message_that_is_no_list_of_results_is_refused(body: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_results(body)
