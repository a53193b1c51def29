"""Webhooks: bodies, changes and the operations that manage them."""
