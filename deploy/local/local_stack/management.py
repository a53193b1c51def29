"""RabbitMQ's management API: virtual hosts, users, queues and client connections."""

import base64
import http.client
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from local_stack import SetupError
from local_stack.processes import wait_for

#: Seconds for one request.
TIMEOUT = 10.0
#: Seconds in which a recovered queue elects its leader.
_LED = 2.0
#: Maximum seconds to delete a virtual host, repeated if the broker fails.
_DELETED = 30.0

# Queries the broker itself; its statistics show a connection only after 5 s.
_AT_ONCE = "disable_stats=true"


class ManagementError(Exception):
    """The broker's management API could not be reached, or refused a request."""


@dataclass(frozen=True, slots=True)
class Management:
    """The HTTP API of RabbitMQ's management plugin; `url` carries user and password."""

    url: str

    def is_listening(self, port: int) -> bool:
        """Returns True if AMQP clients can connect on that port."""
        return self._request("GET", f"/api/health/checks/port-listener/{port}")[0] == 200

    def create_vhost(self, name: str) -> None:
        """Creates a virtual host, in which the calling user has all permissions."""
        self._demand("PUT", f"/api/vhosts/{quote(name, safe='')}")

    def delete_vhost(self, name: str) -> None:
        """Deletes a virtual host with its queues; its connections are closed."""
        # RabbitMQ 3.10: if a queue is deleted while it elects its leader, as it does just after the
        # broker's start, the supervisor of all dead-lettering may crash, and the broker never
        # dead-letters again. A queue that can be purged has its leader; one that was lost when the
        # broker was killed never gets one.
        for queue in self.queues(name):
            with suppress(ManagementError):
                contents = f"{_queue(name, queue['name'])}/contents"
                self._request("DELETE", contents, seconds=_LED)
        # RabbitMQ answers 500 if a queue ends by itself, or does not answer, while its virtual host
        # is deleted; a repetition deletes the rest.
        path = f"/api/vhosts/{quote(name, safe='')}"
        if not wait_for(lambda: self._request("DELETE", path)[0] < 500, seconds=_DELETED):
            raise ManagementError(f"DELETE {path} failed for {_DELETED:g} s")

    def create_user(self, name: str, password: str) -> None:
        """Creates a user without permissions."""
        self._demand("PUT", f"/api/users/{quote(name)}", {"password": password, "tags": ""})

    def delete_user(self, name: str) -> None:
        """Deletes a user; its connections are closed."""
        self._demand("DELETE", f"/api/users/{quote(name)}")

    def permit(self, user: str, vhost: str, *, configure: str, write: str, read: str) -> None:
        """Sets a user's permissions in a virtual host: regular expressions of names."""
        rights = {"configure": configure, "write": write, "read": read}
        self._demand("PUT", f"/api/permissions/{quote(vhost, safe='')}/{quote(user)}", rights)

    def queues(self, vhost: str) -> list[dict[str, Any]]:
        """Returns the queues of a virtual host as the broker describes them."""
        found: list[dict[str, Any]] = self._demand(
            "GET", f"/api/queues/{quote(vhost, safe='')}?{_AT_ONCE}"
        )
        return found

    def purge(self, vhost: str, queue: str) -> None:
        """Purges the queue."""
        self._demand("DELETE", f"{_queue(vhost, queue)}/contents")

    def delete_queue(self, vhost: str, queue: str) -> None:
        """Deletes a queue with its messages; its consumers are cancelled."""
        self._demand("DELETE", _queue(vhost, queue))

    def connections(self, vhost: str) -> tuple[str, ...]:
        """Returns the names of the open connections to a virtual host."""
        found = self._demand("GET", f"/api/connections?{_AT_ONCE}")
        return tuple(each["name"] for each in found if each["vhost"] == vhost)

    def close_connections(self, vhost: str, *, at_least: int = 1, seconds: float = 30) -> int:
        """Closes every connection to a virtual host; returns their number.

        Waits for `at_least` that many, since clients may still be connecting.
        """
        if not wait_for(lambda: len(self.connections(vhost)) >= at_least, seconds=seconds):
            raise ManagementError(f"fewer than {at_least} connections to {vhost} were open")
        names = self.connections(vhost)
        for name in names:
            # A connection that has closed by itself meanwhile is a 404.
            self._request("DELETE", f"/api/connections/{quote(name, safe='')}?{_AT_ONCE}")
        return len(names)

    def _demand(self, method: str, path: str, content: object = None) -> Any:
        status, body = self._request(method, path, content)
        if status >= 300:
            raise ManagementError(f"{method} {path} answered {status}: {body[:200]!r}")
        return json.loads(body) if body else None

    def _request(
        self, method: str, path: str, content: object = None, *, seconds: float = TIMEOUT
    ) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        if parts.hostname is None:
            raise SetupError(
                "AMQP_MANAGEMENT_URL is not a URL such as http://user:password@host:15672."
            )
        user = f"{unquote(parts.username or 'guest')}:{unquote(parts.password or 'guest')}"
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(parts.hostname, parts.port, timeout=seconds)
        try:
            token = base64.b64encode(user.encode()).decode()
            body = None if content is None else json.dumps(content)
            connection.request(method, path, body, {"Authorization": f"Basic {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ManagementError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()


def _queue(vhost: str, name: str) -> str:
    """Returns the path of a queue."""
    return f"/api/queues/{quote(vhost, safe='')}/{quote(name, safe='')}"
