"""Access to companies that are protected from advertising, in groups (ADR 0115)."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from gateway.access.keys import ApiKey, Scope


class ProtectedPolicy(StrEnum):
    """The operator's rule for protected companies; a single answer always has the flag."""

    #: They are listed like others.
    LISTED = "listed"
    #: Only keys with the scope `protected` get them in groups.
    SINGLE = "single"


@dataclass(frozen=True, slots=True)
class Protection:
    """Tells which clients get no protected companies in groups."""

    policy: ProtectedPolicy

    def leaves_out(self, key: ApiKey | None) -> bool:
        """Returns True for a client without the scope, if the policy asks for it."""
        scopes: Collection[Scope] = () if key is None else key.scopes
        return self.policy is ProtectedPolicy.SINGLE and Scope.PROTECTED not in scopes
