"""Loading: register files are read, parsed and applied in batches."""
