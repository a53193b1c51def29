"""A broker that fails at the deletion of a virtual host is asked again."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from local_stack.management import Management


@contextmanager
def broker(statuses: list[int]) -> Iterator[str]:
    """A management API without queues whose answers to DELETE have these statuses in turn."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, b"[]")

        def do_DELETE(self) -> None:
            self._answer(statuses.pop(0), b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0" if status == 204 else str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://guest:guest@127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("statuses", [[204], [500, 204], [500, 500, 404]])
def test_a_virtual_host_is_deleted_although_the_broker_fails_at_it(statuses: list[int]) -> None:
    with broker(statuses) as url:
        Management(url).delete_vhost("one")
    assert statuses == []
