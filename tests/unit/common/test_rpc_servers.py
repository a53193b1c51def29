"""Which server of a route gets the next message, over which queue, and how often all are asked."""

from common.messaging.rpc_servers import FEW_QUEUES, Route, RouteQueue


def a_route_queue(name: str, servers: int) -> RouteQueue:
    """A route with so many servers, each with two queues."""
    route_queue = RouteQueue(Route(f"rpc.test.{name}"))
    for number in range(2 * servers):
        route_queue.servers.introduced(f"queue {number}", f"server {number // 2}", 1)
    return route_queue


def test_the_server_with_the_fewest_messages_is_the_best_and_a_suspect_one_the_last() -> None:
    servers = a_route_queue("load", 2).servers
    first, second = servers
    best = []
    for _ in range(3):
        server = servers.best()
        assert server is not None
        best.append(server.name)
        servers.begin(server)
    second.is_suspect = True

    assert best == ["server 0", "server 1", "server 0"]
    assert (first.in_flight, second.in_flight) == (2, 1)
    assert servers.best() is first
    assert servers.introduced("queue 3", "server 1", 1) is False
    assert servers.best() is second


def test_a_server_that_refuses_comes_after_one_that_is_late() -> None:
    servers = a_route_queue("refused", 2).servers
    first, second = servers
    first.is_suspect = first.is_refusing = second.is_suspect = True
    second.in_flight = 1

    best = servers.best()
    servers.introduced("queue 0", "server 0", 1)

    assert best is second
    assert servers.best() is first


def test_a_server_gets_messages_in_the_queue_from_which_it_answered_a_question_first() -> None:
    servers = a_route_queue("queues", 1).servers
    [server] = servers

    for queue, question in [("queue 1", 2), ("queue 0", 2), ("queue 0", 1)]:
        servers.introduced(queue, server.name, question)

    assert server.queues == ["queue 1", "queue 0"]


def test_a_server_without_a_queue_is_forgotten_with_its_time() -> None:
    servers = a_route_queue("lost", 1).servers

    servers.remove("queue 0", 1.0)
    left = len(servers), servers.left_at
    servers.remove("queue 1", 2.0)

    assert left == (1, float("-inf"))
    assert (len(servers), servers.left_at, servers.best()) == (0, 2.0, None)


def test_the_interval_between_questions_grows_with_the_queues() -> None:
    for servers, seconds in {1: 2.0, FEW_QUEUES // 2: 2.0, 80: 20.0, 800: 200.0}.items():
        route_queue = a_route_queue(f"asked.{servers}", servers)
        route_queue.asked_at = 100.0

        due = [route_queue.is_due(100.0 + seconds + later, 2.0) for later in (-0.1, 0.1)]

        assert due == [False, True]
