"""Plans: the changes that a batch of records makes to the stored state."""
