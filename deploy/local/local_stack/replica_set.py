"""A MongoDB replica set, of one member or more, as transactions and change streams need it."""

import time
from collections.abc import Sequence
from contextlib import suppress

from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from local_stack import SetupError
from local_stack.mongodb import REPLICA_SET, START_TIMEOUT, Mongod, command
from local_stack.processes import POLL, wait_for

_NOT_YET_INITIATED = 94


class ReplicaSet:
    """Members with the same data; each can be stopped and started again by itself."""

    def __init__(self, members: Sequence[Mongod], *, election_timeout: float = 10) -> None:
        """`election_timeout` is the wait for an unavailable primary in seconds."""
        self.members = tuple(members)
        self._election_timeout = election_timeout

    @property
    def url(self) -> str:
        hosts = ",".join(member.host for member in self.members)
        return f"mongodb://{hosts}/?replicaSet={REPLICA_SET}"

    @property
    def running(self) -> bool:
        """True if every member runs."""
        return all(member.running for member in self.members)

    def begin(self) -> None:
        """Starts the members that do not run, and does not wait until they are ready."""
        for member in self.members:
            if not member.running:
                member.begin()

    def ready(self) -> None:
        """Waits until there is a primary, and every member follows."""
        for member in self.members:
            member.ready()
        self._configure()
        if not wait_for(lambda: None not in map(_state, self.members), seconds=START_TIMEOUT):
            raise SetupError(f"A member of the replica set was not ready in {START_TIMEOUT:.0f} s.")
        self.primary()

    def start(self) -> None:
        self.begin()
        self.ready()

    def stop(self) -> None:
        for member in self.members:
            member.stop()

    def kill(self) -> None:
        for member in self.members:
            member.kill()

    def primary(self, *, other_than: Mongod | None = None) -> Mongod:
        """Returns the primary; waits while there is none."""
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            for member in self.members:
                if member is not other_than and _state(member) == "primary":
                    return member
            time.sleep(POLL)
        raise SetupError(f"MongoDB had no primary within {START_TIMEOUT:.0f} s.")

    def step_down(self) -> Mongod:
        """Makes another member the primary; returns that member."""
        former = self.primary()
        # The server may close the connection that requested this.
        with suppress(AutoReconnect):
            command(former.host, "replSetStepDown", 60)
        return self.primary(other_than=former)

    def _configure(self) -> None:
        """Initiates a set of new members, or gives an existing set its members' new ports."""
        first = self.members[0].host
        wanted = [{"_id": n, "host": member.host} for n, member in enumerate(self.members)]
        try:
            config = command(first, "replSetGetConfig")["config"]
        except OperationFailure as failure:
            if failure.code != _NOT_YET_INITIATED:
                raise
            settings = {"electionTimeoutMillis": int(self._election_timeout * 1000)}
            new = {"_id": REPLICA_SET, "members": wanted, "settings": settings}
            command(first, "replSetInitiate", new)
            return
        if [member["host"] for member in config["members"]] != [each["host"] for each in wanted]:
            config |= {"members": wanted, "version": config["version"] + 1}
            command(first, "replSetReconfig", config, force=True)


def _state(member: Mongod) -> str | None:
    if not member.running:
        return None
    with suppress(PyMongoError):
        hello = command(member.host, "hello")
        if hello["isWritablePrimary"]:
            return "primary"
        return "secondary" if hello["secondary"] else None
    return None
