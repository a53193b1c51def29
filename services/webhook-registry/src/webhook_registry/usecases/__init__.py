"""Use cases of the registry: one class per operation."""
