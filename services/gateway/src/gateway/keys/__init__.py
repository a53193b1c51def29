"""The keys of an owner: what a new one may do, their operations, and their requests."""
