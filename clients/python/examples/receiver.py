"""A receiver for `company-registry listen`: `python receiver.py PORT SECRET`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from company_registry import InvalidSignature, verify

PORT, SECRET = int(sys.argv[1]), sys.argv[2]


class Receiver(BaseHTTPRequestHandler):
    """A receiver of webhooks that verifies each signature."""

    def do_POST(self) -> None:
        """Answers 204 to a delivery whose signature is right, so that it is not repeated."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            verify(dict(self.headers), body, SECRET)
        except InvalidSignature:
            self.send_error(401)
            return
        print(json.loads(body)["type"], flush=True)  # noqa: T201 (its output)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Only the events are printed."""


HTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
