"""Deliveries: listing, retries, recoveries and test events."""
