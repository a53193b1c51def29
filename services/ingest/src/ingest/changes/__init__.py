"""Changes: a record is compared with the stored state, planned, and written in one transaction."""
