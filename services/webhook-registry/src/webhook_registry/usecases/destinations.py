"""Check of a webhook's URL."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.contracts.failures import FieldError
from webhook_registry.domain.destination import Destination, refusal
from webhook_registry.domain.refusals import invalid_body
from webhook_registry.ports import Resolver
from webhook_store.addresses import Network


@dataclass(frozen=True, slots=True)
class Destinations:
    resolver: Resolver
    #: Private networks that may be called.
    allowed: Sequence[Network]

    async def check(self, destination: Destination | None) -> None:
        """Raises Rejected when the host is local or private; None is unchanged.

        A name that does not resolve is accepted: receivers are often registered before they are
        deployed, and each connection is checked again.
        """
        if destination is None:
            return
        resolved = (
            await self.resolver.addresses(destination.host, destination.port)
            if destination.address is None
            else ()
        )
        reason = refusal(destination, resolved, allowed=self.allowed)
        if reason is not None:
            raise invalid_body(
                "deliveries may not be sent to this URL",
                FieldError(parameter="url", message=reason),
            )
