"""Plans: what a batch of records changes, decided from what is stored."""
