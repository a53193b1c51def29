"""Deliveries from the event to their record, compared with a bare loop that only posts."""
