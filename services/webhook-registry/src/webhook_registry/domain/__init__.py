"""Rules of webhooks: request bodies, destinations, responses."""
