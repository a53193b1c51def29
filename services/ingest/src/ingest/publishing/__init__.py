"""The writer of events: outbox, publisher, receipts, notices to owners."""
