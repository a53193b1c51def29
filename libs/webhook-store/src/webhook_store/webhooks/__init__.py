"""Webhooks: owned by clients, matched with events, read with opened secrets."""
