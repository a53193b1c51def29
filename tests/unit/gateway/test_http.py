"""The format that `Accept` selects, entity tags, codings, bodies, and one code for each cause."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from common.contracts.failures import Failure, FailureCode, FieldError
from common.runtime.public_port.conditional import accepts_gzip, etag_matches
from common.runtime.public_port.server import LateBody
from gateway import problems
from gateway.http.parameters import Format, entity_tag, prefers_xml
from gateway.http.responses import body_of, problem_of_aiohttp, problem_response
from gateway.problems import InvalidBody, problem_of


@pytest.mark.parametrize(
    "accept, xml",
    [
        ("application/xml", True),
        ("Application/XML; charset=utf-8", True),
        ("application/xml, application/json;q=0.9", True),
        ("application/json;q=0.2,application/xml;q=0.3", True),
        ("application/xml,*/*;q=0.8", True),
        ("application/*, application/json;q=0.1", True),
        ("application/json;q=0, */*", True),
        ("", False),
        ("*/*", False),
        ("application/*", False),
        ("application/json", False),
        ("application/json, application/xml", False),
        ("application/json, application/xml;q=0.9", False),
        ("application/xml;q=0", False),
        ("application/xml;q=2", False),
        ("application/xml;q=x", False),
        ("text/plain", False),
        (",;=,", False),
        # A browser that opens a link.
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", False),
    ],
)
def test_xml_is_chosen_where_it_is_preferred_to_json(accept: str, *, xml: bool) -> None:
    assert prefers_xml(accept) is xml


TAG = entity_tag("1-dk12345674-3", Format.JSON)


@pytest.mark.parametrize(
    "tag, header, matches",
    [
        *((TAG, header, True) for header in (TAG, f"W/{TAG}", f'"other", {TAG}', "*", " * ")),
        (TAG, f'W/"a",W/{TAG},"b"', True),
        *((TAG, header, False) for header in (None, "", '"other"', '"*"')),
        *((TAG, header, False) for header in (TAG.strip('"'), TAG.upper())),
        # A comma inside a tag does not end it.
        ('"a,b"', '"x", "a,b"', True),
        ('"b"', '"a,"b', False),
    ],
)
def test_a_tag_the_client_has_matches(tag: str, header: str | None, *, matches: bool) -> None:
    assert etag_matches(tag, header) is matches


@pytest.mark.parametrize(
    "accept_encoding, accepted",
    [
        *((text, True) for text in ("gzip", "deflate, gzip;q=0.5, br", "GZIP ; Q=0.001")),
        *((text, True) for text in ("x-gzip", "*", "br;q=1.0, *;q=0.1")),
        *((text, False) for text in ("", "identity", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0")),
        *((text, False) for text in ("gzip;q=much", "gzip;q=2", ";,;;")),
    ],
)
def test_gzip_is_sent_only_if_accepted(accept_encoding: str, *, accepted: bool) -> None:
    assert accepts_gzip(accept_encoding) is accepted


@pytest.fixture
async def body() -> StreamReader:
    """A body that has not arrived."""
    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.connection_made(asyncio.Transport())
    return StreamReader(protocol, 2**16, loop=loop)


def request_of(body: StreamReader) -> web.Request:
    return make_mocked_request("POST", "/api/batch", payload=body)


@pytest.mark.parametrize(
    "error, text",
    [
        (LateBody("the body did not arrive within 10 s"), "within 10 s"),
        (web.RequestPayloadError(), None),
        (ConnectionResetError(), None),
    ],
)
async def test_a_late_or_truncated_body_is_the_clients_error(
    body: StreamReader, error: Exception, text: str | None
) -> None:
    body.set_exception(error)

    with pytest.raises(InvalidBody, match=text):
        await body_of(request_of(body))


async def test_a_body_is_read_to_its_end(body: StreamReader) -> None:
    body.feed_data(b"{")
    body.feed_data(b"}")
    body.feed_eof()

    assert await body_of(request_of(body)) == b"{}"


#: Failures that name no cause in the domain: the gateway supplies code and text.
NEUTRAL = {
    FailureCode.DEADLINE_EXCEEDED: problems.LookupTimeout,
    FailureCode.UNAVAILABLE: problems.ServiceUnavailable,
    FailureCode.INTERNAL: problems.InternalError,
}


@pytest.mark.parametrize("code", sorted(set(FailureCode) - set(NEUTRAL)))
def test_a_failure_of_the_domain_is_a_problem_of_the_same_code(code: FailureCode) -> None:
    problem = problem_of(Failure(code=code, detail="what happened"))

    assert (problem.code, problem.detail) == (code, "what happened")


@pytest.mark.parametrize("code", NEUTRAL)
def test_a_neutral_failure_is_a_problem_with_a_text_of_the_gateway(code: FailureCode) -> None:
    problem = problem_of(Failure(code=code))

    assert type(problem) is NEUTRAL[code]
    assert problem.detail != ""


@pytest.mark.parametrize(
    "problem, text",
    [
        (problems.InternalError(), "an internal error"),
        (problems.LookupTimeout(), "the lookup took too long; retry"),
        (problems.LookupTimeout("later"), "later"),
    ],
)
def test_a_problem_without_a_detail_has_the_text_of_its_code(
    problem: problems.Problem, text: str
) -> None:
    assert (problem.detail, str(problem)) == (text, text)


def test_an_operation_that_may_have_been_carried_out_is_no_timeout_of_a_lookup() -> None:
    late = Failure(code=FailureCode.DEADLINE_EXCEEDED)

    problem = problem_of(late, deadline=problems.ServiceUnavailable)

    assert type(problem) is problems.ServiceUnavailable


@pytest.mark.parametrize(
    "problem, seconds", [(problems.ServiceUnavailable(), "5"), (problems.LookupTimeout(), "1")]
)
def test_a_fault_of_the_service_says_when_to_try_again(
    problem: problems.Problem, seconds: str
) -> None:
    response = problem_response(problem, "id", Format.JSON)

    assert response.headers["Retry-After"] == seconds


def test_a_failures_errors_reach_the_client() -> None:
    fault = FieldError(parameter="url", message="must be https")

    problem = problem_of(Failure(code=FailureCode.INVALID_BODY, detail="no", errors=(fault,)))

    assert isinstance(problem, InvalidBody)
    assert problem.errors == (fault,)


@pytest.mark.parametrize(
    "error, type_",
    [
        (web.HTTPNotFound(), problems.NotFound),
        (web.HTTPMethodNotAllowed("PUT", {"GET"}), problems.MethodNotAllowed),
        (web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2), problems.BodyTooLarge),
        (web.HTTPBadRequest(), InvalidBody),
        (web.HTTPInsufficientStorage(), problems.InternalError),
    ],
)
def test_aiohttp_errors_become_problems(error: web.HTTPException, type_: type[Any]) -> None:
    problem = problem_of_aiohttp(error)

    assert isinstance(problem, type_)
    assert str(error.reason) not in problem.detail
