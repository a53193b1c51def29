"""Webhooks: operations of the registry, and the networks that deliveries come from."""
