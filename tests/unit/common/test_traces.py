"""W3C Trace Context: headers that continue a trace, and headers that are ignored."""

import pytest

from common.contracts.traces import TraceContext, parse, read

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_has_a_trace_a_span_and_flags() -> None:
    context = parse(PARENT)

    assert context is not None
    assert (context.trace_id, context.span_id, context.flags) == (TRACE, SPAN, 1)


@pytest.mark.parametrize(
    "given, kept",
    [
        (f" {PARENT} ", PARENT),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-adds", PARENT),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-03"),
    ],
)
def test_a_traceparent_is_passed_on_in_version_00(given: str, kept: str) -> None:
    assert parse(given) == TraceContext(kept)


@pytest.mark.parametrize(
    "given",
    [
        None,
        7,
        b"00",
        "",
        "00",
        PARENT.upper(),
        f"{PARENT}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"{PARENT}\n{PARENT}",
        "٠٠-" + PARENT[3:],
    ],
)
def test_a_malformed_traceparent_is_none(given: object) -> None:
    assert parse(given, "vendor=1") is None


@pytest.mark.parametrize("state", [None, 7, "", "a=\n", "a=é", "a" * 513])
def test_a_malformed_tracestate_is_dropped(state: object) -> None:
    assert parse(PARENT, state) == TraceContext(PARENT)


@pytest.mark.parametrize("context", [TraceContext(PARENT), TraceContext(PARENT, "a=1,b=2")])
def test_a_context_is_read_from_its_fields(context: TraceContext) -> None:
    assert read(context.fields()) == context
