"""What the registry does, in terms of its ports: one class for each operation."""
