"""Readiness of a process."""

import pytest
from prometheus_client import REGISTRY

from common.contracts.failures import Unavailable
from common.runtime.health import Health, Required


class Dependency:
    """A dependency whose state a test sets."""

    def __init__(self, failure: Exception | str | None = None) -> None:
        self.failure = failure

    async def check(self) -> str | None:
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure


def serving(check: Dependency, required: Required = Required.ALWAYS) -> Health:
    health = Health(serving=True)
    health.add("database", check.check, required=required)
    return health


async def test_a_process_is_not_ready_before_it_has_started() -> None:
    assert await Health().report() == (False, {})


@pytest.mark.parametrize(
    "failure, result",
    [
        ("not connected", "not connected"),
        (Unavailable("the database cannot be reached"), "the database cannot be reached"),
        (ValueError("no such certificate"), "the check failed; the log has the cause"),
    ],
    ids=["message", "unavailable", "bug"],
)
async def test_any_failure_of_a_check_is_a_failed_check(
    failure: Exception | str, result: str
) -> None:
    assert await serving(Dependency(failure)).report() == (False, {"database": result})


async def test_a_check_that_must_succeed_first_is_only_reported_afterwards() -> None:
    dependency = Dependency("not connected")
    health = serving(dependency, Required.FIRST)

    never_reached = await health.report()
    dependency.failure = None
    reached = await health.report()
    dependency.failure = "not connected"
    lost = await health.report()

    assert never_reached == (False, {"database": "not connected"})
    assert reached == (True, {"database": "ok"})
    assert lost == (True, {"database": "not connected"})


async def test_a_check_that_is_not_required_never_changes_readiness() -> None:
    health = serving(Dependency("5 s behind"), Required.NEVER)

    assert await health.report() == (True, {"database": "5 s behind"})


async def test_metrics_repeat_the_report() -> None:
    await serving(Dependency("not connected")).report()

    assert REGISTRY.get_sample_value("service_ready") == 0
    assert REGISTRY.get_sample_value("dependency_up", {"dependency": "database"}) == 0


async def test_checks_may_be_added_during_a_report() -> None:
    health = Health(serving=True)

    async def add_another() -> None:
        health.add("broker", Dependency().check)

    health.add("database", add_another)

    assert await health.report() == (True, {"database": "ok"})
