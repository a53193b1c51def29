"""Makes a MongoDB replica set: python replica_set.py <its name> <host:port of a member> ….

Ends when the set has a primary. An existing set is not changed.
"""

import sys
import time

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

#: Seconds for the whole run.
LIMIT = 120
_NOT_YET_INITIATED = 94


def initiate(name: str, hosts: list[str]) -> None:
    members = [{"_id": number, "host": host} for number, host in enumerate(hosts)]
    with MongoClient(hosts[0], directConnection=True, timeoutMS=5_000) as client:
        try:
            client.admin.command("replSetGetStatus")
        except OperationFailure as failure:
            if failure.code != _NOT_YET_INITIATED:
                raise
            client.admin.command("replSetInitiate", {"_id": name, "members": members})
    with MongoClient(hosts, replicaSet=name, timeoutMS=5_000) as client:
        client.admin.command("ping")


def main() -> None:
    name, *hosts = sys.argv[1:]
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return initiate(name, hosts)
        except PyMongoError as error:
            if time.monotonic() > deadline:
                sys.exit(f"MongoDB was not ready in {LIMIT} s: {error}")
            time.sleep(0.5)


if __name__ == "__main__":
    main()
