"""The kernel: identifiers that every service must read alike; standard library only."""
