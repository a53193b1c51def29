"""Flame graphs of `python -m bench.flames`."""

import pytest

from bench.flames import owner, read, shares, svg

_MAIN = "thread (7): MainThread;run (uvloop/__init__.py:92)"
FOLDED = f"""\
{_MAIN};handle (gateway/http/middleware.py:165) 30
{_MAIN};handle (gateway/http/middleware.py:165);loads (json/__init__.py:3) 10
{_MAIN};handle (gateway/http/middleware.py:170);info (structlog/_native.py:1);dump (orjson.py:2) 20
{_MAIN};StreamWriter._write (aiohttp/http_writer.py:104) 25
{_MAIN};start <lambda> (aiohttp/web_protocol.py:1) 15
{_MAIN};select (selectors.py:415) 500
thread (8): Thread-1;find (lookup/search/searcher.py:3) 400
"""


def test_waits_and_other_threads_do_not_count() -> None:
    assert read(FOLDED).total() == 100


def test_a_share_is_that_of_whoever_called_the_library() -> None:
    assert shares(read(FOLDED)) == pytest.approx(
        {"our code": 0.4, "sockets": 0.25, "logging": 0.2, "aiohttp": 0.15}
    )


@pytest.mark.parametrize(
    "frames, whose",
    [
        (["run (uvloop/__init__.py:92)"], "Python"),
        (["Runner.run (asyncio/runners.py:118)"], "event loop"),
        (["find (lookup/store/reads.py:1)", "decode_all (bson/__init__.py:1206)"], "PyMongo"),
        (["find (lookup/store/reads.py:1)", "observe (prometheus_client/metrics.py:6)"], "metrics"),
        (["call (common/messaging/rpc_client.py:1)", "BaseModel (pydantic/main.py:2)"], "pydantic"),
    ],
)
def test_the_innermost_package_is_the_owner(frames: list[str], whose: str) -> None:
    assert owner(tuple(frames)) == whose


def test_a_function_is_drawn_once_below_its_caller_and_named() -> None:
    drawn = svg("gateway <1>", read(FOLDED))

    assert drawn.count("<title>handle (gateway/http/middleware.py): 60.0%</title>") == 1
    assert "<title>start &lt;lambda&gt; (aiohttp/web_protocol.py): 15.0%</title>" in drawn
