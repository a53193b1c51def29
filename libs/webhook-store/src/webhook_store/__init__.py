"""The context of webhooks in MongoDB: webhooks with sealed secrets, their deliveries and attempts.

Shared by the registry, which manages webhooks, and the dispatcher, which sends to them.
"""
