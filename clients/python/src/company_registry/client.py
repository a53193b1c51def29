"""The client, synchronous and asynchronous: two drivers of the same operations."""

import asyncio
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, closing
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from company_registry import (
    customer_file_operations,
    exports,
    key_operations,
    matching,
    operations,
    streams,
    watchlist_operations,
    webhook_operations,
)
from company_registry.http import (
    Item,
    NextPart,
    Outcome,
    Part,
    Request,
    Response,
    Sleep,
    Stream,
    stream_of,
)
from company_registry.operations import Operation, perform
from company_registry.retries import Retries
from company_registry.sender import Sender, TimeLeft

P = ParamSpec("P")
T = TypeVar("T")


class _Call(Generic[P, T]):
    """An operation as a method: it blocks on a Client, and is a coroutine on an AsyncClient."""

    def __init__(self, operation: Callable[P, Operation[T]]) -> None:
        self.operation = operation
        self.__doc__ = operation.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: "AsyncClient", owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: "Client | AsyncClient | None", owner: type) -> Any:
        return self if client is None else client._call(self.operation)


class _Streamed(Generic[P, T]):
    """A stream as a method that returns an iterator, asynchronous on an AsyncClient."""

    def __init__(self, stream: Callable[Concatenate[Retries, P], Stream[T]]) -> None:
        self.stream = stream
        self.__doc__ = stream.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, Generator[T]]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, AsyncGenerator[T]]: ...
    def __get__(self, client: "Client | AsyncClient | None", owner: type) -> Any:
        return self if client is None else client._streamed(self.stream)


class _Methods:
    """The methods of both clients; their parameters are those of the operations."""

    lookup = _Call(operations.lookup)
    lookup_document = _Call(operations.lookup_document)
    search = _Call(operations.search)
    find_page = _Call(operations.find_page)
    find = _Streamed(streams.find)
    export = _Streamed(exports.export)
    export_lines = _Streamed(exports.export_lines)
    codes = _Call(operations.codes)
    suggest = _Call(operations.suggest)
    suggestion_page = _Call(operations.suggestion_page)
    production_unit_page = _Call(operations.production_unit_page)
    production_units = _Streamed(streams.production_units)
    einvoicing_page = _Call(operations.einvoicing_page)
    einvoicing = _Streamed(streams.einvoicing)
    owner_page = _Call(operations.owner_page)
    owners = _Streamed(streams.owners)
    role_page = _Call(operations.role_page)
    roles = _Streamed(streams.roles)
    group = _Call(operations.group)
    history_page = _Call(operations.history_page)
    history = _Streamed(streams.history)
    accounts_page = _Call(operations.accounts_page)
    accounts = _Streamed(streams.accounts)
    batch = _Streamed(streams.batch)
    match = _Streamed(matching.match)
    events = _Streamed(streams.events)
    event_page = _Call(operations.event_page)
    get_event = _Call(operations.get_event)
    event_types = _Call(operations.event_types)
    list_webhooks = _Call(webhook_operations.list_webhooks)
    get_webhook = _Call(webhook_operations.get_webhook)
    create_webhook = _Call(webhook_operations.create_webhook)
    update_webhook = _Call(webhook_operations.update_webhook)
    delete_webhook = _Call(webhook_operations.delete_webhook)
    rotate_secret = _Call(webhook_operations.rotate_secret)
    send_test = _Call(webhook_operations.send_test)
    list_attempts = _Call(webhook_operations.list_attempts)
    get_delivery = _Call(webhook_operations.get_delivery)
    retry_delivery = _Call(webhook_operations.retry_delivery)
    recover = _Call(webhook_operations.recover)
    webhook_sources = _Call(webhook_operations.webhook_sources)
    list_watchlists = _Call(watchlist_operations.list_watchlists)
    get_watchlist = _Call(watchlist_operations.get_watchlist)
    create_watchlist = _Call(watchlist_operations.create_watchlist)
    update_watchlist = _Call(watchlist_operations.update_watchlist)
    delete_watchlist = _Call(watchlist_operations.delete_watchlist)
    renew_feed = _Call(watchlist_operations.renew_feed)
    end_feed = _Call(watchlist_operations.end_feed)
    list_digests = _Call(watchlist_operations.list_digests)
    add_digest = _Call(watchlist_operations.add_digest)
    delete_digest = _Call(watchlist_operations.delete_digest)
    watched_page = _Call(watchlist_operations.watched_page)
    watched = _Streamed(streams.watched)
    change_watched = _Call(watchlist_operations.change_watched)
    replace_watched = _Call(watchlist_operations.replace_watched)
    registers = _Call(operations.registers)
    list_customer_files = _Call(customer_file_operations.list_customer_files)
    create_customer_file = _Call(customer_file_operations.create_customer_file)
    get_customer_file = _Call(customer_file_operations.get_customer_file)
    delete_customer_file = _Call(customer_file_operations.delete_customer_file)
    put_customer_part = _Call(customer_file_operations.put_customer_part)
    customer_part = _Call(customer_file_operations.customer_part)
    add_customer_decision = _Call(customer_file_operations.add_customer_decision)
    customer_decisions = _Call(customer_file_operations.customer_decisions)
    list_keys = _Call(key_operations.list_keys)
    create_key = _Call(key_operations.create_key)
    rotate_key = _Call(key_operations.rotate_key)
    end_key = _Call(key_operations.end_key)
    key_requests = _Call(key_operations.key_requests)
    me = _Call(operations.me)


