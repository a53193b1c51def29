"""The registry's outside: the broker and the name service. MongoDB is `webhook_store`'s."""
