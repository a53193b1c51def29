"""Use cases: fan out events, deliver them, and requeue overdue deliveries."""
