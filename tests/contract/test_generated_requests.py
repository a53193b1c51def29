"""Generated requests are answered as the OpenAPI document describes."""

import asyncio
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import assume, settings
from requests import Session

from common.contracts.lookup import LookupReply, LookupRequest
from common.mongo import connected, database
from common.runtime.public_port.rates import Rate
from gateway.access.clients import Caller
from gateway.lookups.lookup import COMPANY_PATH
from gateway.problems import CompanyNotFound
from gateway.routes import LOOKUP_PATHS
from tests.builders.openapi import DOCUMENT, example, operations
from tests.fakes.gateway import FakeLookups
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar

#: A little less than the request line that aiohttp accepts.
MAX_QUERY_LENGTH = 8_000
UNLIMITED = Rate(10**8, 60)
Served = tuple[str, dict[str, str]]


A_GROUP = LookupReply(body=orjson.dumps(example("GroupAnswer")), tag="", vat="12345674")


class FoundOrNot(FakeLookups):
    """Finds a company for every other length of the term."""

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, **_options: Any
    ) -> LookupReply:
        if len(request.questions[0].term) % 2:
            raise CompanyNotFound("no company matches")
        found = await super().look_up(request, caller=caller)
        return found if request.group_levels is None else A_GROUP


@pytest.fixture(scope="module")
def served(mongo_url: str, module_webhooks: str) -> Iterator[Served]:
    """URL and key of a gateway in a separate thread, since schemathesis blocks."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    found: list[Served] = []
    started = asyncio.Event()

    async def serve() -> None:
        async with (
            connected(mongo_url, name="test", operation_timeout=None) as mongo,
            a_gateway(
                lookups=FoundOrNot(),
                registrar=Registrar(World(database(mongo, module_webhooks), limit=10_000)),
                anonymous_rate=UNLIMITED,
                key_rate=UNLIMITED,
            ) as gateway,
        ):
            found.append((str(gateway.client.make_url("/")), gateway.issue()))
            started.set()
            await stop.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    asyncio.run_coroutine_threadsafe(started.wait(), loop).result(timeout=60)
    yield found[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Keeps its connection: without one, each request would have one of its own."""
    with Session() as session:
        # No proxies of the environment, which is read again for each request.
        session.trust_env = False
        yield session


@cache
def described() -> Any:
    """The document, read by Schemathesis: a second for its import in the processes that need it."""
    import schemathesis
    from schemathesis.checks import load_all_checks

    load_all_checks()
    document = schemathesis.openapi.from_dict(DOCUMENT)
    document.config.update(request_timeout=60)  # on a busy machine the default of 10 s is too short
    return document


#: Of the lookups of one type, which differ in the type alone, one path stands for all.
OPERATIONS = [
    pytest.param(path, method, id=f"{method.upper()} {path}")
    for path, method, operation in operations()
    if not {"Events", "Keys"} & set(operation["tags"])
    if path in ("/api", COMPANY_PATH, "/api/vat") or path not in LOOKUP_PATHS
]


@pytest.mark.parametrize("path, method", OPERATIONS)
def test_generated_requests_are_answered_as_described(
    path: str, method: str, served: Served, session: Session
) -> None:
    from schemathesis.generation.hypothesis import builder

    def exchange(case: Any) -> None:
        assert_answered_as_described(case, served, session)

    document = described()
    operation = document[path][method]
    # Each operation gets a request for each part of its description, and a few by chance.
    config = builder.HypothesisTestConfig(
        project=document.config,
        modes=list(builder.HypothesisTestMode),
        explicit_settings=settings(max_examples=settings().max_examples // 4),
    )

    builder.create_test(operation=operation, test_func=exchange, config=config)()


# An OpenAPI document cannot express every rule: that exactly one search is given, a number's length
# by country, public hosts, past times, a text that is blank once it is trimmed. A request that fits
# the schemas may rightly be rejected, hence `positive_data_acceptance` is excluded.


def assert_answered_as_described(case: Any, served: Served, session: Session) -> None:
    from schemathesis.checks import positive_data_acceptance
    from schemathesis.specs.openapi.checks import negative_data_rejection

    url, key = served
    # Longer request lines never reach the handler.
    assume(len(urlencode(case.query or {}, doseq=True)) < MAX_QUERY_LENGTH)
    excluded = [positive_data_acceptance]

    if case.operation.path in ("/api/batch", "/api/match"):
        excluded.append(negative_data_rejection)  # an invalid lookup is a result of a valid batch

    headers = key if case.operation.definition.raw.get("security") else {}

    response = case.call(base_url=url, headers=headers, session=session)
    if response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        excluded.append(negative_data_rejection)  # a refusal, too, which the check does not know
    transport = {"base_url": url, "headers": headers, "session": session}
    case.validate_response(
        response, headers=headers, excluded_checks=excluded, transport_kwargs=transport
    )
