"""Events: fanned out to deliveries, and notices to owners."""
