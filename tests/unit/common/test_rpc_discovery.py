"""How often clients ask all servers for their queues."""

from common.messaging.rpc_links import FAR, PROBE
from common.messaging.rpc_routes import FEW_QUEUES, Route, RouteQueue


def queue_with(servers: int) -> RouteQueue:
    """A route with so many servers, each with two queues."""
    route_queue = RouteQueue(Route("rpc.test.discovery"))
    for number in range(2 * servers):
        route_queue.add(f"queue {number}", f"server {number // 2}")
    return route_queue


def test_the_interval_between_announcements_grows_with_the_servers() -> None:
    intervals = {servers: queue_with(servers).question_interval for servers in (1, 8, 80, 800)}

    assert intervals == {1: 2.0, 8: 2.0, 80: 20.0, 800: 200.0}


def test_a_server_that_refuses_is_checked_more_often() -> None:
    route_queue = queue_with(80)
    whole = route_queue.question_interval
    next(iter(route_queue.servers.values())).refused()

    assert route_queue.question_interval == whole / 8
    assert queue_with(0).question_interval < queue_with(FEW_QUEUES).question_interval


def test_servers_are_asked_soon_after_a_message_has_waited_unusually_long() -> None:
    route_queue = queue_with(1)
    for _ in range(100):
        route_queue.recent.add(2 * FAR)
    intervals = []
    for seconds in (FAR / 2, FAR * 2, FAR * 3):
        route_queue.waits(seconds)
        intervals.append(route_queue.question_interval)

    assert intervals == [2.0, 2.0, PROBE]
