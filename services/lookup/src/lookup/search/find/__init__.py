"""Companies by filters, with totals, counts and orders: arrays next to the index (ADR 0049)."""
