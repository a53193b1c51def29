"""Companies by filters, with totals, counts and orders: arrays beside the index (ADR 0049)."""
