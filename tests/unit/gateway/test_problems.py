"""One code per cause, and each with its status."""

import pytest
from aiohttp import web

from common.contracts.failures import Failure, FailureCode, FieldError
from gateway import problems
from gateway.http.problem_responses import problem_of_aiohttp
from gateway.problems import problem_of

#: Failures that name no cause in the domain: the gateway supplies code and text.
NEUTRAL = {
    FailureCode.DEADLINE_EXCEEDED: problems.LookupTimeout,
    FailureCode.UNAVAILABLE: problems.ServiceUnavailable,
    FailureCode.INTERNAL: problems.InternalError,
}


@pytest.mark.parametrize("code", sorted(set(FailureCode) - set(NEUTRAL)))
def test_a_failure_of_the_domain_is_a_problem_of_the_same_code(code: FailureCode) -> None:
    problem = problem_of(Failure(code=code, detail="what happened"))

    assert problem.code == code
    assert problem.detail == "what happened"


@pytest.mark.parametrize("code", NEUTRAL)
def test_a_neutral_failure_is_a_problem_with_a_text_of_the_gateway(code: FailureCode) -> None:
    problem = problem_of(Failure(code=code))

    assert type(problem) is NEUTRAL[code]
    assert problem.detail != ""


def test_an_operation_that_may_have_been_carried_out_is_no_timeout_of_a_lookup() -> None:
    late = Failure(code=FailureCode.DEADLINE_EXCEEDED)

    problem = problem_of(late, deadline=problems.ServiceUnavailable)

    assert type(problem) is problems.ServiceUnavailable


def test_a_failures_errors_reach_the_client() -> None:
    fault = FieldError(parameter="url", message="must be https")

    problem = problem_of(Failure(code=FailureCode.INVALID_BODY, detail="no", errors=(fault,)))

    assert isinstance(problem, problems.InvalidBody)
    assert problem.errors == (fault,)


@pytest.mark.parametrize(
    "error,kind",
    [
        (web.HTTPNotFound(), problems.NotFound),
        (web.HTTPMethodNotAllowed("PUT", {"GET"}), problems.MethodNotAllowed),
        (web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2), problems.BodyTooLarge),
        (web.HTTPBadRequest(), problems.InvalidBody),
        (web.HTTPInsufficientStorage(), problems.InternalError),
    ],
)
def test_aiohttp_errors_become_problems(
    error: web.HTTPException, kind: type[problems.Problem]
) -> None:
    problem = problem_of_aiohttp(error)

    assert isinstance(problem, kind)
    assert str(error.reason) not in problem.detail
