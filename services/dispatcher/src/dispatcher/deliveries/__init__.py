"""Deliveries: attempts and what follows them, slots, backlogs and overdue rows."""
