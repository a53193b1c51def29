"""Which servers and links of a route get messages: not the silent ones, and the near ones first."""

from dataclasses import dataclass, field
from typing import cast

from common.messaging.rpc_links import FAR, PROBE, Distance, Link, Silence
from common.messaging.rpc_routes import Batch, Route, RouteQueue


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
    far, near = (route_queue.add(name, name) for name in ("far", "near"))
    far.distance.answered(asked_at=0.0, now=2 * FAR)
    near.distance.answered(asked_at=0.0, now=FAR / 2)

    idle = route_queue.free_server()
    near.server.in_flight = 2
    busy = route_queue.free_server()

    assert (idle, busy) == (near.server, far.server)


def test_the_first_answer_to_the_latest_question_tells_the_distance() -> None:
    distance = Distance()

    seen = []
    for asked_at, now in [(0.0, 0.01), (0.0, 0.4), (2.0, 2.4), (0.0, 2.5), (4.0, 4.01)]:
        distance.answered(asked_at, now)
        seen.append(distance.is_far)

    assert seen == [False, False, True, True, False]


def test_the_near_queue_of_a_server_gets_its_messages() -> None:
    route_queue = RouteQueue(Route("rpc.test.queues"))
    far, near = (route_queue.add(name, "server") for name in ("far", "near"))
    far.distance.answered(asked_at=0.0, now=2 * FAR)

    far.server.introduced(refuses=False)

    assert far.server.queues == [near, far]


@dataclass
class AnyLink:
    """A link whose node answers, and that notes what is published."""

    silence: Silence = field(default_factory=Silence)
    published: list[str] = field(default_factory=list)

    def probe(self, now: float) -> None:
        """Does nothing: the node has answered."""

    def publish(self, routing_key: str, *_args: object, **_options: object) -> bool:
        self.published.append(routing_key)
        return True


def test_every_queue_of_a_server_is_probed_for_a_message_without_a_reply() -> None:
    route_queue = RouteQueue(Route("rpc.test.probes"))
    used, other = (route_queue.add(name, "server") for name in ("used", "other"))
    link = AnyLink()
    batch = Batch(route_queue, used, cast(Link, link), [], sent_at=0.0, deadline=9.0)

    batch.probe(PROBE)
    probed, after_the_first = list(link.published), used.server.rank
    batch.probe(2 * PROBE)

    assert probed == ["used", "other"]
    assert (after_the_first, other.server.rank) == (0, 2)
