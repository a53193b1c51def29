"""Storage of webhooks in MongoDB: encrypted secrets, deliveries, attempts and events.

Shared by the registry, which manages webhooks, and the dispatcher, which delivers to them.
"""
