"""Search by name and address: latency, accuracy, growth, and the effect on other lookups."""
