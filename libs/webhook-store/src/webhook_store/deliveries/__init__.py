"""Deliveries: rows, attempts, events, recoveries and health."""
