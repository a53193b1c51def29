"""`python -m bench.peers.one_message_each lookup|gateway`: ours, but a message for each request.

All else is the same: keys, rates, metrics, log lines, MongoDB. It shows the gain of batches.
"""

import sys
from functools import partial
from unittest.mock import patch

import gateway.commands
import lookup.commands
from common.contracts.company import Country
from common.contracts.topology import lookup_queue
from common.messaging.rpc_routes import Route
from common.messaging.rpc_server import RpcServer
from gateway.adapters.rpc import READS

#: More than any load of the benchmark has under way at a time.
MANY = 1_000


def main() -> None:
    which = sys.argv.pop(1)
    if which == "gateway":
        routes = {
            country: Route(lookup_queue(country), in_flight=MANY, max_batch_size=1)
            for country in Country
        }
        with patch.dict(READS, routes):
            gateway.commands.main()
    else:
        with patch("lookup.app.RpcServer", partial(RpcServer, concurrency=MANY)):
            lookup.commands.main()


if __name__ == "__main__":
    main()