class Client(Sender[httpx.Client], _Methods):
    """A client that blocks; safe to use from several threads.

    ```python
    with Client("https://registry.example.com", api_key) as registry:
        company = registry.lookup("dk", "12345674")
    ```
    """

    def _opened(self) -> httpx.Client:
        return httpx.Client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless the caller provided the HTTP client."""
        if self.is_own:
            self.http.close()

    def _call(self, operation: Callable[P, Operation[T]]) -> Callable[P, T]:
        @wraps(operation)
        def call(*args: P.args, **options: P.kwargs) -> T:
            steps = perform(operation(*args, **options), self.retries)
            with closing(self._iterate(stream_of(steps))) as values:
                return next(values)

        return call

    def _streamed(
        self, stream: Callable[Concatenate[Retries, P], Stream[T]]
    ) -> Callable[P, Generator[T]]:
        @wraps(stream)
        def call(*args: P.args, **options: P.kwargs) -> Generator[T]:
            return self._iterate(stream(self.retries, *args, **options))

        return call

    def _iterate(self, stream: Stream[T]) -> Generator[T]:
        outcome: Outcome | None = None
        with closing(stream), ExitStack() as in_parts:
            parts: Iterator[bytes] = iter(())
            while True:
                try:
                    step = stream.send(outcome)
                except StopIteration:
                    return
                outcome = None
                if isinstance(step, Item):
                    yield step.value
                elif isinstance(step, NextPart):
                    outcome = self._part(parts)
                elif isinstance(step, Request) and step.in_parts:
                    in_parts.close()
                    outcome, parts = self._opened_parts(step, in_parts)
                else:
                    outcome = self._take(step)

    def _take(self, step: Request | Sleep) -> Outcome | None:
        if isinstance(step, Sleep):
            time.sleep(step.seconds)
            return None
        left = self.time_left(step)
        try:
            with self.http.stream(**self._bounded(step, left)) as answer:
                return self._whole(answer, left)
        except httpx.RequestError as error:
            return self.unanswered(error, left)

    def _bounded(self, request: Request, left: TimeLeft) -> dict[str, Any]:
        arguments = self.arguments(request)
        arguments["timeout"].read = left.wait
        return arguments

    def _whole(self, answer: httpx.Response, left: TimeLeft) -> Response:
        body = self.body(answer)
        if not answer.is_stream_consumed:
            for chunk in answer.iter_raw():
                body.add(chunk)
                left.check()
        return Response(answer.status_code, answer.headers, body.content)

    def _opened_parts(self, step: Request, stack: ExitStack) -> tuple[Outcome, Iterator[bytes]]:
        left = self.time_left(step)
        try:
            answer = stack.enter_context(self.http.stream(**self._bounded(step, left)))
            if answer.is_error:
                return self._whole(answer, left), iter(())
            consumed = answer.is_stream_consumed
            parts = iter((answer.content,)) if consumed else _paced(answer.iter_raw(), left)
            return Response(answer.status_code, answer.headers, b""), parts
        except httpx.RequestError as error:
            return self.unanswered(error), iter(())

    def _part(self, parts: Iterator[bytes]) -> Outcome:
        try:
            return Part(next(parts, None))
        except httpx.RequestError as error:
            return self.unanswered(error)


class AsyncClient(Sender[httpx.AsyncClient], _Methods):
    """A client for asyncio: the methods of `Client` as coroutines and asynchronous iterators.

    ```python
    async with AsyncClient("https://registry.example.com", api_key) as registry:
        company = await registry.lookup("dk", "12345674")
    ```
    """

    def _opened(self) -> httpx.AsyncClient:
        return httpx.AsyncClient()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, unless the caller provided the HTTP client."""
        if self.is_own:
            await self.http.aclose()

    def _call(self, operation: Callable[P, Operation[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(operation)
        async def call(*args: P.args, **options: P.kwargs) -> T:
            steps = perform(operation(*args, **options), self.retries)
            async with aclosing(self._iterate(stream_of(steps))) as values:
                return await anext(values)

        return call

    def _streamed(
        self, stream: Callable[Concatenate[Retries, P], Stream[T]]
    ) -> Callable[P, AsyncGenerator[T]]:
        @wraps(stream)
        def call(*args: P.args, **options: P.kwargs) -> AsyncGenerator[T]:
            return self._iterate(stream(self.retries, *args, **options))

        return call

    async def _iterate(self, stream: Stream[T]) -> AsyncGenerator[T]:
        outcome: Outcome | None = None
        with closing(stream):
            async with AsyncExitStack() as in_parts:
                parts = _async(())
                while True:
                    try:
                        step = stream.send(outcome)
                    except StopIteration:
                        return
                    outcome = None
                    if isinstance(step, Item):
                        yield step.value
                    elif isinstance(step, NextPart):
                        outcome = await self._part(parts)
                    elif isinstance(step, Request) and step.in_parts:
                        await in_parts.aclose()
                        outcome, parts = await self._opened_parts(step, in_parts)
                    else:
                        outcome = await self._take(step)

    async def _take(self, step: Request | Sleep) -> Outcome | None:
        if isinstance(step, Sleep):
            await asyncio.sleep(step.seconds)
            return None
        left = self.time_left(step)
        try:
            async with (
                _bounded(left.total),
                self.http.stream(**self.arguments(step)) as answer,
            ):
                return await self._whole(answer)
        except httpx.RequestError as error:
            return self.unanswered(error, left)

    async def _whole(self, answer: httpx.Response) -> Response:
        body = self.body(answer)
        if not answer.is_stream_consumed:
            async for chunk in answer.aiter_raw():
                body.add(chunk)
        return Response(answer.status_code, answer.headers, body.content)

    async def _opened_parts(
        self, step: Request, stack: AsyncExitStack
    ) -> tuple[Outcome, AsyncIterator[bytes]]:
        left = self.time_left(step)
        try:
            async with _bounded(left.total):
                answer = await stack.enter_async_context(self.http.stream(**self.arguments(step)))
                if answer.is_error:
                    return await self._whole(answer), _async(())
            consumed = answer.is_stream_consumed
            parts = (
                _async((answer.content,)) if consumed else _async_paced(answer.aiter_raw(), left)
            )
            return Response(answer.status_code, answer.headers, b""), parts
        except httpx.RequestError as error:
            return self.unanswered(error), _async(())

    async def _part(self, parts: AsyncIterator[bytes]) -> Outcome:
        try:
            return Part(await anext(parts, None))
        except httpx.RequestError as error:
            return self.unanswered(error)


def _paced(parts: Iterator[bytes], left: TimeLeft) -> Iterator[bytes]:
    left.go_on()
    for part in parts:
        left.received(len(part))
        yield part
        left.go_on()


async def _async_paced(parts: AsyncIterator[bytes], left: TimeLeft) -> AsyncIterator[bytes]:
    while True:
        left.go_on()
        async with _bounded(left.seconds):
            part = await anext(parts, None)
        if part is None:
            return
        left.received(len(part))
        yield part


@asynccontextmanager
async def _bounded(seconds: float) -> AsyncIterator[None]:
    """Ends the body when the time is over; raises the error of a wait that took too long."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise httpx.ReadTimeout("the answer has not come to its end") from None


async def _async(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
