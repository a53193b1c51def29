"""What the services share: contracts, runtime, messaging, the way to MongoDB; no business rule."""
