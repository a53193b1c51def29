"""Deliveries from the event to their record, beside a bare loop that only posts."""
