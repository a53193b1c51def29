"""Search for companies by name and address."""
