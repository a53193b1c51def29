"""The links and servers of an RPC client, each of which may fall silent."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from aio_pika import ExchangeType
from aio_pika.abc import AbstractConnection

from common.contracts.contract import Contract
from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.content import Content, ContentChannel, never
from common.messaging.rpc import NO_HEADERS, encode_requests

#: Seconds without a sign of life after which a link or a server is probed, and after which a probe
#: without an answer makes it silent.
PROBE = 0.25
#: Seconds that a question to a server may wait for it; more than until it counts as silent.
QUESTION = 1.0
#: Seconds without a connection or a server until calls fail at once.
OUTAGE = 2.0
#: Messages whose longest duration a hedged one has exceeded, and the part of calls that may be.
_RECENT = 100
HEDGED_PART = 0.02
#: Seconds from a question to its answer from which what they passed counts as far away.
FAR = 0.05
#: Correlation id of the message by which a link probes its node: it goes to the link's own queue.
_ECHO = "echo"


class Silence:
    """Whether something leaves a probe unanswered; `changed` is called when that changes."""

    __slots__ = ("_changed", "_probed_at", "_waits", "is_silent")

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.is_silent = False
        self._changed = changed
        self._probed_at = float("-inf")
        #: True while a probe has no answer.
        self._waits = False

    def heard(self) -> None:
        """Ends the silence: something has arrived."""
        if self._waits:
            self._waits = False
            self._set(is_silent=False)

    def is_due(self, now: float) -> bool:
        """Returns whether a probe is to be sent now; one that waits for an answer is enough.

        Few are sent: while a node hangs, the broker holds what others send to its queues.
        """
        if now - self._probed_at < PROBE:
            return False
        if self._waits:
            self._set(is_silent=True)
            return False
        self._probed_at, self._waits = now, True
        return True

    def _set(self, *, is_silent: bool) -> None:
        if is_silent != self.is_silent:
            self.is_silent = is_silent
            self._changed()


class Distance:
    """Whether a link or a queue is far away, as in another zone.

    A question to all servers goes over each link to each queue, so what is near has an answer
    soon, whatever else is far away.
    """

    __slots__ = ("_asked_at", "is_far")

    def __init__(self) -> None:
        self.is_far = False
        #: Time of the latest question with an answer.
        self._asked_at = float("-inf")

    def answered(self, asked_at: float, now: float) -> None:
        """Notes the answer to a question; only the first one counts."""
        if asked_at > self._asked_at:
            self._asked_at, self.is_far = asked_at, now - asked_at > FAR


class ServerQueue:
    """A queue of a server, and whether messages to it are answered, and soon."""

    def __init__(self, name: str, server: "Server") -> None:
        self.name = name
        self.server = server
        self.silence = Silence(server.judge)
        self.distance = Distance()


class Server:
    """A process that serves a route, by a queue of its own at each node that it is connected to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.queues: list[ServerQueue] = []
        #: Messages that it has not answered yet.
        self.in_flight = 0
        #: True if it has answered that it is unavailable, and not introduced itself as serving
        #: since.
        self.refuses = False
        #: 0 if it serves; of the others, one that refuses at least answers at once.
        self.rank = 0

    @property
    def load(self) -> int:
        """Messages in flight; one more for a server that is far away.

        Such a server gets a message if the near ones are busy.
        """
        return self.in_flight + (bool(self.queues) and self.queues[0].distance.is_far)

    def judge(self) -> None:
        """Ranks the server, and its queues: that for the next message is the first."""
        self.queues.sort(key=lambda queue: (queue.silence.is_silent, queue.distance.is_far))
        is_silent = bool(self.queues) and self.queues[0].silence.is_silent
        self.rank = 2 if is_silent else int(self.refuses)

    def introduced(self, *, refuses: bool) -> None:
        """Notes whether it refuses requests, as it says itself."""
        self.refuses = refuses
        self.judge()

    def refused(self) -> None:
        """Notes that it refuses requests, until it introduces itself as serving."""
        self.introduced(refuses=True)


class RecentMessages:
    """How long the last messages of a route took, and how many calls may be hedged."""

    def __init__(self, max_batch_size: int) -> None:
        self._seconds: deque[float] = deque(maxlen=_RECENT)
        #: Calls that may be hedged now.
        self._allowed = 0.0
        self._max_allowed = float(max_batch_size)

    def add(self, seconds: float) -> None:
        """Adds an answered message."""
        self._seconds.append(seconds)

    def called(self) -> None:
        """Counts a call, of which a fraction may be hedged."""
        self._allowed = min(self._allowed + HEDGED_PART, self._max_allowed)

    def is_slow(self, seconds: float) -> bool:
        """Returns whether a message has taken longer than the recent ones."""
        return seconds > max(self._seconds, default=0.0)

    def may_hedge(self, calls: int, seconds: float) -> bool:
        """Returns whether a message is slow, and may be hedged."""
        if not 0 < calls <= self._allowed or len(self._seconds) < _RECENT:
            return False
        return self.is_slow(seconds)

    def hedged(self, calls: int) -> None:
        """Counts calls that were hedged."""
        self._allowed -= calls


