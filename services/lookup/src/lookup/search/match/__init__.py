"""Whether a customer's record and a company are the same: evidence, and its weights (ADR 0052)."""
