"""Which servers and links of a route get messages: not the silent ones, and the near ones first."""

from common.messaging.rpc_links import PROBE, Silence
from common.messaging.rpc_routes import Route, RouteQueue


def test_a_probe_without_an_answer_is_silence_until_something_arrives() -> None:
    changes: list[bool] = []
    silence = Silence(lambda: changes.append(silence.is_silent))

    due = [silence.is_due(at) for at in (0.0, PROBE / 2, PROBE, 2 * PROBE)]
    silence.heard()

    assert due == [True, False, False, False]
    assert changes == [True, False]


def test_something_slow_that_answers_probes_is_never_silent() -> None:
    silence = Silence()

    for at in range(10):
        assert silence.is_due(float(at))
        assert not silence.is_due(at + PROBE / 2)
        silence.heard()

    assert not silence.is_silent


def test_a_server_far_away_gets_a_message_when_the_near_one_is_busy() -> None:
    route_queue = RouteQueue(Route("rpc.test.far"))
    far, near = (route_queue.add(name, name).server for name in ("far", "near"))
    far.answered(0.5)
    near.answered(0.005)

    idle = route_queue.free_server()
    near.in_flight = 2
    busy = route_queue.free_server()

    assert (idle, busy) == (near, far)


def test_a_server_that_was_slow_once_gets_a_message_again() -> None:
    route_queue = RouteQueue(Route("rpc.test.slow"))
    slow = route_queue.add("slow", "slow").server
    slow.answered(0.8)
    was_slow = slow.load

    for _ in range(10):
        slow.introduced()

    assert (was_slow, slow.load) == (1, 0)
