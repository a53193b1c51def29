"""Runs in a container of the cluster: python source.py <events a second>.

Puts events into the outbox as an import does, and prints the id of each that the database has, on
the disks of a majority.
"""

import sys
import time
from datetime import UTC, datetime
from os import environ
from typing import Any

from pymongo import MongoClient
from pymongo.errors import DuplicateKeyError, PyMongoError

from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    EventType,
    RegistryEvent,
    encode_event,
    event_id,
    rfc3339,
)

_COMPANIES = [f"{number:08}" for number in range(90_000_000, 90_000_050)]


def document(revision: int) -> dict[str, Any]:
    vat = _COMPANIES[revision % len(_COMPANIES)]
    now = datetime.now(UTC)
    event = RegistryEvent(
        id=event_id(Country.DK, vat, revision, EventType.COMPANY_UPDATED),
        type=EventType.COMPANY_UPDATED,
        occurred_at=rfc3339(now),
        country=Country.DK,
        vat=vat,
        revision=revision,
    )
    return {
        "_id": event.id,
        "company": str(CompanyKey(Country.DK, vat)),
        "revision": revision,
        "type": event.type.value,
        "unit": None,
        "occurred_at": now,
        "body": encode_event(event),
        "published_at": None,
    }


def main() -> None:
    rate = float(sys.argv[1])
    client: MongoClient[dict[str, Any]] = MongoClient(
        environ["MONGO_URL"], w="majority", timeoutMS=3_000
    )
    outbox = client["register"]["outbox"]
    first = int(time.time() * 10)
    start = time.monotonic()
    number = 0
    while True:
        store(outbox, document(first + number))
        number += 1
        time.sleep(max(0.0, start + number / rate - time.monotonic()))


def store(outbox: Any, event: dict[str, Any]) -> None:
    """Repeats the write until it is stored; a failed write may have been stored, too."""
    while True:
        try:
            outbox.insert_one(event)
        except DuplicateKeyError:
            pass
        except PyMongoError:
            time.sleep(0.1)
            continue
        print(event["_id"], flush=True)
        return


if __name__ == "__main__":
    main()
