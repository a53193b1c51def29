"""Adapters of the broker and the name service; `webhook_store` covers MongoDB."""
