"""The rules of webhooks: what bodies may say, where deliveries may go, how answers look."""
