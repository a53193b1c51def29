"""What the lookup service does, in terms of its ports."""
