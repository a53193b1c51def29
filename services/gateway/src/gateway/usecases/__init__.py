"""Use cases of the gateway."""