class Link:
    """One connection, over which requests are published and their replies consumed.

    Both share it although the broker may block a connection that publishes: replies need no acks,
    so they arrive over a blocked connection as well.
    """

    def __init__(
        self,
        connection: SupervisedConnection,
        queues: Sequence[str],
        *,
        replied: Callable[["Link", Content], None],
        returned: Callable[[Content], None],
        lost: Callable[["Link"], None],
    ) -> None:
        self.supervised = connection
        self.silence = Silence()
        self.distance = Distance()
        self._queues = queues
        self._queue = ""
        self._content: ContentChannel | None = None
        self._on_reply, self._on_return, self._on_loss = replied, returned, lost

    @property
    def is_up(self) -> bool:
        """True while requests can be published."""
        return self._content is not None

    @property
    def rank(self) -> int:
        """Returns 0 for a link that is near; of the others, one that is far away at least works."""
        return 2 if self.silence.is_silent else int(self.distance.is_far)

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares the exchanges of the request queues, and a queue for the replies."""
        channel = await self.supervised.open_channel(connection, confirms=False)
        # A message to an exchange that does not exist would close the channel.
        for queue in self._queues:
            await channel.declare_exchange(
                queue, ExchangeType.FANOUT, durable=True, timeout=CONNECT_TIMEOUT
            )
        replies = await self.supervised.declare_own_queue(channel)
        content = await self.supervised.content_of(channel)
        content.take(delivered=self._replied, returned=self._returned)
        await replies.consume(never, no_ack=True, timeout=CONNECT_TIMEOUT)
        self.silence.heard()
        self._queue, self._content = replies.name, content

    def detach(self) -> None:
        """Drops the channel; what was sent over it has no reply any more."""
        self._content = None
        self._on_loss(self)

    def publish(  # noqa: PLR0913 (the properties of a message)
        self,
        routing_key: str,
        items: Sequence[tuple[str, int, Contract]],
        correlation_id: str,
        *,
        exchange: str = "",
        headers: Mapping[str, str] = NO_HEADERS,
        seconds: float,
    ) -> bool:
        """Publishes a message that the broker drops after `seconds`; False if the link is down."""
        body = encode_requests(items)
        return self._publish(
            Content(routing_key, correlation_id, self._queue, body, headers),
            exchange=exchange,
            expiration=max(int(seconds * 1000), 1),
        )

    def probe(self, now: float) -> None:
        """Sends a message to the link's own queue, which its node answers by delivering it."""
        if self.silence.is_due(now):
            self._publish(Content(self._queue, _ECHO, None, b""))

    def _publish(
        self, content: Content, *, exchange: str = "", expiration: int | None = None
    ) -> bool:
        if self._content is None:
            return False
        try:
            self._content.publish(content, exchange=exchange, expiration=expiration, mandatory=True)
        except ConnectionError:
            self._content = None  # `detach` follows
            return False
        return True

    def _replied(self, reply: Content) -> None:
        self.silence.heard()
        if reply.correlation_id != _ECHO:
            self._on_reply(self, reply)

    def _returned(self, request: Content) -> None:
        self.silence.heard()
        self._on_return(request)


def asked(question: str) -> tuple[str, float | None]:
    """Returns the request queue of a question, and its time if it was one to all servers."""
    queue, _, at = question.partition(" ")
    return queue, float(at) if at else None


class Links:
    """The links of a client, the preferred one first."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        #: Time from which there is no link, if there is none.
        self._down_since = float("-inf")

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links)

    def best(self) -> Link | None:
        """Returns the link for the next message, of those that are up; a near one if there is one.

        A silent one only if all are.
        """
        best = None
        for link in self._links:
            if link.is_up and (best is None or link.rank < best.rank):
                best = link
        return best

    async def attach(self) -> None:
        """Adds the links to their connections."""
        for link in self._links:
            await link.supervised.add(link)

    def close(self) -> None:
        """Removes the links, which drops what was sent over them."""
        for link in self._links:
            link.supervised.remove(link)
        self._down_since = float("-inf")
        for link in self._links:
            link.detach()

    def ask_servers(self, queue: str, *, now: float, seconds: float) -> None:
        """Asks all servers of a request queue for their own queues, over each link.

        Their answers have the id of the question, by which `asked` knows when it was sent.

        A channel's first message to a queue of another node makes RabbitMQ wait for that node's
        answer. So none may be left to a moment in which that node hangs.
        """
        for link in self._links:
            link.publish(queue, (), f"{queue} {now}", exchange=queue, seconds=seconds)

    def lost(self, now: float) -> bool:
        """Notes that a link is lost; returns whether it was the last."""
        if any(link.is_up for link in self._links):
            return False
        # A broker that is short of a resource blocks the connections to every node.
        if not any(link.supervised.is_blocked for link in self._links):
            self._down_since = now
        return True

    def are_down(self, now: float) -> bool:
        """Returns whether there has been no link for so long that calls fail at once."""
        return self.best() is None and now - self._down_since >= OUTAGE
