"""Search by name and address: how fast, how right, how it grows, and beside others."""
